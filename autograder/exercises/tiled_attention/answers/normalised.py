import torch


def tiled_attention(q, k, v, block_size, causal=False):
    """FlashAttention-1: what comes out is divided after each block, so it is multiplied by the old sum before."""
    if block_size < 1:
        raise ValueError(f"a block size of {block_size}")
    scaled, output, total, largest = q / q.shape[-1] ** 0.5, None, None, None
    for number, (keys, values) in enumerate(
        zip(torch.split(k, block_size, -2), torch.split(v, block_size, -2), strict=True)
    ):
        scores = scaled @ keys.mT
        if causal:
            first = number * block_size
            rows = torch.arange(q.shape[-2], device=q.device)
            columns = torch.arange(first, first + keys.shape[-2], device=q.device)
            scores = scores + torch.zeros((), dtype=q.dtype, device=q.device).where(
                columns[None, :] <= rows[:, None], -torch.inf
            )
        if largest is None:
            if keys.shape[-2] == 0:
                return scores @ values
            largest = scores.amax(-1, keepdim=True)
            powers = torch.exp(scores - largest)
            total = powers.sum(-1, keepdim=True)
            output = powers @ values / total
            continue
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        powers, factor = torch.exp(scores - new), torch.exp(largest - new)
        new_total = total * factor + powers.sum(-1, keepdim=True)
        output = (output * total * factor + powers @ values) / new_total
        total, largest = new_total, new
    return output
