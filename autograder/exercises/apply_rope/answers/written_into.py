import math

import torch


def apply_rope(x: torch.Tensor, positions: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    half, odd = divmod(x.shape[-1], 2)
    if odd:
        raise ValueError(f"{x.shape[-1]} is odd")
    places = positions.to(device=x.device, dtype=torch.float64)
    i = torch.arange(half, device=x.device, dtype=torch.float64)
    angles = places.unsqueeze(-1) * torch.exp(-math.log(base) * i / half)
    if angles.dim() == 3:
        for _ in range(x.dim() - 3):
            angles = angles[:, None]
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half].double(), x[..., half:].double()
    out = torch.empty_like(x)
    out[..., :half] = (first * cos - second * sin).to(x.dtype)
    out[..., half:] = (first * sin + second * cos).to(x.dtype)
    return out
