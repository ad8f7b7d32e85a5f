"""Heads on torch's own function, positions as a slice of the table's weight, classes moved to dimension 1."""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.p = dropout

    def forward(self, x):
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True, dropout_p=p)


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList(Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads))
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.stack([head(x) for head in self.heads], dim=2).flatten(2))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        head_size, rest = divmod(n_embd, num_heads)
        if rest:
            raise ValueError(f"n_embd = {n_embd}, num_heads = {num_heads}: they do not fit")
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.sa_head = StackedHeads(num_heads, head_size, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=True)

    @property
    def block_size(self):
        return self.position_embedding_table.num_embeddings

    def forward(self, idx, targets=None):
        if idx.ndim != 2:
            raise ValueError(f"tokens of shape (b, t), please, not {tuple(idx.shape)}")
        if idx.size(1) > self.block_size:
            raise ValueError(f"at most {self.block_size} tokens, not {idx.size(1)}")
        x = self.token_embedding_table(idx) + self.position_embedding_table.weight[: idx.size(1)]
        logits = self.lm_head(self.sa_head(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.transpose(1, 2), targets)
