# %% bf16_positions: positions are turned into the dtype of x, which has no 257 in bfloat16
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

# %% half_the_exponent: the exponent is i/d instead of 2i/d; the second new half is made of the first new one
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

# %% meta_complex: neighbours are pairs, as in Meta's code; positions (b, t) don't fit heads; an odd d is torch's own error
# expect: neighbours-turned, items-for-heads, odd-width-not-refused, through-float32
import torch


def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, d, 2)[: (d // 2)].float().to(x.device) / d))
    freqs = positions.float()[..., None] * freqs
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    x_out = torch.view_as_real(x_ * freqs_cis).flatten(-2)
    return x_out.type_as(x)

# %% other_way_round: turns backwards: the sign of rotate_half is at the wrong half
# expect: turned-backwards
import torch


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((x[..., half:], -x[..., :half]), dim=-1)


def apply_rope(x, positions, base=10000.0):
    d = x.shape[-1]
    if d % 2 != 0:
        raise ValueError(f"width {d} is odd")
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))
    emb = positions.float().unsqueeze(-1) * inv_freq
    emb = torch.cat((emb, emb), dim=-1)
    if positions.dim() == 2 and x.dim() == 4:
        emb = emb.unsqueeze(1)
    z = x if x.dtype == torch.float64 else x.float()
    return (z * emb.cos() + rotate_half(z) * emb.sin()).to(x.dtype)

# %% own_positions: counts from 0 and does not look at the positions; angles in the dtype of x
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
