# wrong: the new maximum is stored before the factor is made, so the factor is always 1
# expect: nothing-rescaled
import torch


def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, got {block_size}")
    b, h, t, d = q.shape
    s, dv = v.shape[-2:]
    m = q.new_full((b, h, t, 1), float("-inf"))
    l = q.new_zeros(b, h, t, 1)
    o = q.new_zeros(b, h, t, dv)
    for j in range(0, s, block_size):
        scores = q @ k[:, :, j : j + block_size].mT / d**0.5
        if causal:
            place = torch.arange(t, device=q.device)
            scores = scores.masked_fill(place[None, j : j + block_size] > place[:, None], float("-inf"))
        m = torch.maximum(m, scores.max(dim=-1, keepdim=True).values)
        factor = torch.exp(m - m)
        e = torch.exp(scores - m)
        l = factor * l + e.sum(dim=-1, keepdim=True)
        o = factor * o + e @ v[:, :, j : j + block_size]
    return o / l if s > 0 else o
