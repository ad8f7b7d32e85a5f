# wrong: the layers have biases; the mask lets each token see the next one
# expect: always-bias, one-step-ahead
# also: fact-biases
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size)
        self.query = nn.Linear(n_embd, head_size)
        self.value = nn.Linear(n_embd, head_size)
        self.block_size = block_size
        self.register_buffer("tril", torch.triu(torch.ones(block_size, block_size), diagonal=2) == 0)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        _, T, _ = x.shape
        if T > self.block_size:
            raise ValueError(f"{T} > {self.block_size}")
        k = self.key(x)
        q = self.query(x)
        v = self.value(x)
        att = q @ k.mT / k.shape[-1] ** 0.5
        att = att.masked_fill(~self.tril[:T, :T], -torch.inf)
        att = self.dropout(F.softmax(att, dim=2))
        return att @ v
