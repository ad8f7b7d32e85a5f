import torch


def tiled_attention(q, k, v, block_size, causal=False):
    """The blocks in reverse, so the first may be hidden altogether: -inf is replaced before it is subtracted."""
    if not block_size >= 1:
        raise ValueError("block_size below 1")
    t, s = q.shape[2], k.shape[2]
    m = torch.full_like(q[..., 0], float("-inf"))
    total = torch.zeros_like(m)
    out = torch.zeros_like(q[..., :1]).expand(*q.shape[:3], v.shape[3])
    for start in reversed(range(0, s, block_size)):
        stop = min(s, start + block_size)
        scores = q @ k[:, :, start:stop].mT / q.shape[-1] ** 0.5
        if causal:
            late = torch.arange(start, stop, device=q.device)[None] > torch.arange(t, device=q.device)[:, None]
            scores = scores.masked_fill(late, float("-inf"))
        new_m = torch.maximum(m, scores.max(dim=-1).values)
        shift = torch.where(torch.isinf(new_m), torch.zeros_like(new_m), new_m)
        factor, powers = torch.exp(m - shift), torch.exp(scores - shift.unsqueeze(-1))
        total = total * factor + powers.sum(dim=-1)
        out = out * factor.unsqueeze(-1) + powers @ v[:, :, start:stop]
        m = new_m
    return out / torch.where(total == 0, torch.ones_like(total), total).unsqueeze(-1)
