import torch
from torch import Tensor


def log_add(a: Tensor, b: Tensor) -> Tensor:
    """log(e^a + e^b), -inf for two of them, with finite gradients everywhere."""
    top = torch.maximum(a, b)
    gone = torch.isinf(top)
    gap = (a - b).masked_fill(gone, 0.0).abs()
    return torch.where(gone, -torch.inf, top + torch.log1p(torch.exp(-gap)))


def merge(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    lse = log_add(lse_a, lse_b)
    finite = lse.masked_fill(lse.isinf(), 0.0)
    output = torch.einsum("...t,...td->...td", torch.exp(lse_a - finite), output_a)
    output = output + torch.einsum("...t,...td->...td", torch.exp(lse_b - finite), output_b)
    return output, lse
