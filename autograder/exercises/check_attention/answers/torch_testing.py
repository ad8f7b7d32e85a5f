"""torch.testing's own comparison, one case after another, and an error that is asked for."""

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close


def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError("tokens and features are needed")
    scores = query / key.shape[-1] ** 0.5 @ key.mT
    if mask is None:
        return scores.softmax(-1) @ value, scores.softmax(-1)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask.any(-1, keepdim=True), 0)
    return weights @ value, weights


class Case:
    def __init__(self, seed, mask_shape):
        generator = torch.Generator().manual_seed(seed)
        self.query, self.key, self.value = (
            torch.randn(2, 2, *shape, generator=generator, dtype=torch.float64) for shape in [(3, 5), (4, 5), (4, 6)]
        )
        self.mask = None
        if mask_shape is not None:
            self.mask = torch.rand(mask_shape, generator=generator) < 0.5
            self.mask[..., 1] = True

    def run(self, candidate):
        output, weights = candidate(query=self.query, key=self.key, value=self.value, mask=self.mask)
        mask = None if self.mask is None else self.mask.expand(2, 2, 3, 4)
        expected = scaled_dot_product_attention(self.query, self.key, self.value, attn_mask=mask)
        assert_close(output, expected)
        assert_close(weights @ self.value, expected)
        assert_close(weights.sum(-1), torch.ones(2, 2, 3, dtype=torch.float64))


def check_attention(candidate):
    for seed, mask_shape in enumerate([None, (4,), (3, 4), (2, 1, 3, 4), (2, 2, 3, 4)]):
        Case(seed, mask_shape).run(candidate)
    try:
        candidate(torch.zeros(5), torch.zeros(4, 5), torch.zeros(4, 6))
    except ValueError:
        return
    raise AssertionError("a query of one dimension should be refused")
