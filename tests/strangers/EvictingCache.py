# %% right
import torch
from torch import nn


class EvictingCache:
    def __init__(self, first, window):
        if first < 0:
            raise ValueError(f"first should be 0 or more, got {first}")
        if window < 1:
            raise ValueError(f"window should be 1 or more, got {window}")
        self.first = first
        self.window = window
        self.keys = self.values = None

    def extend(self, keys, values):
        t = keys.shape[2]
        keys, values = keys.detach(), values.detach()
        if self.keys is not None:
            keys = torch.cat([self.keys, keys], dim=2)
            values = torch.cat([self.values, values], dim=2)
        dropped = keys.shape[2] - self.first - self.window
        if dropped > 0:
            if t > 1:
                raise ValueError("several tokens at once would drop something")
            keys = torch.cat([keys[:, :, : self.first], keys[:, :, self.first + dropped :]], dim=2)
            values = torch.cat([values[:, :, : self.first], values[:, :, self.first + dropped :]], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key heads evenly")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        queries = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        if self.rope_base is not None:
            n = keys.shape[2]
            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
        s = keys.shape[2]
        group = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        past = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))

# %% just_a_window: the first tokens are dropped as well: a window alone, of first + window tokens
# expect: first-tokens-dropped
# -            keys = torch.cat([keys[:, :, : self.first], keys[:, :, self.first + dropped :]], dim=2)
# -            values = torch.cat([values[:, :, : self.first], values[:, :, self.first + dropped :]], dim=2)
# +            keys = keys[:, :, dropped:]
# +            values = values[:, :, dropped:]

# %% norm_each_time: keys are cached as they come out of W_key, and normalised in each call after the rotation
# expect: normalised-after-rotation
# -            queries, keys = self.q_norm(queries), self.k_norm(keys)
# +            queries = self.q_norm(queries)

# -            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
# +            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
# +        if self.qk_norm:
# +            keys = self.k_norm(keys)

# %% query_first: the query is always rotated as if it came first, at places 0 to t - 1; keys are placed within the cache
# expect: query-at-place-0
# -            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
# +            queries = apply_rope(queries, torch.arange(t, device=x.device), self.rope_base)

# %% rotated_then_moved: keys are cached rotated for their place at that time, and the query is placed within the cache
# expect: placed-when-it-comes
# -            queries, keys = self.q_norm(queries), self.k_norm(keys)
# +            queries, keys = self.q_norm(queries), self.k_norm(keys)
# +        if self.rope_base is not None:
# +            begin = (
# +                0 if cache is None or cache.keys is None else min(cache.keys.shape[2], cache.first + cache.window - 1)
# +            )
# +            places = torch.arange(begin, begin + t, device=x.device)
# +            queries, keys = apply_rope(queries, places, self.rope_base), apply_rope(keys, places, self.rope_base)

# -        if self.rope_base is not None:
# -            n = keys.shape[2]
# -            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
# -            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)

# %% sink_cache: the kept keys stand within the cache, but the new query and key keep their place in the text, as in the cache with sinks of a library
# expect: new-key-at-its-place-in-the-text
# -        self.keys = self.values = None
# +        self.keys = self.values = None
# +        self.seen = 0

# -        t = keys.shape[2]
# +        t = keys.shape[2]
# +        self.seen += t

# -            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
# -            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
# +            places = torch.arange(n, device=x.device)
# +            if cache is not None:
# +                places[n - t :] = torch.arange(cache.seen - t, cache.seen, device=x.device)
# +            queries = apply_rope(queries, places[n - t :], self.rope_base)
# +            keys = apply_rope(keys, places, self.rope_base)

# %% values_not_dropped: keys are dropped after the first ones, values from the beginning
# expect: values-not-dropped-alike
# -            values = torch.cat([values[:, :, : self.first], values[:, :, self.first + dropped :]], dim=2)
# +            values = values[:, :, dropped:]

# %% window_behind_new: the window does not count the new token: first + window + 1 are kept
# expect: one-too-many
# -        dropped = keys.shape[2] - self.first - self.window
# +        dropped = keys.shape[2] - self.first - self.window - 1

# %% drops_after: the new tokens are put in and attended to first, and only then something is dropped, so one token too many is seen; and chunks that drop something are taken
# expect: dropped-after-attention, chunks-taken
import torch
from torch import nn


class EvictingCache:
    def __init__(self, first, window):
        if first < 0 or window < 1:
            raise ValueError("first must be >= 0 and window >= 1")
        self.first, self.window = first, window
        self.k = self.v = None

    def extend(self, keys, values):
        if self.k is None:
            k, v = keys.detach(), values.detach()
        else:
            k, v = torch.cat([self.k, keys.detach()], 2), torch.cat([self.v, values.detach()], 2)
        n, room = k.shape[2], self.first + self.window
        if n > room:
            keep = list(range(self.first)) + list(range(n - self.window, n))
            self.k, self.v = k[:, :, keep], v[:, :, keep]
        else:
            self.k, self.v = k, v
        return k, v


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key heads evenly")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        queries = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        if self.rope_base is not None:
            n = keys.shape[2]
            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
        s = keys.shape[2]
        group = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        past = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))

# %% error_too_late: the cache is changed before the ValueError is raised; sizes are not looked at
# expect: changed-before-refusing, sizes-not-refused
import torch
from torch import nn


class EvictingCache:
    def __init__(self, first, window):
        self.first, self.window = first, window
        self.keys = self.values = None

    def extend(self, keys, values):
        new = keys.shape[2]
        if self.keys is None:
            self.keys, self.values = keys.detach(), values.detach()
        else:
            self.keys = torch.cat([self.keys, keys.detach()], dim=2)
            self.values = torch.cat([self.values, values.detach()], dim=2)
        over = self.keys.shape[2] - (self.first + self.window)
        if over > 0 and new > 1:
            raise ValueError(f"{over} tokens would be dropped")
        if over > 0:
            self.keys = torch.cat([self.keys[:, :, : self.first], self.keys[:, :, -self.window :]], dim=2)
            self.values = torch.cat([self.values[:, :, : self.first], self.values[:, :, -self.window :]], dim=2)
        return self.keys, self.values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} query heads can't share {num_kv_heads} key heads evenly")
        if head_dim is None and d_model % num_heads:
            raise ValueError(f"d_model = {d_model} can't be divided among {num_heads} heads")
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.head_dim = d_model // num_heads if head_dim is None else head_dim
        self.rope_base, self.qk_norm = rope_base, qk_norm
        self.W_query = nn.Linear(d_model, num_heads * self.head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * self.head_dim, d_model, bias=False)
        if qk_norm:
            self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        queries = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        keys = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if self.qk_norm:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        if self.rope_base is not None:
            n = keys.shape[2]
            queries = apply_rope(queries, torch.arange(n - t, n, device=x.device), self.rope_base)
            keys = apply_rope(keys, torch.arange(n, device=x.device), self.rope_base)
        s = keys.shape[2]
        group = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(group, dim=1), values.repeat_interleave(group, dim=1)
        scores = queries @ keys.transpose(2, 3) / self.head_dim**0.5
        past = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~past, -torch.inf).softmax(dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))
