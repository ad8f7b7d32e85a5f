# wrong: apply_rope on all heads together, before they are cut; the norms, too, are one for the whole width
# expect: turned-before-the-cut, norms-of-all-heads-together
import torch
import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"{num_heads} % {num_kv_heads} != 0")
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        if head_dim is None:
            head_dim = d_model // num_heads
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.rope_base = rope_base
        self.qk_norm = qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if self.qk_norm:
            self.q_norm = RMSNorm(num_heads * head_dim)
            self.k_norm = RMSNorm(num_kv_heads * head_dim)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        if self.qk_norm:
            q = self.q_norm(q)
            k = self.k_norm(k)
        if self.rope_base is not None:
            pos = torch.arange(0, T, device=x.device)
            q = apply_rope(q, pos, self.rope_base)
            k = apply_rope(k, pos, self.rope_base)
        q = q.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(B, T, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = v.view(B, T, self.num_kv_heads, self.head_dim).transpose(1, 2)
        n = self.num_heads // self.num_kv_heads
        k = torch.repeat_interleave(k, n, dim=1)
        v = torch.repeat_interleave(v, n, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, self.num_heads * self.head_dim)
        return self.out_proj(y)
