import torch


def apply_rope(x, positions, base=10000.0):
    """A rotation matrix for every place and pair."""
    if x.size(-1) % 2:
        raise ValueError("odd width")
    n = x.size(-1) // 2
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    w = torch.tensor([base ** (-i / n) for i in range(n)], dtype=wide.dtype, device=x.device)
    if positions.dim() > 1:
        positions = positions[(slice(None),) + (None,) * (x.dim() - 3)]
    angle = torch.einsum("...t,i->...ti", positions.to(wide.dtype), w)
    c, s = torch.cos(angle), torch.sin(angle)
    matrix = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)  # (..., t, i, 2, 2)
    pairs = torch.stack([wide[..., :n], wide[..., n:]], dim=-1)  # (..., t, i, 2)
    turned = (matrix @ pairs.unsqueeze(-1)).squeeze(-1)
    return torch.cat([turned[..., 0], turned[..., 1]], -1).type_as(x)
