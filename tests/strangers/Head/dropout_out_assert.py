# wrong: dropout on the output instead of the weights; assert instead of ValueError
# expect: dropout-on-output, ?
# also: rank-not-checked
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super(Head, self).__init__()
        self.head_size = head_size
        self.block_size = block_size
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)).bool())
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        t = x.shape[1]
        assert t <= self.block_size, "too long"
        w = self.query(x).matmul(self.key(x).transpose(1, 2)).div(self.head_size**0.5)
        w = w.masked_fill(~self.tril[:t, :t], float("-inf")).softmax(-1)
        return self.drop(w.matmul(self.value(x)))
