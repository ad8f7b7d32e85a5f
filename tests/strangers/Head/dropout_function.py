# wrong: F.dropout without training=, so it is active in eval mode too
# expect: dropout-in-eval
import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.p = dropout
        self.block_size = block_size
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())

    def forward(self, x):
        B, T, C = x.shape
        if T > self.block_size:
            raise ValueError("got %d tokens, at most %d fit" % (T, self.block_size))
        q = self.query(x)
        k = self.key(x)
        wei = q @ k.transpose(-2, -1) * k.size(-1) ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        wei = F.dropout(wei, p=self.p)
        return wei @ self.value(x)
