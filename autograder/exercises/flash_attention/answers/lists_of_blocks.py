"""Blocks are split into lists, and what is found of each tile is merged with what was found before."""

import torch


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, size, causal):
        wide = torch.float64 if query.dtype == torch.float64 else torch.float32
        qs, ks, vs = (x.to(wide).split(size, dim=2) for x in (query, key, value))
        outputs, lses = [], []
        for number, q in enumerate(qs):
            output = q.new_zeros((*q.shape[:3], value.shape[3]))
            lse = q.new_full(q.shape[:3], -torch.inf)
            for place, (k, v) in enumerate(zip(ks[: number + 1] if causal else ks, vs, strict=False)):
                if k.shape[2] == 0:
                    continue
                z = scores(q, k, causal and place == number)
                here = z.logsumexp(-1)
                both = torch.logaddexp(lse, here)
                output = (lse - both).exp()[..., None] * output + (z - both[..., None]).exp() @ v
                lse = both
            outputs.append(output)
            lses.append(lse)
        output, lse = torch.cat(outputs, 2), torch.cat(lses, 2)
        ctx.save_for_backward(query, key, value, output, lse)
        ctx.size, ctx.causal = size, causal
        return output.to(query.dtype), lse

    @staticmethod
    def backward(ctx, gradient, unused):
        query, key, value, output, lse = ctx.saved_tensors
        share = (gradient.to(output.dtype) * output).sum(-1, keepdim=True)
        parts = (query, key, value, gradient.to(output.dtype), lse, share)
        qs, ks, vs, gs, ls, ds = (x.to(output.dtype).split(ctx.size, 2) for x in parts)
        to_q, to_k, to_v = ([torch.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
        for i, q in enumerate(qs):
            for j, k in enumerate(ks):
                if ctx.causal and j > i:
                    break
                p = (scores(q, k, ctx.causal and i == j) - ls[i][..., None]).exp()
                dz = p * (gs[i] @ vs[j].mT - ds[i]) * q.shape[3] ** -0.5
                to_v[j] = to_v[j] + p.mT @ gs[i]
                to_q[i] = to_q[i] + dz @ k
                to_k[j] = to_k[j] + dz.mT @ q
        return (*(torch.cat(xs, 2).to(query.dtype) for xs in (to_q, to_k, to_v)), None, None)


def scores(q, k, on_diagonal):
    z = q @ k.mT * q.shape[3] ** -0.5
    if not on_diagonal:
        return z
    return z + torch.full_like(z[0, 0], -torch.inf).triu(1)


def flash_attention(query, key, value, block_size, causal=False):
    if block_size <= 0:
        raise ValueError(f"got block_size={block_size}")
    return Flash.apply(query, key, value, block_size, causal)


FlashAttention = Flash
