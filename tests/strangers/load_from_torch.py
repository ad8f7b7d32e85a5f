# %% new_parameters: new Parameters instead of copying in place; biases of the source that have no place are dropped silently
# expect: parameters-replaced, biases-dropped-silently
# also: missing-biases-stay, missing-output-bias-stays, gradient-switched-on, dtype-of-the-source
import torch
from torch import nn


def load_from_torch(module, mha):
    q, k, v = torch.chunk(mha.in_proj_weight.detach().clone(), 3, dim=0)
    module.W_query.weight = nn.Parameter(q)
    module.W_key.weight = nn.Parameter(k)
    module.W_value.weight = nn.Parameter(v)
    module.out_proj.weight = nn.Parameter(mha.out_proj.weight.detach().clone())
    if mha.in_proj_bias is not None and module.W_query.bias is not None:
        bq, bk, bv = torch.chunk(mha.in_proj_bias.detach().clone(), 3)
        module.W_query.bias = nn.Parameter(bq)
        module.W_key.bias = nn.Parameter(bk)
        module.W_value.bias = nn.Parameter(bv)
    if mha.out_proj.bias is not None:
        module.out_proj.bias = nn.Parameter(mha.out_proj.bias.detach().clone())
    return module


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} is not divisible by {num_heads}")
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = torch.nn.Linear(d_out, d_out)
        self.dropout = torch.nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("(b, n, d_in)")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, context {self.context_length}")
        q = self.W_query(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        s = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        w = torch.softmax(s.masked_fill(~self.mask[:n, :n], float("-inf")), dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).flatten(2))

# %% no_chunks_order: in_proj is cut in the wrong order: keys first; biases are not copied
# expect: key-comes-first, biases-forgotten
# also: output-bias-forgotten, missing-biases-stay, missing-output-bias-stays, biases-dropped-silently
import torch


def load_from_torch(module, mha):
    with torch.no_grad():
        w_k, w_q, w_v = mha.in_proj_weight.chunk(3)
        module.W_key.weight.copy_(w_k)
        module.W_query.weight.copy_(w_q)
        module.W_value.weight.copy_(w_v)
        module.out_proj.weight.copy_(mha.out_proj.weight)


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} is not divisible by {num_heads}")
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = torch.nn.Linear(d_out, d_out)
        self.dropout = torch.nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("(b, n, d_in)")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, context {self.context_length}")
        q = self.W_query(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        s = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        w = torch.softmax(s.masked_fill(~self.mask[:n, :n], float("-inf")), dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).flatten(2))

# %% transposed: the weights are copied transposed
# expect: transposed
# also: missing-biases-stay, missing-output-bias-stays, biases-dropped-silently
import torch


@torch.no_grad()
def load_from_torch(module, mha):
    d = mha.embed_dim
    big = mha.in_proj_weight
    module.W_query.weight.copy_(big[:d].T)
    module.W_key.weight.copy_(big[d : 2 * d].T)
    module.W_value.weight.copy_(big[2 * d :].T)
    module.out_proj.weight.copy_(mha.out_proj.weight.T)
    if mha.in_proj_bias is not None:
        for i, layer in enumerate([module.W_query, module.W_key, module.W_value]):
            if layer.bias is not None:
                layer.bias.copy_(mha.in_proj_bias[i * d : (i + 1) * d])
        module.out_proj.bias.copy_(mha.out_proj.bias)


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} is not divisible by {num_heads}")
        self.num_heads, self.context_length = num_heads, context_length
        self.W_query = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = torch.nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = torch.nn.Linear(d_out, d_out)
        self.dropout = torch.nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("(b, n, d_in)")
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, context {self.context_length}")
        q = self.W_query(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, -1).transpose(1, 2)
        s = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        w = torch.softmax(s.masked_fill(~self.mask[:n, :n], float("-inf")), dim=-1)
        return self.out_proj((self.dropout(w) @ v).transpose(1, 2).flatten(2))
