"""The mask from a comparison of places, hidden scores by `where`, and the steps as methods with type hints."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def places(t: int, like: Tensor) -> Tensor:
    return torch.arange(t, device=like.device)


class Head(nn.Module):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__()
        options = {"in_features": n_embd, "out_features": head_size, "bias": False}
        self.key, self.query, self.value = nn.Linear(**options), nn.Linear(**options), nn.Linear(**options)
        self.register_buffer("tril", torch.ones((block_size, block_size), dtype=torch.uint8).tril())
        self.dropout = nn.Dropout(dropout)

    def check(self, x: Tensor) -> None:
        if x.dim() != 3:
            raise ValueError(f"a batch of sequences is expected, got a tensor of rank {x.dim()}")
        longest, t = self.tril.size(0), x.size(1)
        if t > longest:
            raise ValueError(f"the block holds {longest} tokens, but there are {t}")

    def weights(self, x: Tensor) -> Tensor:
        q, k = self.query(x), self.key(x)
        affinity = (q / q.size(-1) ** 0.5) @ k.mT
        where = places(x.size(1), x)
        past = where.unsqueeze(1).ge(where)
        return torch.where(past, affinity, affinity.new_tensor(-torch.inf)).softmax(dim=2)

    def forward(self, x: Tensor) -> Tensor:
        self.check(x)
        return self.dropout(self.weights(x)).bmm(self.value(x))
