import torch
from torch import Tensor


def capped_attention(
    query: Tensor, key: Tensor, value: Tensor, cap: float, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scaled = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    capped = cap * torch.tanh(scaled / cap)
    hidden = torch.zeros_like(capped, dtype=torch.bool) if mask is None else ~mask
    weights = torch.nan_to_num(capped.masked_fill(hidden, -torch.inf).softmax(dim=-1))
    output = weights @ value
    return output, weights
