import torch
from einops import rearrange, repeat


def _tables(positions, d, base, dtype):
    inverse = 1.0 / base ** (torch.arange(0, d, 2, device=positions.device, dtype=torch.float32) / d)
    angles = rearrange(positions.float(), "... t -> ... t 1") * inverse
    angles = repeat(angles, "... i -> ... (two i)", two=2)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def _swap(x):
    a, b = rearrange(x, "... (two i) -> two ... i", two=2)
    return torch.cat([-b, a], dim=-1)


def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    if d % 2 != 0:
        raise ValueError(f"the width must be even, got {d}")
    z = x.to(torch.promote_types(x.dtype, torch.float32))
    cos, sin = _tables(positions, d, base, z.dtype)
    if positions.dim() == 2 and x.dim() > 3:
        cos, sin = (table.reshape(table.shape[0], *[1] * (x.dim() - 3), *table.shape[1:]) for table in (cos, sin))
    return (z * cos + _swap(z) * sin).to(x.dtype)
