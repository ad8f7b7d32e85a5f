# wrong: turned first and normalised afterwards; the scale is that of d_model
# expect: norms-after-the-rotation, scale-by-input-width
import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_kv_heads} key heads do not divide {num_heads} heads")
        if head_dim is None:
            if d_model % num_heads:
                raise ValueError(f"{num_heads} heads do not divide {d_model}")
            head_dim = d_model // num_heads
        self.d_model, self.num_heads, self.num_kv_heads, self.head_dim = d_model, num_heads, num_kv_heads, head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm = RMSNorm(head_dim)
            self.k_norm = RMSNorm(head_dim)

    def forward(self, x):
        b, t, d = x.shape
        queries = self.W_query(x).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
        keys = self.W_key(x).unflatten(-1, (self.num_kv_heads, self.head_dim)).transpose(1, 2)
        values = self.W_value(x).unflatten(-1, (self.num_kv_heads, self.head_dim)).transpose(1, 2)
        if self.rope_base is not None:
            places = torch.arange(t, device=x.device)
            queries = apply_rope(queries, places, self.rope_base)
            keys = apply_rope(keys, places, self.rope_base)
        if self.qk_norm:
            queries = self.q_norm(queries)
            keys = self.k_norm(keys)
        share = self.num_heads // self.num_kv_heads
        keys = keys.repeat_interleave(share, dim=1)
        values = values.repeat_interleave(share, dim=1)
        scores = queries @ keys.mT / self.d_model**0.5
        causal = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~causal, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))
