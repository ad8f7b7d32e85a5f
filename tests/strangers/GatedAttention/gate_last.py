# wrong: the gate is put behind the output projection
# expect: gate-behind-the-projection
import torch
import torch.nn.functional as F
from torch import nn


class GatedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.h = num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, d_model, bias=False)
        self.W_value = nn.Linear(d_model, d_model, bias=False)
        self.W_gate = nn.Linear(d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (w(x).reshape(b, t, self.h, -1).transpose(1, 2) for w in (self.W_query, self.W_key, self.W_value))
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        heads = heads.transpose(1, 2).reshape(b, t, d)
        gate = torch.sigmoid(self.W_gate(x))
        return self.out_proj(heads) * gate
