import torch


def part(q, k, v, hidden):
    """One block by itself: its output and its lse."""
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(hidden, float("-inf"))
    lse = scores.logsumexp(dim=-1)
    safe = lse.masked_fill(lse == float("-inf"), 0.0)
    return torch.exp(scores - safe.unsqueeze(-1)) @ v, lse


def together(one, two):
    (output_a, lse_a), (output_b, lse_b) = one, two
    empty = torch.isinf(lse_a) & torch.isinf(lse_b)
    lse = torch.logaddexp(lse_a.masked_fill(empty, 0.0), lse_b.masked_fill(empty, 0.0))
    output = torch.exp(lse_a - lse)[..., None] * output_a + torch.exp(lse_b - lse)[..., None] * output_b
    return output, lse.masked_fill(empty, float("-inf"))


def tiled_attention(q, k, v, block_size, causal=False):
    """Each block is attended to by itself, and merged with what the others gave."""
    if block_size < 1:
        raise ValueError(f"block_size must be at least 1, got {block_size}")
    t, s = q.shape[-2], k.shape[-2]
    result = q.new_zeros(*q.shape[:-1], v.shape[-1]), q.new_full(q.shape[:-1], float("-inf"))
    for start in range(0, s, block_size):
        stop = min(start + block_size, s)
        here, there = torch.arange(t, device=q.device), torch.arange(start, stop, device=q.device)
        hidden = there > here[:, None] if causal else torch.zeros(t, stop - start, dtype=torch.bool, device=q.device)
        result = together(result, part(q, k[..., start:stop, :], v[..., start:stop, :], hidden))
    return result[0]
