import torch


def apply_rope(x, positions, base=10000.0):
    """Each pair is a complex number, multiplied by one of length 1."""
    d = x.shape[-1]
    if d % 2 == 1:
        raise ValueError(f"RoPE needs an even width, not {d}")
    real = torch.float64 if x.dtype == torch.float64 else torch.float32
    theta = base ** (-2 * torch.arange(d // 2, device=x.device, dtype=real) / d)
    if positions.ndim == 2:
        positions = positions.view(positions.shape[0], *(1,) * (x.ndim - 3), positions.shape[1])
    angles = positions.to(real)[..., None] * theta
    z = torch.complex(*x.to(real).chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([z.real, z.imag], dim=-1).to(x.dtype)
