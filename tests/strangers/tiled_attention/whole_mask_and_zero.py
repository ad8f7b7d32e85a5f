# wrong: the causal mask is made whole, (t, s), and m begins at 0; whole blocks only, so the rest of the keys is lost
# expect: whole-mask-first, largest-starts-at-zero, rest-dropped, no-keys-nan
import math

import torch


def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError("block_size must be >= 1")
    b, h, t, d = q.shape
    s = k.shape[2]
    block_size = min(block_size, max(s, 1))
    mask = torch.tril(torch.ones(t, s, device=q.device, dtype=torch.bool))
    m = torch.zeros(b, h, t, device=q.device, dtype=q.dtype)
    l = torch.zeros_like(m)
    o = torch.zeros(b, h, t, v.shape[3], device=q.device, dtype=q.dtype)
    for n in range(s // block_size):
        cut = slice(n * block_size, (n + 1) * block_size)
        z = q @ k[:, :, cut].transpose(-1, -2) / math.sqrt(d)
        if causal:
            z = z.masked_fill(~mask[:, cut], -math.inf)
        m_new = torch.max(m, z.amax(-1))
        a = torch.exp(m - m_new)
        p = torch.exp(z - m_new.unsqueeze(-1))
        l = a * l + p.sum(-1)
        o = a.unsqueeze(-1) * o + p @ v[:, :, cut]
        m = m_new
    return o / l.unsqueeze(-1)
