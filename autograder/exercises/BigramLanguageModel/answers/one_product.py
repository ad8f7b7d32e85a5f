"""All heads in one product, out of weights that stay in a ModuleList; one-hot products in place of look-ups."""

import torch
from torch import nn
from torch.nn import functional as F


class Head(nn.Module):
    def __init__(self, n_embd, head_size):
        super().__init__()
        for name in ("key", "query", "value"):
            setattr(self, name, nn.Linear(n_embd, head_size, bias=False))


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)
        self.register_buffer("later", torch.ones(block_size, block_size).triu(1).bool())
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        t = x.shape[1]
        q, k, v = (
            torch.einsum("btd,hsd->bhts", x, torch.stack([getattr(head, name).weight for head in self.heads]))
            for name in ("query", "key", "value")
        )
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(self.later[:t, :t], -torch.inf)
        found = self.dropout(scores.softmax(-1)) @ v
        return self.proj(found.transpose(1, 2).flatten(2))


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if n_embd % num_heads:
            raise ValueError(f"{n_embd} % {num_heads} is not 0")
        self.vocab_size, self.block_size = vocab_size, block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        if idx.dim() != 2:
            raise ValueError(f"wrong rank: {idx.dim()}")
        b, t = idx.shape
        if t > self.block_size:
            raise ValueError(f"{t} > {self.block_size}")
        table = self.token_embedding_table.weight
        one_hot = (idx[:, :, None] == torch.arange(self.vocab_size, device=idx.device)).to(table.dtype)
        x = one_hot @ table + self.position_embedding_table.weight[None, :t]
        logits = self.lm_head(self.sa_head(x))
        if targets is None:
            return logits, None
        log_probabilities = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
        return logits, F.nll_loss(log_probabilities.reshape(b * t, -1), targets.reshape(-1))
