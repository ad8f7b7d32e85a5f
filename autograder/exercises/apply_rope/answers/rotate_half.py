import torch


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rope(x, positions, base=10000.0):
    """Sine and cosine in float32, the products in the input's dtype."""
    d = x.shape[-1]
    if d % 2 != 0:
        raise ValueError(f"the width should be even, got {d}")
    inv_freq = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))
    freqs = positions.float()[..., None] * inv_freq
    emb = torch.cat((freqs, freqs), dim=-1)
    if positions.dim() == 2:
        emb = emb.reshape(emb.shape[0], *[1] * (x.dim() - 3), *emb.shape[1:])
    cos, sin = emb.cos().to(x.dtype), emb.sin().to(x.dtype)
    return x * cos + rotate_half(x) * sin
