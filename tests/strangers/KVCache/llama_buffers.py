# wrong: Llama's way: room for 32 tokens is made once, in float32 and on the CPU; the pair (output, cache) comes back
# expect: room-too-small, room-in-float32, room-on-the-cpu, cache-always-returned
# also: fact-two-dtypes
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    def __init__(self, max_seq_len=32):
        self.max_seq_len = max_seq_len
        self.cache_k = None
        self.cache_v = None
        self.pos = 0

    def update(self, xk, xv):
        b, h, t, w = xk.shape
        if self.cache_k is None:
            self.cache_k = torch.zeros(b, h, self.max_seq_len, w)
            self.cache_v = torch.zeros(b, h, self.max_seq_len, w)
        self.cache_k[:, :, self.pos : self.pos + t] = xk.detach()
        self.cache_v[:, :, self.pos : self.pos + t] = xv.detach()
        self.pos += t
        return self.cache_k[:, :, : self.pos], self.cache_v[:, :, : self.pos]


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads} key heads don't divide {num_heads} query heads")
        if head_dim is None:
            if d_model % num_heads:
                raise ValueError(f"{num_heads} heads don't divide d_model = {d_model}")
            head_dim = d_model // num_heads
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(head_dim)
            self.k_norm = RMSNorm(head_dim)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        start_pos = cache.pos if cache is not None else 0
        xq = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        xk = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        xv = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            xq, xk = self.q_norm(xq), self.k_norm(xk)
        if self.rope_base is not None:
            pos = torch.arange(start_pos, start_pos + t, device=x.device)
            xq, xk = apply_rope(xq, pos, self.rope_base), apply_rope(xk, pos, self.rope_base)
        if cache is not None:
            xk, xv = cache.update(xk, xv)
        n_rep = self.num_heads // self.num_kv_heads
        xk = xk.repeat_interleave(n_rep, dim=1)
        xv = xv.repeat_interleave(n_rep, dim=1)
        mask = torch.ones(t, xk.size(2), dtype=torch.bool, device=x.device).tril(diagonal=start_pos)
        out = F.scaled_dot_product_attention(xq, xk, xv, attn_mask=mask)
        out = self.out_proj(out.transpose(1, 2).reshape(b, t, -1))
        return out, cache
