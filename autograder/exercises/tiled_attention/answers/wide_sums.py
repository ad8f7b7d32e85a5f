import torch


def tiled_attention(q, k, v, block_size, causal=False):
    """Sums are kept in float32 at least, as kernels do for half precision, and one column stands beside the values."""
    if block_size < 1:
        raise ValueError("block_size must be >= 1")
    wide = torch.promote_types(q.dtype, torch.float32)
    ones = torch.ones(v.shape[:-1] + (1,), dtype=wide, device=v.device)
    values = torch.cat([v.to(wide), ones], dim=-1)  # the last column sums the exponentials
    place = torch.arange(max(q.shape[-2], k.shape[-2]), device=q.device)
    top = torch.full(q.shape[:-1] + (1,), -torch.inf, dtype=wide, device=q.device)
    sums = torch.zeros(q.shape[:-1] + (values.shape[-1],), dtype=wide, device=q.device)
    start = 0
    while start < k.shape[-2]:
        some = slice(start, start + block_size)
        scores = q.to(wide) @ k[..., some, :].to(wide).mT / q.shape[-1] ** 0.5
        if causal:
            scores.masked_fill_(place[None, some][..., : scores.shape[-1]] > place[: q.shape[-2], None], -torch.inf)
        with torch.no_grad():
            higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        sums = sums * (top - higher).exp() + (scores - higher).exp() @ values[..., some, :]
        top, start = higher, start + block_size
    return (sums[..., :-1] / sums[..., -1:].clamp(min=0.5)).to(q.dtype)
