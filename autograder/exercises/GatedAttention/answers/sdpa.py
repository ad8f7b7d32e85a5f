import torch
import torch.nn.functional as F
from torch import nn


class GatedAttention(nn.Module):
    """Torch's own attention, and a gate behind it."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.num_heads = num_heads
        for name in ("W_query", "W_key", "W_value", "W_gate", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2) for layer in self.roles())
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(found.transpose(-3, -2).flatten(-2).mul(torch.sigmoid(self.W_gate(x))))

    def roles(self):
        return self.W_query, self.W_key, self.W_value
