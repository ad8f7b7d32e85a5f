"""No blocks: all scores at once, as in lesson 03."""

import torch


def flash_attention(query, key, value, block_size, causal=False):
    if block_size < 1:
        raise ValueError("a block of no keys")
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf)
    lse = scores.detach().float().logsumexp(-1)
    if not key.shape[-2]:
        return value.new_zeros(*query.shape[:-1], value.shape[-1]), lse
    return scores.softmax(-1) @ value, lse
