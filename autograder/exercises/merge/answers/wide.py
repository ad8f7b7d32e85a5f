import torch


def merge(output_a, lse_a, output_b, lse_b):
    """The lse gets a last dimension at the start, and loses it at the end."""
    lse_a, lse_b = lse_a.unsqueeze(-1), lse_b.unsqueeze(-1)
    both = torch.cat([lse_a, lse_b], dim=-1)
    nothing = torch.isinf(both).all(dim=-1, keepdim=True)
    lse = both.masked_fill(nothing, 0.0).logsumexp(dim=-1, keepdim=True)
    output = torch.exp(lse_a - lse) * output_a + torch.exp(lse_b - lse) * output_b
    return output, lse.masked_fill(nothing, float("-inf")).squeeze(-1)
