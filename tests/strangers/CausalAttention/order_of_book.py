# wrong: softmax over dim 1; the mask is not a buffer; no padding
# expect: softmax-over-queries, mask-not-moved, padding-ignored
# also: too-long-not-refused, rank-not-checked, fact-two-devices
import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()

    def forward(self, x, padding_mask=None):
        n = x.shape[1]
        Q = self.W_query(x)
        K = self.W_key(x)
        V = self.W_value(x)
        scores = Q @ K.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores / K.shape[-1] ** 0.5, dim=1))
        return weights @ V
