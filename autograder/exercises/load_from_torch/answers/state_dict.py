"""load_state_dict, which copies in place by name."""

import torch
import torch.nn.functional as F
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
        self.p = dropout

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        layers = (self.W_query, self.W_key, self.W_value)
        q, k, v = (f(x).unflatten(-1, (self.h, self.w)).transpose(1, 2) for f in layers)
        found = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))


def load_from_torch(module, mha):
    source = mha.state_dict()
    d = source["in_proj_weight"].shape[1]
    state = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    for i, name in enumerate(("W_query", "W_key", "W_value")):
        state[f"{name}.weight"] = source["in_proj_weight"][i * d : (i + 1) * d]
        if "in_proj_bias" in source:
            bias = source["in_proj_bias"][i * d : (i + 1) * d]
            if f"{name}.bias" in state:
                state[f"{name}.bias"] = bias
            elif bias.abs().max() > 0:
                raise ValueError(f"{name} has no bias")
    for name in ("out_proj.weight", "out_proj.bias"):
        if name in source:
            state[name] = source[name]
    module.load_state_dict(state, strict=True)
