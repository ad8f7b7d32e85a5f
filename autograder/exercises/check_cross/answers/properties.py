"""What is true of any cross-attention: what hiding, order and scale do to its output."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        scores = self.W_query(x) @ self.W_key(context).mT / self.W_query.out_features**0.5
        if context_mask is not None:
            scores = scores.masked_fill(~context_mask[:, None], -torch.inf)
        return scores.softmax(-1).nan_to_num() @ self.W_value(context)


def same(one, other):
    return one.shape == other.shape and torch.allclose(one, other, atol=1e-5)


def check_cross(candidate):
    torch.manual_seed(0)
    layer = candidate(4, 6, 3)
    x, context = torch.randn(2, 5, 4), torch.randn(2, 7, 6)
    output = layer(x, context)
    assert output.shape == (2, 5, 3)
    order = torch.randperm(7)
    assert same(layer(x, context[:, order]), output), "the order of a context doesn't matter"
    assert same(layer(x.flip(1), context), output.flip(1)), "each query is by itself"
    assert same(layer(x[1:], context[1:]), output[1:]), "each item is by itself"
    mask = torch.tensor([[True, False, True, True, False, True, True], [True, True, True, True, False, False, True]])
    for item in range(2):
        left = layer(x[item : item + 1], context[item : item + 1, mask[item]])
        assert same(layer(x, context, mask)[item : item + 1], left), "what is hidden is as good as not there"
    scores = torch.einsum("btd,bsd->bts", layer.W_query(x), layer.W_key(context)) / 3**0.5
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    assert same(torch.einsum("bts,bsd->btd", weights, layer.W_value(context)), output), "it follows the formula"
