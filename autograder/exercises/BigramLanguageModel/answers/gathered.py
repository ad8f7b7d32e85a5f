"""The loss by log_softmax and gather; places counted with cumsum; the mask made in every call."""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.scale, self.p = head_size**-0.5, dropout

    def forward(self, x):
        t = x.shape[1]
        scores = torch.einsum("bid,bjd->bij", self.query(x) * self.scale, self.key(x))
        later = torch.ones(t, t, device=x.device, dtype=torch.bool).triu(diagonal=1)
        weights = torch.where(later, torch.finfo(scores.dtype).min, scores).softmax(-1)
        return torch.einsum("bij,bjd->bid", F.dropout(weights, self.p, self.training), self.value(x))


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(Head(n_embd, head_size, block_size, dropout))
        self.proj = nn.Linear(head_size * num_heads, n_embd)

    def forward(self, x):
        output = x.new_zeros(x.shape[0], x.shape[1], 0)
        for head in self.heads:
            output = torch.cat((output, head(x)), 2)
        return self.proj(output)


class BigramLanguageModel(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        super().__init__()
        if num_heads < 1 or n_embd / num_heads != n_embd // num_heads:
            raise ValueError(f"n_embd ({n_embd}) must be a multiple of num_heads ({num_heads})")
        self.block_size = block_size
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        if idx.dim() != 2:
            raise ValueError("b and t")
        if idx.shape[1] > self.block_size:
            raise ValueError(f"block_size is {self.block_size}, got {idx.shape[1]}")
        places = torch.ones_like(idx).cumsum(dim=1) - 1  # (b, t)
        x = self.position_embedding_table(places)
        x = x + self.token_embedding_table(idx)
        logits = self.lm_head(self.sa_head(x))
        loss = None
        if targets is not None:
            chosen = torch.gather(F.log_softmax(logits, dim=-1), 2, targets.unsqueeze(2))
            loss = -chosen.mean()
        return logits, loss
