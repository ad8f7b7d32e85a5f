"""Helpers with type hints; a decorator in place of `with`."""

import torch
from torch import Tensor, nn


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


def blocks(whole: Tensor | None) -> list[Tensor | None]:
    """The parts for queries, keys and values."""
    return [None, None, None] if whole is None else list(whole.detach().tensor_split(3))


def fill(parameter: nn.Parameter | None, numbers: Tensor | None) -> None:
    if parameter is None:
        if numbers is not None and torch.any(numbers != 0).item():
            raise ValueError("a bias in the source is not 0, and the module has none")
    elif numbers is None:
        parameter.fill_(0.0)
    else:
        parameter.copy_(numbers)


@torch.no_grad()
def load_from_torch(module: nn.Module, mha: nn.MultiheadAttention) -> None:
    layers = [module.W_query, module.W_key, module.W_value, module.out_proj]
    weights = [*blocks(mha.in_proj_weight), mha.out_proj.weight]
    biases = [*blocks(mha.in_proj_bias), mha.out_proj.bias]
    for layer, bias in zip(layers, biases, strict=True):
        fill(layer.bias, bias)
    for layer, weight in zip(layers, weights, strict=True):
        fill(layer.weight, weight)
