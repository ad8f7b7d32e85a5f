"""A right attention to compare with, on many sizes and masks, one of which hides all keys from a query."""

import torch


def attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("rank")
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(scores.softmax(dim=-1))
    return weights @ value, weights


def check_attention(candidate):
    generator = torch.Generator().manual_seed(1)
    for b, t, s, d, dv in [(1, 2, 3, 4, 5), (2, 4, 3, 8, 2), (3, 5, 5, 5, 5), (1, 1, 6, 16, 3)]:
        query, key, value = (torch.randn(*shape, generator=generator) for shape in [(b, t, d), (b, s, d), (b, s, dv)])
        mask = torch.rand(b, t, s, generator=generator) < 0.5
        mask[:, 0] = False
        for masked in (None, mask, mask[0], mask[0, -1]):
            for got, right in zip(
                candidate(query, key, value, masked), attention(query, key, value, masked), strict=True
            ):
                assert got.shape == right.shape and torch.allclose(got, right, atol=1e-5)
