"""The parts are made by a base class of its own; positions as one row after another; a list for what is returned."""

import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, False) for _ in range(3))
        self.register_buffer("hidden", ~torch.ones(block_size, block_size).tril().bool(), persistent=False)
        self.p = dropout

    def forward(self, x):
        n = x.shape[-2]
        scores = torch.baddbmm(
            x.new_zeros(()), self.query(x), self.key(x).mT, beta=0, alpha=self.key.out_features**-0.5
        )
        scores = scores.masked_fill(self.hidden[:n, :n], -torch.inf)
        shifted = (scores - scores.amax(-1, keepdim=True)).exp()
        return torch.bmm(F.dropout(shifted / shifted.sum(-1, keepdim=True), self.p, self.training), self.value(x))


class StackedHeads(nn.Module):
    def __init__(self, num_heads, head_size, n_embd, block_size, dropout):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size, block_size, dropout) for _ in range(num_heads)])
        self.proj = nn.Linear(head_size * num_heads, n_embd, bias=True)

    def forward(self, x):
        return self.proj(torch.concat([head(x) for head in self.heads], dim=2))


class WithTables(nn.Module):
    def __init__(self, vocab_size, n_embd, block_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        self.block_size = block_size

    def embed(self, idx):
        b, t = idx.shape
        rows = [self.position_embedding_table(idx.new_full((b,), i)) for i in range(t)]
        return self.token_embedding_table(idx) + torch.stack(rows, dim=1)


class BigramLanguageModel(WithTables):
    def __init__(self, vocab_size, n_embd, block_size, num_heads, dropout=0.0):
        if num_heads * (n_embd // num_heads) != n_embd:
            raise ValueError("cannot split " + str(n_embd) + " among " + str(num_heads) + " heads")
        super().__init__(vocab_size, n_embd, block_size)
        self.sa_head = StackedHeads(num_heads, n_embd // num_heads, n_embd, block_size, dropout)
        self.lm_head = nn.Linear(n_embd, vocab_size)
        self.seconds = 0.0

    def forward(self, idx, targets=None):
        start = time.time()
        if idx.dim() != 2 or idx.size(1) > self.block_size:
            raise ValueError(f"(b, t) with t up to {self.block_size} is wanted, {list(idx.size())} came")
        logits = self.lm_head(self.sa_head(self.embed(idx)))
        loss = None
        if targets is not None:
            b, t, v = logits.shape
            loss = F.cross_entropy(logits.contiguous().view(b * t, v), targets.reshape(-1), reduction="mean")
        self.seconds += time.time() - start
        return [logits, loss]
