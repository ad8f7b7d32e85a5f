# wrong: positions are turned into the dtype of x, which has no 257 in bfloat16
# expect: positions-in-half-precision
import torch


def apply_rope(x, positions, base=10000.0):
    d = x.size(-1)
    if d % 2:
        raise ValueError("odd width")
    positions = positions.to(x)
    frequencies = 1 / base ** (torch.arange(0, d, 2, device=x.device) / d)
    angles = positions[..., None] * frequencies
    if angles.ndim == 3 and x.ndim == 4:
        angles = angles[:, None]
    c, s = torch.cos(angles), torch.sin(angles)
    x1, x2 = torch.tensor_split(x, 2, dim=-1)
    return torch.cat((c * x1 - s * x2, s * x1 + c * x2), dim=-1).to(x.dtype)
