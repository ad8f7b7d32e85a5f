import torch


def merge(output_a, lse_a, output_b, lse_b):
    """As the authors of online softmax write it: the larger maximum, and both sums rescaled."""
    m = torch.maximum(lse_a, lse_b)
    empty = m == float("-inf")
    m = torch.where(empty, torch.zeros_like(m), m).detach()
    part_a, part_b = torch.exp(lse_a - m), torch.exp(lse_b - m)
    total = torch.where(empty, torch.ones_like(m), part_a + part_b)
    output = (part_a / total).unsqueeze(-1) * output_a + (part_b / total).unsqueeze(-1) * output_b
    lse = torch.where(empty, torch.full_like(m, float("-inf")), total.log() + m)
    return output, lse
