"""Indices spelled out; the scale is on the queries."""

import math

import torch
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.root = math.sqrt(head_size)
        for name in ("key", "query", "value"):
            setattr(self, name, nn.Linear(n_embd, head_size, bias=False))

    def forward(self, x):
        if x.ndim != 3:
            raise ValueError(f"a batch is wanted, this has {x.ndim} dimensions")
        weights = torch.einsum("bif,bjf->bij", self.query(x) / self.root, self.key(x)).softmax(-1)
        return torch.einsum("bij,bjf->bif", weights, self.value(x))
