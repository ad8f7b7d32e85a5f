# wrong: NaN where nothing is left; assert instead of ValueError
# expect: nothing-left-is-nan, assert-instead-of-an-error
# also: context-not-checked, rank-of-the-mask-not-checked
import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        B, T, _ = x.shape
        S = context.size(1)
        q = self.W_query(x).reshape(B, T, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        k = self.W_key(context).reshape(B, S, self.num_heads, self.head_dim).permute(0, 2, 3, 1)
        v = self.W_value(context).reshape(B, S, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        energy = torch.matmul(q, k) / self.head_dim**0.5
        if context_mask is not None:
            energy = energy.masked_fill(context_mask[:, None, None, :] == 0, float("-inf"))
        y = torch.matmul(F.softmax(energy, dim=-1), v)
        return self.out_proj(y.permute(0, 2, 1, 3).reshape(B, T, -1))
