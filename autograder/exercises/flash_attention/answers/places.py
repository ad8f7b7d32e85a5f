"""Tiles are compared by the places of queries and keys; the gradients are made column by column."""

import torch


def flash_attention(query, key, value, block_size, causal=False):
    if int(block_size) < 1:
        raise ValueError(f"block_size is {block_size}: at least 1")
    return FlashAttention.apply(query, key, value, int(block_size), bool(causal))


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def look(q, k, rows, columns, causal):
        z = torch.matmul(q[..., rows, :], k[..., columns, :].transpose(-1, -2)).div(q.shape[-1] ** 0.5)
        if causal:
            z.masked_fill_(columns > rows[:, None], -torch.inf)
        return z

    @staticmethod
    def blocks(n, size, device):
        return torch.arange(n, device=device).split(size) if n else ()

    @staticmethod
    def forward(ctx, query, key, value, size, causal):
        kind = query.dtype if query.dtype == torch.float64 else torch.float32
        q, k, v = (x.to(kind) for x in (query, key, value))
        output = q.new_zeros(*q.shape[:-1], v.shape[-1])
        lse = q.new_full(q.shape[:-1], -torch.inf)
        for i, rows in enumerate(FlashAttention.blocks(q.shape[-2], size, q.device)):
            top, total, found = lse[..., rows], 0.0, 0.0
            columns_of = FlashAttention.blocks(k.shape[-2], size, q.device)
            for columns in columns_of[: i + 1] if causal else columns_of:
                z = FlashAttention.look(q, k, rows, columns, causal)
                new = torch.maximum(top, z.max(-1).values)
                p = (z - new[..., None]).exp()
                total = total * (top - new).exp() + p.sum(-1)
                found = found * (top - new).exp()[..., None] + p @ v[..., columns, :]
                top = new
            if columns_of:
                output[..., rows, :], lse[..., rows] = found / total[..., None], top + total.log()
        ctx.save_for_backward(query, key, value, output, lse)
        ctx.size, ctx.causal = size, causal
        return output.to(query.dtype), lse

    @staticmethod
    def backward(ctx, d_output, _):
        query, key, value, output, lse = ctx.saved_tensors
        q, k, v, g = (x.to(output.dtype) for x in (query, key, value, d_output))
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        mean = (g * output).sum(-1)
        for j, columns in enumerate(FlashAttention.blocks(k.shape[-2], ctx.size, q.device)):
            for rows in FlashAttention.blocks(q.shape[-2], ctx.size, q.device)[j if ctx.causal else 0 :]:
                p = (FlashAttention.look(q, k, rows, columns, ctx.causal) - lse[..., rows, None]).exp()
                dv[..., columns, :] += p.mT @ g[..., rows, :]
                dz = p * (g[..., rows, :] @ v[..., columns, :].mT - mean[..., rows, None]) / q.shape[-1] ** 0.5
                dq[..., rows, :] += dz @ k[..., columns, :]
                dk[..., columns, :] += dz.mT @ q[..., rows, :]
        return dq.to(query.dtype), dk.to(query.dtype), dv.to(query.dtype), None, None
