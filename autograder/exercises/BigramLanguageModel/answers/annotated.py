"""Annotations everywhere, checks as helper functions, heads as one einsum with `...`, the loss by the classes' rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def check_width(n_embd: int, num_heads: int) -> int:
    if n_embd % num_heads:
        raise ValueError(f"num_heads must divide n_embd, but {num_heads} does not divide {n_embd}")
    return n_embd // num_heads


def check_tokens(idx: Tensor, block_size: int) -> None:
    if idx.ndim != 2:
        raise ValueError(f"idx must be (b, t), not of rank {idx.ndim}")
    if idx.shape[-1] > block_size:
        raise ValueError(f"idx has {idx.shape[-1]} tokens, more than the {block_size} of a block")


class Head(nn.Module):
    def __init__(self, n_embd: int, head_size: int, block_size: int, dropout: float) -> None:
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "... t d"]) -> Float[Tensor, "... t h"]:  # noqa: F821, F722
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = torch.einsum("...qd,...kd->...qk", q, k) / q.size(-1) ** 0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return torch.einsum("...qk,...kd->...qd", self.dropout(weights), v)


class StackedHeads(nn.Module):
    def __init__(self, num_heads: int, head_size: int, n_embd: int, block_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(torch.cat(tuple(head(x) for head in self.heads), -1))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size: int, n_embd: int, block_size: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        head_size = check_width(n_embd, num_heads)
        self.block_size: int = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, head_size, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)
        print(sum(p.numel() for p in self.parameters()), "parameters")

    def embedded(self, idx: Int[Tensor, "b t"]) -> Float[Tensor, "b t d"]:  # noqa: F821, F722
        places = torch.arange(idx.shape[1]).to(idx.device)
        return self.token_embedding_table(idx) + self.position_embedding_table(places)[None]

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        check_tokens(idx, self.block_size)
        logits = self.lm_head(self.sa_head(self.embedded(idx)))
        if targets is None:
            return logits, None
        rows = nn.functional.log_softmax(logits, dim=-1).flatten(0, -2)
        return logits, nn.functional.nll_loss(rows, targets.flatten())
