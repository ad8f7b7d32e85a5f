import torch


def tiled_attention(q, k, v, block_size, causal=False):
    """The lse first, then the output: each block's scores are made twice, and none is kept."""
    if block_size < 1:
        raise ValueError(f"{block_size} < 1")
    if k.size(-2) == 0:
        return q.new_zeros(q.shape[:-1] + v.shape[-1:])

    def blocks():
        at = 0
        for keys, values in zip(k.split(block_size, dim=-2), v.split(block_size, dim=-2), strict=True):
            scores = torch.einsum("bhtd,bhsd->bhts", q, keys) / q.size(-1) ** 0.5
            if causal:
                past = torch.ones(q.size(-2), keys.size(-2), dtype=torch.bool, device=q.device).tril(-at)
                scores = scores.masked_fill(~past, -torch.inf)
            at += keys.size(-2)
            yield scores, values

    lse = torch.stack([scores.logsumexp(dim=-1) for scores, _ in blocks()]).logsumexp(dim=0, keepdim=False)
    return sum(torch.exp(scores - lse[..., None]) @ values for scores, values in blocks())
