# wrong: nan_to_num on the output, so gradients of empty rows stay NaN; dropout on the output
# expect: nan-patched-in-output, dropout-on-output
import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).to(torch.bool))

    def forward(self, x, padding_mask=None):
        b, L, _ = x.shape
        if L > self.context_length:
            raise ValueError(f"L={L} > {self.context_length}")
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        logits = q @ k.permute(0, 2, 1) / (q.shape[2] ** 0.5)
        logits = logits.masked_fill(self.mask[:L, :L], float("-inf"))
        if padding_mask is not None:
            logits = logits.masked_fill(~padding_mask[:, None], float("-inf"))
        y = torch.softmax(logits, dim=-1) @ v
        y = torch.nan_to_num(y, nan=0.0)
        return self.dropout(y)
