"""einsum for every product; a mask that is always there; the softmax by hand, safe where nothing is allowed."""

import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} / {num_heads} is not whole")
        self.heads, self.width = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        b, s, _ = context.shape
        q = self.W_query(x).reshape(b, t, self.heads, self.width)
        k = self.W_key(context).reshape(b, s, self.heads, self.width)
        v = self.W_value(context).reshape(b, s, self.heads, self.width)
        if context_mask is None:
            context_mask = torch.ones(b, s, dtype=torch.bool, device=x.device)
        allowed = context_mask[:, None, None, :]
        scores = torch.einsum("bihf,bjhf->bhij", q * self.width**-0.5, k)
        largest = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).amax(-1, keepdim=True).detach()
        e = torch.where(allowed, scores - largest, 0.0).exp() * allowed
        weights = e / e.sum(-1, keepdim=True).clamp_min(0.5)  # the largest is 1, or there is none
        return self.out_proj(torch.einsum("bhij,bjhf->bihf", weights, v).reshape(b, t, self.heads * self.width))


class CoAttentionStreams(nn.Module):
    def __init__(self, d, num_heads):
        super().__init__()
        self.v_to_q, self.q_to_v = (MultiHeadCrossAttention(d, d, d, num_heads) for _ in range(2))

    def forward(self, v, q, v_mask=None, q_mask=None):
        if v.dim() != 3 or q.dim() != 3:
            raise ValueError("v and q have three dimensions")
        image, words = v, q
        v = self.v_to_q(image, words, q_mask)
        q = self.q_to_v(words, image, v_mask)
        return v, q
