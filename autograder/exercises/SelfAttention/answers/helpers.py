"""Helper functions, as if from other cells: a check of the rank as a decorator, and a softmax of one's own."""

import functools

import torch
from torch import nn


def takes_rank(*ranks):
    def wrap(function):
        @functools.wraps(function)
        def checked(self, x):
            if x.dim() not in ranks:
                raise ValueError(f"{type(self).__name__} takes tensors of rank {ranks}, and got {x.dim()}")
            return function(self, x)

        return checked

    return wrap


def my_softmax(z, dim=-1):
    z = z - z.max(dim=dim, keepdim=True).values
    e = torch.exp(z)
    return e / e.sum(dim=dim, keepdim=True)


def attend(q, k, v):
    return my_softmax(torch.matmul(q, k.swapaxes(-1, -2)) / (q.shape[-1] ** 0.5)).matmul(v)


class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    @takes_rank(2, 3)
    def forward(self, x):
        return attend(self.W_query(x), self.W_key(x), self.W_value(x))
