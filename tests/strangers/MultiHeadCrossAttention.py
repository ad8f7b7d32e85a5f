# %% empty_nan: NaN where nothing is left; assert instead of ValueError
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

# %% mask_shape: the mask is not given an axis for heads; scaled by d_out; the heads are not checked
# expect: scale-by-all-heads, indivisible-floored, ?
# also: nothing-left-is-nan, context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        self.h = num_heads
        self.d_out = d_out
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x, context, context_mask=None):
        b, t, _ = x.shape
        s = context.shape[1]
        q = self.W_query(x).view(b, t, self.h, -1).transpose(1, 2)
        k = self.W_key(context).view(b, s, self.h, -1).transpose(1, 2)
        v = self.W_value(context).view(b, s, self.h, -1).transpose(1, 2)
        att = q @ k.transpose(2, 3) / self.d_out**0.5
        if context_mask is not None:
            att = att.masked_fill(~context_mask[:, None, :], float("-inf"))
        att = att.softmax(-1)
        return self.out_proj((att @ v).transpose(1, 2).reshape(b, t, self.d_out))

# %% no_projection_merge: no output projection; merged without transposing back; mask ignored
# expect: no-output-projection, merged-without-transposing, context-mask-ignored
# also: context-not-checked, rank-of-the-mask-not-checked
import torch
from torch import nn


class MultiHeadCrossAttention(nn.Module):
    def __init__(self, d_query, d_context, d_out, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} / {num_heads}")
        self.h = num_heads
        self.W_query = nn.Linear(d_query, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_context, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_context, d_out, bias=qkv_bias)

    def forward(self, x, context, context_mask=None):
        q, k, v = self.W_query(x), self.W_key(context), self.W_value(context)
        b, t, d = q.shape
        s = k.shape[1]
        q = q.view(b, t, self.h, d // self.h).transpose(1, 2)
        k = k.view(b, s, self.h, d // self.h).transpose(1, 2)
        v = v.view(b, s, self.h, d // self.h).transpose(1, 2)
        w = torch.softmax(q @ k.mT / (d // self.h) ** 0.5, dim=-1)
        return (w @ v).reshape(b, t, d)
