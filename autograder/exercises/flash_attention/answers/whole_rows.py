"""As in FlashAttention-2: one loop over blocks of keys forward and backward, over those queries that see them."""

import torch


def flash_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size = {block_size}")
    return FlashAttention.apply(query, key, value, block_size, causal)


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, size, causal):
        ctx.size, ctx.causal = size, causal
        kind = torch.promote_types(query.dtype, torch.float32)
        q, k, v = query.to(kind), key.to(kind), value.to(kind)
        m = torch.full(q.shape[:3] + (1,), float("-inf"), dtype=kind, device=q.device)
        total, out = torch.zeros_like(m), torch.zeros(q.shape[:3] + v.shape[3:], dtype=kind, device=q.device)
        for i in range(0, q.shape[2], size):
            some = slice(i, i + size)
            for j in range(0, k.shape[2], size):
                if causal and j >= i + size:
                    continue
                z = tile(q, k, i, j, size, causal)
                new = torch.maximum(m[:, :, some], z.amax(-1, keepdim=True))
                factor, p = torch.exp(m[:, :, some] - new), torch.exp(z - new)
                total[:, :, some] = factor * total[:, :, some] + p.sum(-1, keepdim=True)
                out[:, :, some] = factor * out[:, :, some] + p @ v[:, :, j : j + size]
                m[:, :, some] = new
        out = (out / torch.where(total == 0, 1.0, total)).to(query.dtype)
        lse = (m + torch.log(total)).squeeze(-1)
        ctx.save_for_backward(q, k, v, out, lse)
        return out, lse

    @staticmethod
    def backward(ctx, grad, _):
        q, k, v, out, lse = ctx.saved_tensors
        kind, size = grad.dtype, ctx.size
        grad, out = grad.to(q.dtype), out.to(q.dtype)
        dq, dk, dv = q.new_zeros(q.shape), k.new_zeros(k.shape), v.new_zeros(v.shape)
        delta = torch.sum(grad * out, dim=-1, keepdim=True)
        for j in range(0, k.shape[2], size):
            cols = slice(j, j + size)
            for i in range(j if ctx.causal else 0, q.shape[2], size):
                rows = slice(i, i + size)
                p = torch.exp(tile(q, k, i, j, size, ctx.causal) - lse[:, :, rows].unsqueeze(-1))
                dv[:, :, cols] += p.mT @ grad[:, :, rows]
                ds = p * (grad[:, :, rows] @ v[:, :, cols].mT - delta[:, :, rows])
                dq[:, :, rows] += ds @ k[:, :, cols]
                dk[:, :, cols] += ds.mT @ q[:, :, rows]
        root = q.shape[-1] ** 0.5
        return (dq / root).to(kind), (dk / root).to(kind), dv.to(kind), None, None


def tile(q, k, i, j, size, causal):
    z = q[:, :, i : i + size] @ k[:, :, j : j + size].mT / q.shape[-1] ** 0.5
    if causal:
        rows = torch.arange(i, i + z.shape[2], device=q.device)
        columns = torch.arange(j, j + z.shape[3], device=q.device)
        z = torch.where(columns > rows[:, None], float("-inf"), z)
    return z
