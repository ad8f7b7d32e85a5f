# wrong: counts from 0 and does not look at the positions; angles in the dtype of x
# expect: positions-restarted, angles-in-half-precision
# also: positions-in-half-precision, frequencies-in-half-precision, angles-rounded
import torch


def apply_rope(x, positions, base=10000.0):
    t, d = x.shape[-2:]
    if d % 2 == 1:
        raise ValueError("d must be even")
    i = torch.arange(0, d // 2, dtype=x.dtype, device=x.device)
    theta = base ** (-2 * i / d)
    pos = torch.arange(t, dtype=x.dtype, device=x.device)
    alpha = torch.outer(pos, theta)
    cos, sin = alpha.cos(), alpha.sin()
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], dim=-1)
