# wrong: heads are cut by view(b, h, t, w) without swapping dimensions; a mask buffer of 64 bounds the length
# expect: reshaped-both-ways, fixed-context
# also: reshaped-in-one-step, merged-without-transposing
import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"num_heads={num_heads}, num_kv_heads={num_kv_heads}")
        if head_dim is None:
            if d_model % num_heads:
                raise ValueError(f"d_model={d_model}, num_heads={num_heads}")
            head_dim = d_model // num_heads
        self.nh, self.nkv, self.hd, self.base = num_heads, num_kv_heads, head_dim, rope_base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.norm = qk_norm
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(head_dim), RMSNorm(head_dim)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))

    def forward(self, x):
        b, t, _ = x.size()
        q = self.W_query(x).reshape(b, self.nh, t, self.hd)
        k = self.W_key(x).reshape(b, self.nkv, t, self.hd)
        v = self.W_value(x).reshape(b, self.nkv, t, self.hd)
        if self.norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.base is not None:
            pos = torch.arange(t, device=x.device)
            q, k = apply_rope(q, pos, self.base), apply_rope(k, pos, self.base)
        k = k.repeat_interleave(self.nh // self.nkv, dim=1)
        v = v.repeat_interleave(self.nh // self.nkv, dim=1)
        att = (q @ k.transpose(-2, -1)) * (self.hd**-0.5)
        att = att.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        att = att.softmax(dim=-1)
        y = (att @ v).reshape(b, t, self.nh * self.hd)
        return self.out_proj(y)
