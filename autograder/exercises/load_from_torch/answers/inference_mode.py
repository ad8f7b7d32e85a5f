"""In-place arithmetic, with prints; the number of features comes from the weight."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_out={d_out}")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.context_length = context_length
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() == 0)

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        shape = b, n, self.num_heads, self.head_dim
        q, k, v = (f(x).view(shape).transpose(1, 2) for f in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT / self.head_dim**0.5).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.out_proj((self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).reshape(b, n, -1))


def load_from_torch(module, mha):
    d = mha.in_proj_weight.size(1)
    print(f"copying {d} features, {mha.num_heads} heads")
    for i, name in enumerate(["W_query", "W_key", "W_value"]):
        layer, rows = getattr(module, name), slice(i * d, (i + 1) * d)
        bias = None if mha.in_proj_bias is None else mha.in_proj_bias[rows]
        if layer.bias is None and bias is not None and not torch.equal(bias, torch.zeros_like(bias)):
            raise ValueError(f"{name} has no bias to hold the source's")
        with torch.no_grad():
            layer.weight.mul_(0).add_(mha.in_proj_weight[rows].to(layer.weight.dtype))
            if layer.bias is not None:
                layer.bias.mul_(0)
                if bias is not None:
                    layer.bias += bias.to(layer.bias.dtype)
    with torch.no_grad():
        module.out_proj.weight[...] = mha.out_proj.weight
        module.out_proj.bias[...] = 0 if mha.out_proj.bias is None else mha.out_proj.bias
    print("done")
