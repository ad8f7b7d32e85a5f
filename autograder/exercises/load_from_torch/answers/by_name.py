"""A table of names, and one loop; numbers converted by hand; the check comes while copying."""

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

    def fold(self, z):
        b, n, _ = z.shape
        return z.reshape(b, n, self.h, self.w).transpose(1, 2).reshape(b * self.h, n, self.w)

    def forward(self, x):
        b, n, _ = x.shape
        if n > self.context_length:
            raise ValueError(f"{n} tokens, at most {self.context_length}")
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(x)), self.fold(self.W_value(x))
        hidden = torch.full((n, n), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        scores = torch.baddbmm(hidden.expand(b * self.h, n, n), q / self.w**0.5, k.transpose(1, 2))
        weights = F.dropout(F.softmax(scores, dim=-1), p=self.p, training=self.training)
        found = torch.bmm(weights, v).reshape(b, self.h, n, self.w)
        return self.out_proj(found.permute(0, 2, 1, 3).reshape(b, n, self.h * self.w))


def load_from_torch(module, mha):
    q, k, v = mha.in_proj_weight.detach().reshape(3, mha.embed_dim, mha.embed_dim)
    numbers = {"W_query.weight": q, "W_key.weight": k, "W_value.weight": v, "out_proj.weight": mha.out_proj.weight}
    if mha.in_proj_bias is not None:
        numbers.update(
            zip(("W_query.bias", "W_key.bias", "W_value.bias"), mha.in_proj_bias.detach().reshape(3, -1), strict=True)
        )
    if mha.out_proj.bias is not None:
        numbers["out_proj.bias"] = mha.out_proj.bias
    own = dict(module.named_parameters())
    with torch.no_grad():
        for name in own:
            own[name].zero_()
        for name, values in numbers.items():
            if name in own:
                own[name].add_(values.detach().to(own[name].dtype))
            elif values.any():
                raise ValueError(f"no place for {name}")
