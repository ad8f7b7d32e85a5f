# %% cut_by_view: heads are cut by view(b, h, t, w) without swapping dimensions; a mask buffer of 64 bounds the length
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

# %% norm_after_turn: turned first and normalised afterwards; the scale is that of d_model
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

# %% qwen_names: Hugging Face's names (q_proj, …, o_proj) and Qwen2's biases on queries, keys and values
# expect: names-of-llama, bias-everywhere
# also: layers-made-in-forward
import torch
import torch.nn.functional as F
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads ({num_heads}) must be divisible by num_kv_heads ({num_kv_heads})")
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.head_dim = head_dim if head_dim is not None else d_model // num_heads
        self.rope_base = rope_base
        self.q_proj = nn.Linear(d_model, num_heads * self.head_dim, bias=True)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=True)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=True)
        self.o_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        self.q_norm = RMSNorm(self.head_dim) if qk_norm else None
        self.k_norm = RMSNorm(self.head_dim) if qk_norm else None

    def forward(self, hidden_states):
        bsz, q_len, _ = hidden_states.shape
        hidden_shape = (bsz, q_len, -1, self.head_dim)
        query_states = self.q_proj(hidden_states).view(hidden_shape)
        key_states = self.k_proj(hidden_states).view(hidden_shape)
        value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)
        if self.q_norm is not None:
            query_states = self.q_norm(query_states)
            key_states = self.k_norm(key_states)
        query_states, key_states = query_states.transpose(1, 2), key_states.transpose(1, 2)
        if self.rope_base is not None:
            position_ids = torch.arange(q_len, device=hidden_states.device)
            query_states = apply_rope(query_states, position_ids, self.rope_base)
            key_states = apply_rope(key_states, position_ids, self.rope_base)
        groups = query_states.shape[1] // key_states.shape[1]
        key_states = key_states.repeat_interleave(groups, dim=1)
        value_states = value_states.repeat_interleave(groups, dim=1)
        attn_output = F.scaled_dot_product_attention(query_states, key_states, value_states, is_causal=True)
        attn_output = attn_output.transpose(1, 2).reshape(bsz, q_len, -1)
        return self.o_proj(attn_output)

# %% repeat_tiles: repeat instead of repeat_interleave, so strangers share; nothing refused in the constructor
# expect: heads-tiled, key-heads-not-checked, width-not-checked
# also: more-key-heads-than-heads
import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        self.h, self.g = num_heads, num_kv_heads
        self.w = head_dim or d_model // num_heads
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, self.h * self.w, bias=False)
        self.W_key = nn.Linear(d_model, self.g * self.w, bias=False)
        self.W_value = nn.Linear(d_model, self.g * self.w, bias=False)
        self.out_proj = nn.Linear(self.h * self.w, d_model, bias=False)
        self.qk_norm = qk_norm
        if qk_norm:
            self.q_norm = RMSNorm(self.w)
            self.k_norm = RMSNorm(self.w)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("expected (b, t, d_model)")
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.h, self.w).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.g, self.w).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.g, self.w).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            pos = torch.arange(t, device=x.device)
            q, k = apply_rope(q, pos, self.rope_base), apply_rope(k, pos, self.rope_base)
        k = k.repeat(1, self.h // self.g, 1, 1)
        v = v.repeat(1, self.h // self.g, 1, 1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.w)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool, device=x.device), diagonal=1)
        scores = scores.masked_fill(mask, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, t, self.h * self.w))

# %% turned_before_cut: apply_rope on all heads together, before they are cut; the norms, too, are one for the whole width
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
