# wrong: l is brought to the new maximum, but o is not; block sizes below 1 are not refused
# expect: output-not-rescaled, block-size-not-checked
import torch


def tiled_attention(q, k, v, block_size, causal=False):
    b, h, t, d = q.shape
    s = k.shape[2]
    m = torch.full((b, h, t), -torch.inf, dtype=q.dtype, device=q.device)
    l = torch.zeros(b, h, t, dtype=q.dtype, device=q.device)
    o = torch.zeros(b, h, t, v.shape[-1], dtype=q.dtype, device=q.device)
    for start in range(0, s, block_size):
        kb = k[:, :, start : start + block_size]
        vb = v[:, :, start : start + block_size]
        z = q @ kb.transpose(-2, -1) / d**0.5
        if causal:
            rows = torch.arange(t, device=q.device)[:, None]
            cols = torch.arange(start, start + kb.shape[2], device=q.device)[None, :]
            z = z.masked_fill(cols > rows, -torch.inf)
        new_m = torch.maximum(m, z.amax(dim=-1))
        p = torch.exp(z - new_m[..., None])
        l = l * torch.exp(m - new_m) + p.sum(dim=-1)
        o = o + p @ vb
        m = new_m
    if s == 0:
        return o
    return o / l[..., None]
