# wrong: no output projection; merged without transposing back; mask ignored
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
