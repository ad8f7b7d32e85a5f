"""torch's own function, which knows the causal mask and dropout."""

import torch
import torch.nn.functional as F
from torch import nn


class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Linear(n_embd, head_size, bias=False))
        self.register_buffer("tril", torch.ones(block_size, block_size).tril())
        self.dropout = dropout

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, n_embd), got {tuple(x.shape)}")
        if x.shape[1] > len(self.tril):
            raise ValueError(f"at most {len(self.tril)} tokens, got {x.shape[1]}")
        p = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), dropout_p=p, is_causal=True)
