"""One token after another asks all of its sequence."""

import torch
from torch import nn


class EncoderHead(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        self.head_size = head_size
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(tuple(x.shape))
        keys, values = self.key(x), self.value(x)
        rows = []
        for place in range(x.shape[1]):
            query = self.query(x[:, place : place + 1])  # (b, 1, head_size)
            scores = (query * keys).sum(-1) / self.head_size**0.5  # (b, t)
            scores = scores - scores.max(-1, keepdim=True).values
            weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
            rows.append((weights[:, :, None] * values).sum(1))
        return torch.stack(rows, dim=1)
