# %% from_zero_again: positions start at 0 in each call; everything else goes on
# expect: positions-restarted
import torch
from torch import nn


class KVCache:
    def __init__(self):
        self.keys = None
        self.values = None

    def update(self, k, v):
        if self.keys is None:
            self.keys, self.values = k.detach(), v.detach()
        else:
            self.keys = torch.cat([self.keys, k.detach()], dim=2)
            self.values = torch.cat([self.values, v.detach()], dim=2)
        return self.keys, self.values


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
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            positions = torch.arange(t, device=x.device)
            q, k = apply_rope(q, positions, self.rope_base), apply_rope(k, positions, self.rope_base)
        if cache is not None:
            k, v = cache.update(k, v)
        s = k.shape[2]
        k = k.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(diagonal=s - t)
        scores = (q @ k.transpose(2, 3) / self.head_dim**0.5).masked_fill(~mask, -torch.inf)
        out = scores.softmax(dim=-1) @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))

# %% in_the_class: the lists stand in the class body, so all caches share them
# expect: shared-by-all-caches
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    """The keys and values of all tokens so far, of one layer and one batch."""

    keys = []
    values = []

    def __init__(self):
        pass

    def __len__(self):
        return sum(k.shape[2] for k in self.keys)

    def add(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)


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
        if x.dim() != 3:
            raise ValueError(f"x should be (b, t, d_model), not {tuple(x.shape)}")
        t = x.shape[1]
        start = 0 if cache is None else len(cache)
        q = self.W_query(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k = self.W_key(x).unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        v = self.W_value(x).unflatten(-1, (self.num_kv_heads, -1)).transpose(1, 2)
        if self.qk_norm:
            q = self.q_norm(q)
            k = self.k_norm(k)
        if self.rope_base is not None:
            pos = torch.arange(start, start + t, device=x.device)
            q = apply_rope(q, pos, self.rope_base)
            k = apply_rope(k, pos, self.rope_base)
        if cache is not None:
            k, v = cache.add(k, v)
        rep = self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
        mask = torch.ones(t, k.shape[2], dtype=torch.bool, device=x.device).tril(start)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(y.transpose(1, 2).flatten(2))

# %% llama_buffers: Llama's way: room for 32 tokens is made once, in float32 and on the CPU; the pair (output, cache) comes back
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

# %% no_mask_in_decode: with a cache nothing is masked (right for one token only); repeated heads are cached
# expect: no-mask-in-later-parts, query-heads-cached
# also: no-mask-with-a-cache
import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    def __init__(self):
        self.keys, self.values, self.length = None, None, 0

    def append(self, keys, values):
        if self.length > 0:
            keys = torch.cat([self.keys, keys], dim=-2)
            values = torch.cat([self.values, values], dim=-2)
        self.keys, self.values = keys, values
        self.length = keys.shape[-2]
        return keys, values


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
        offset = cache.length if cache is not None else 0
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rope_base is not None:
            p = offset + torch.arange(t, device=x.device)
            q, k = apply_rope(q, p, self.rope_base), apply_rope(k, p, self.rope_base)
        k = k.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)
        if cache is not None:
            k, v = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=offset == 0)
        return self.out_proj(y.transpose(1, 2).flatten(2))

# %% turned_again: all keys are turned after they come out of the cache, and the turned ones were put into it, so old keys turn twice
# expect: rotated-further-each-time
# also: rotated-twice
import torch
from torch import nn


class KVCache:
    def __init__(self):
        self.k = None
        self.v = None

    def length(self):
        return 0 if self.k is None else self.k.shape[2]


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
        b, t, d = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
        past = 0
        if cache is not None and cache.k is not None:
            past = cache.length()
            k = torch.cat((cache.k, k), dim=2)
            v = torch.cat((cache.v, v), dim=2)
        s = k.shape[2]
        if self.rope_base is not None:
            q = apply_rope(q, torch.arange(past, s, device=x.device), self.rope_base)
            k = apply_rope(k, torch.arange(s, device=x.device), self.rope_base)
        if cache is not None:
            cache.k, cache.v = k.detach(), v.detach()
        groups = self.num_heads // self.num_kv_heads
        kk = k.repeat_interleave(groups, dim=1)
        vv = v.repeat_interleave(groups, dim=1)
        scores = q @ kk.transpose(-1, -2) / self.head_dim**0.5
        rows = torch.arange(past, s, device=x.device)[:, None]
        columns = torch.arange(s, device=x.device)[None, :]
        scores = scores.masked_fill(columns > rows, -torch.inf)
        y = scores.softmax(-1) @ vv
        return self.out_proj(y.transpose(1, 2).reshape(b, t, self.num_heads * self.head_dim))
