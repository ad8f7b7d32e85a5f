# %% max_stored_first: the new maximum is stored before the factor is made, so the factor is always 1
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

# %% mean_of_blocks: a softmax in each block, and the mean of the blocks; causal is not looked at
# expect: blocks-averaged, causal-ignored, ?
# also: fact-empty-list
import torch


def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size = {block_size}")
    outputs = []
    for i in range(0, k.size(2), block_size):
        k_block = k[:, :, i : i + block_size, :]
        v_block = v[:, :, i : i + block_size, :]
        attn = torch.softmax(q @ k_block.transpose(2, 3) / q.size(-1) ** 0.5, dim=-1)
        outputs.append(attn @ v_block)
    return torch.stack(outputs).mean(dim=0)

# %% o_not_rescaled: l is brought to the new maximum, but o is not; block sizes below 1 are not refused
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

# %% whole_mask_and_zero: the causal mask is made whole, (t, s), and m begins at 0; whole blocks only, so the rest of the keys is lost
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
