"""chunk and copy_ under no_grad."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out={d_out} must be divisible by num_heads={num_heads}")
        self.h, self.w, self.context_length = num_heads, d_out // num_heads, context_length
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        keys = self.W_key(x).view(b, n, self.h, self.w).transpose(1, 2)
        queries = self.W_query(x).view(b, n, self.h, self.w).transpose(1, 2)
        values = self.W_value(x).view(b, n, self.h, self.w).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores.masked_fill_(self.mask.bool()[:n, :n], -torch.inf)
        attn_weights = self.dropout(torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1))
        context_vec = (attn_weights @ values).transpose(1, 2).contiguous().view(b, n, self.h * self.w)
        return self.out_proj(context_vec)


def load_from_torch(module, mha):
    layers = (module.W_query, module.W_key, module.W_value)
    biases = mha.in_proj_bias.chunk(3) if mha.in_proj_bias is not None else (None, None, None)
    for layer, bias in zip(layers, biases, strict=True):
        if layer.bias is None and bias is not None and bool((bias != 0).any()):
            raise ValueError("there is no room for the biases")
    with torch.no_grad():
        for layer, weight, bias in zip(layers, mha.in_proj_weight.chunk(3), biases, strict=True):
            layer.weight.copy_(weight)
            if layer.bias is not None:
                layer.bias.copy_(bias) if bias is not None else layer.bias.zero_()
        module.out_proj.weight.copy_(mha.out_proj.weight)
        if mha.out_proj.bias is None:
            module.out_proj.bias.zero_()
        else:
            module.out_proj.bias.copy_(mha.out_proj.bias)
