"""Each head's own columns of `proj`, summed up: no concatenation. With type hints."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Head(nn.Module):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.p, self.block_size = dropout, block_size
        self.register_buffer("tril", torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 3 or x.shape[1] > self.block_size:
            raise ValueError(f"{tuple(x.shape)} is no batch of at most {self.block_size} tokens")
        t = x.shape[1]
        scores = torch.einsum("bif,bjf->bij", self.query(x), self.key(x)) / self.key.out_features**0.5
        weights = torch.where(self.tril[:t, :t], scores, -torch.inf).softmax(dim=2)
        return F.dropout(weights, self.p, self.training) @ self.value(x)


class StackedHeads(nn.Module):
    def __init__(self, num_heads: int, head_size: int, n_embd: int, block_size: int, dropout: float) -> None:
        super().__init__()
        heads = [Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)
        self.proj = nn.Linear(head_size * num_heads, n_embd)

    def forward(self, x: Tensor) -> Tensor:
        out = self.proj.bias
        for head, columns in zip(self.heads, self.proj.weight.chunk(len(self.heads), dim=1), strict=True):
            out = out + head(x) @ columns.T
        return out
