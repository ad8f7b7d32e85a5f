# wrong: scores times tril instead of -inf; no scale; no ValueError
# expect: mask-fills-with-zero, no-scale, too-long-not-refused
import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.size()
        K = self.key(x)
        Q = self.query(x)
        V = self.value(x)
        W = Q @ K.transpose(-2, -1)
        W = W * self.tril[:T, :T]
        W = F.softmax(W, dim=-1)
        W = self.dropout(W)
        return W @ V
