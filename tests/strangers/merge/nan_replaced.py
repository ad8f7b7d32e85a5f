# wrong: NaN of empty sides is replaced at the end only, so it is still in the gradients
# expect: nan-in-gradients-of-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    w_a = torch.exp(lse_a - lse)
    w_b = torch.exp(lse_b - lse)
    output = w_a.unsqueeze(-1) * output_a + w_b.unsqueeze(-1) * output_b
    output = torch.nan_to_num(output, nan=0.0)
    return output, lse
