import math

import torch
from torch import nn


class LatentAttention(nn.Module):
    """`W_up_key` is absorbed into `W_query`, once per call: one matrix from tokens to queries of latent vectors."""

    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.latent_dim = latent_dim
        for name, d_in, d_out in [
            ("W_query", d_model, num_heads * head_dim),
            ("W_down", d_model, latent_dim),
            ("W_up_key", latent_dim, num_heads * head_dim),
            ("W_up_value", latent_dim, num_heads * head_dim),
            ("out_proj", num_heads * head_dim, d_model),
        ]:
            setattr(self, name, nn.Linear(d_in, d_out, bias=False))

    def _weights(self, scores):
        t = scores.size(-1)
        bias = torch.full((t, t), float("-inf"), dtype=scores.dtype, device=scores.device).triu(1)
        return (scores / math.sqrt(self.head_dim) + bias).softmax(-1)

    def forward(self, x):
        batch, length, _ = x.size()
        latent = self.W_down(x)
        split = (batch, length, self.num_heads, self.head_dim)
        q = self.W_query(x).view(split).permute(0, 2, 1, 3)
        k = self.W_up_key(latent).view(split).permute(0, 2, 3, 1)
        v = self.W_up_value(latent).view(split).permute(0, 2, 1, 3)
        heads = torch.matmul(self._weights(torch.matmul(q, k)), v)
        return self.out_proj(heads.permute(0, 2, 1, 3).reshape(batch, length, -1))

    def absorbed(self, x):
        batch, length, d_model = x.size()
        w_q = self.W_query.weight.view(self.num_heads, self.head_dim, d_model)
        w_k = self.W_up_key.weight.view(self.num_heads, self.head_dim, self.latent_dim)
        w_v = self.W_up_value.weight.view(self.num_heads, self.head_dim, self.latent_dim)
        latent = self.W_down(x).unsqueeze(1)
        q = torch.matmul(x.unsqueeze(1), w_q.transpose(1, 2) @ w_k)
        mixed = torch.matmul(self._weights(torch.matmul(q, latent.transpose(-1, -2))), latent)
        heads = torch.matmul(mixed, w_v.transpose(1, 2))
        return self.out_proj(heads.permute(0, 2, 1, 3).reshape(batch, length, -1))
