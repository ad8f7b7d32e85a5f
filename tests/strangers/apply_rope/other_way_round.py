# wrong: turns backwards: the sign of rotate_half is at the wrong half
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
