# wrong: the exponentials are made as they are: infinity for 10,000, and 0/0 for two empty sides
# expect: largest-not-subtracted, nan-with-two-empty-sides
import torch


def merge(output_a, lse_a, output_b, lse_b):
    a = torch.exp(lse_a)
    b = torch.exp(lse_b)
    total = a + b
    output = (a / total)[..., None] * output_a + (b / total)[..., None] * output_b
    return output, torch.log(total)
