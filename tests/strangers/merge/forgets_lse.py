# wrong: only the larger lse comes back; the shares are a softmax, which is NaN where both sides are empty
# expect: lse-is-the-larger, nan-with-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lses = torch.stack([lse_a, lse_b], dim=-1)
    shares = torch.softmax(lses, dim=-1)
    outputs = torch.stack([output_a, output_b], dim=-1)
    output = (outputs * shares.unsqueeze(-2)).sum(dim=-1)
    return output, torch.maximum(lse_a, lse_b)
