"""Each block of queries reads its keys tile by tile, twice: the lse first, then the output."""

import math

import torch


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def tiles(q, k, block, causal):
        """Where the tiles that are seen lie, and their scores."""
        for i in range(0, q.size(-2), block):
            for j in range(0, min(k.size(-2), i + block) if causal else k.size(-2), block):
                z = torch.einsum("bhid,bhjd->bhij", q[:, :, i : i + block], k[:, :, j : j + block])
                z = z / math.sqrt(q.size(-1))
                if causal and i == j:
                    z = z.masked_fill(~torch.ones_like(z, dtype=torch.bool).tril(), -torch.inf)
                yield slice(i, i + block), slice(j, j + block), z

    @staticmethod
    def forward(ctx, query, key, value, block, causal):
        half = query.dtype in (torch.float16, torch.bfloat16)
        q, k, v = (x.float() if half else x for x in (query, key, value))
        lse = torch.full_like(q[..., 0], -torch.inf)
        for rows, _, z in FlashAttention.tiles(q, k, block, causal):
            lse[:, :, rows] = torch.logaddexp(lse[:, :, rows], z.logsumexp(-1))
        output = torch.zeros_like(q[..., :1]).expand(*q.shape[:3], v.shape[3]).clone()
        for rows, columns, z in FlashAttention.tiles(q, k, block, causal):
            output[:, :, rows] += (z - lse[:, :, rows, None]).exp() @ v[:, :, columns]
        ctx.save_for_backward(query, key, value, output, lse)
        ctx.how = block, causal
        return output.to(query.dtype), lse

    @staticmethod
    def backward(ctx, g, g_lse):
        query, key, value, output, lse = ctx.saved_tensors
        q, k, v, g = (x.to(output.dtype) for x in (query, key, value, g))
        share = (g * output).sum(-1, keepdim=True)
        dq, dk, dv = map(torch.zeros_like, (q, k, v))
        for rows, columns, z in FlashAttention.tiles(q, k, *ctx.how):
            p = (z - lse[:, :, rows, None]).exp()
            dz = p * (g[:, :, rows] @ v[:, :, columns].transpose(-2, -1) - share[:, :, rows]) / math.sqrt(q.size(-1))
            dq[:, :, rows] += dz @ k[:, :, columns]
            dk[:, :, columns] += dz.transpose(-2, -1) @ q[:, :, rows]
            dv[:, :, columns] += p.transpose(-2, -1) @ g[:, :, rows]
        return dq.to(query.dtype), dk.to(key.dtype), dv.to(value.dtype), None, None


def flash_attention(query, key, value, block_size, causal=False):
    if not block_size > 0:
        raise ValueError("block_size must be positive")
    return FlashAttention.apply(query, key, value, block_size, causal)
