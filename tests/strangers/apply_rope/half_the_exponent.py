# wrong: the exponent is i/d instead of 2i/d; the second new half is made of the first new one
# expect: exponent-i, first-half-changed-too-early
import torch


def apply_rope(x, positions, base=10000.0):
    b_t_d = x.shape
    d = b_t_d[-1]
    if d % 2:
        raise ValueError(f"{d} numbers are no pairs")
    freq = torch.pow(torch.tensor(base, device=x.device), -torch.arange(d // 2, device=x.device) / d)
    angle = positions.unsqueeze(-1).to(torch.float32) * freq
    while 1 < positions.dim() and angle.dim() < x.dim():
        angle = angle.unsqueeze(1)
    cos = torch.cos(angle)
    sin = torch.sin(angle)
    first = x[..., : d // 2]
    second = x[..., d // 2 :]
    first = first * cos - second * sin
    second = first * sin + second * cos
    return torch.cat([first, second], -1).to(x.dtype)
