import torch
import torch.nn.functional as F
from torch import nn


class GatedAttention(nn.Module):
    """All four layers as one product, and a half of tanh for the sigmoid."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model / num_heads != d_model // num_heads:
            raise ValueError(" heads for a width of ".join(map(str, (num_heads, d_model))))
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value, self.W_gate, self.out_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x):
        b, t, d = x.shape
        layers = (self.W_query, self.W_key, self.W_value, self.W_gate)
        made = F.linear(x, torch.cat([layer.weight for layer in layers]))
        *qkv, gate = made.view(b, t, 4, d).unbind(2)
        q, k, v = (y.view(b, t, self.num_heads, -1).permute(0, 2, 1, 3) for y in qkv)
        scores = q @ k.mT / (d // self.num_heads) ** 0.5
        seen = torch.tril(torch.ones(t, t, device=x.device)) == 1
        weights = torch.where(seen, scores, -torch.inf).softmax(-1)
        found = (weights @ v).permute(0, 2, 1, 3).reshape(b, t, d)
        return self.out_proj(found * (0.5 + 0.5 * torch.tanh(gate / 2)))
