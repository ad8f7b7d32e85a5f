# %% right
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


class KVCache:
    def __init__(self):
        self.keys, self.values = None, None

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def extend(self, keys, values):
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            k, v = cache.extend(k, v)
        s, group = k.shape[2], self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = q @ k.mT / self.head_dim**0.5
        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        out = weights @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        d = 32
        self.embedding = nn.Embedding(vocab_size, d)
        nn.init.normal_(self.embedding.weight, std=0.5)
        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(2))
        self.mlp = nn.ModuleList(SwiGLU(d, 64) for _ in range(2))
        self.norm1 = nn.ModuleList(RMSNorm(d) for _ in range(2))
        self.norm2 = nn.ModuleList(RMSNorm(d) for _ in range(2))
        self.norm = RMSNorm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def through(self, idx, caches):
        x = self.embedding(idx)
        for att, mlp, n1, n2, cache in zip(self.attention, self.mlp, self.norm1, self.norm2, caches):
            x = x + att(n1(x), cache)
            x = x + mlp(n2(x))
        return self.head(self.norm(x))

    def forward(self, idx):
        return self.through(idx, [None, None])

    def step(self, token, state=None):
        caches = [KVCache(), KVCache()]
        if state is not None:
            for i, cache in enumerate(caches):
                cache.keys, cache.values = state[2 * i], state[2 * i + 1]
        logits = self.through(token[:, None], caches)
        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]

# %% cache_of_all_heads: each of the 4 heads has a key head of its own in 2 layers: 512 bytes of state a token
# expect: too-many-bytes
# -        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(2))
# +        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 4) for _ in range(2))

# %% class_attribute: the caches are a list in the class, shared by all models and texts; the state that comes in is ignored
# expect: kept-in-an-attribute
# -class MyModel(nn.Module):
# +class MyModel(nn.Module):
# +    caches = [KVCache(), KVCache()]
# +

# -        caches = [KVCache(), KVCache()]
# -        if state is not None:
# -            for i, cache in enumerate(caches):
# -                cache.keys, cache.values = state[2 * i], state[2 * i + 1]
# -        logits = self.through(token[:, None], caches)
# -        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]
# +        if state is None:
# +            for cache in self.caches:
# +                cache.__init__()
# +        logits = self.through(token[:, None], self.caches)
# +        return logits[:, 0], [x for cache in self.caches for x in (cache.keys, cache.values)]

# %% counter_in_self: caches are in the state, but the position of the next token is counted in self.pos: hidden memory
# expect: kept-in-an-attribute
# -        nn.init.normal_(self.embedding.weight, std=0.5)
# +        nn.init.normal_(self.embedding.weight, std=0.5)
# +        self.wpe = nn.Embedding(64, d)
# +        nn.init.normal_(self.wpe.weight, std=0.02)
# +        self.pos = 0

# -    def through(self, idx, caches):
# -        x = self.embedding(idx)
# +    def through(self, idx, caches, start=0):
# +        positions = torch.arange(start, start + idx.shape[1], device=idx.device)
# +        x = self.embedding(idx) + self.wpe(positions)

# -        caches = [KVCache(), KVCache()]
# +        caches = [KVCache(), KVCache()]
# +        if state is None:
# +            self.pos = 0

# -        logits = self.through(token[:, None], caches)
# +        logits = self.through(token[:, None], caches, self.pos)
# +        self.pos += 1

# %% functional_dropout: F.dropout without training=self.training: it goes on in eval mode, in forward and step
# expect: random-in-eval
# also: stands-on-GroupedQueryAttention
# -        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +        weights = F.dropout(weights, 0.1)

# %% heads_not_swapped_back: the heads are merged by reshape without swapping back: numbers of different tokens are mixed in forward
# expect: not-causal
# also: stands-on-GroupedQueryAttention
# -        return self.out_proj(out.transpose(1, 2).flatten(2))
# +        return self.out_proj(out.reshape(b, t, -1))

# %% no_mask: forward has no causal mask: every token sees the later ones
# expect: not-causal
# also: stands-on-GroupedQueryAttention
# -        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
# -        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
# +        weights = scores.softmax(dim=-1)

# %% no_residual_no_init_short_positions: two mistakes: no residual connections, and positions for 32 tokens only, so that 64 tokens end in an IndexError
# expect: ?
# also: fact-beyond-the-last
# -        nn.init.normal_(self.embedding.weight, std=0.5)
# +        nn.init.normal_(self.embedding.weight, std=0.5)
# +        self.pos_emb = nn.Embedding(32, d)

# -        x = self.embedding(idx)
# +        start = 0 if caches[0] is None else caches[0].length
# +        x = self.embedding(idx) + self.pos_emb(torch.arange(start, start + idx.shape[1]))

# -            x = x + att(n1(x), cache)
# -            x = x + mlp(n2(x))
# +            x = att(n1(x), cache)
# +            x = mlp(n2(x))

# %% norm_over_tokens: the norm divides by the mean over the tokens (dim=1), not over the features: not causal, and other in step
# expect: not-causal
# also: stands-on-RMSNorm
# -        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight
# +        return x * (x.pow(2).mean(dim=1, keepdim=True) + self.eps).rsqrt() * self.weight

# %% positions_restart: learned positions: in step every token gets position 0
# expect: ?
# -        nn.init.normal_(self.embedding.weight, std=0.5)
# +        nn.init.normal_(self.embedding.weight, std=0.5)
# +        self.position = nn.Embedding(64, d)
# +        nn.init.normal_(self.position.weight, std=0.1)

# -        x = self.embedding(idx)
# +        x = self.embedding(idx) + self.position(torch.arange(idx.shape[1], device=idx.device))

# %% probabilities: forward and step return probabilities (a softmax at the end), which cross_entropy takes for logits
# expect: probabilities-returned
# -        return self.head(self.norm(x))
# +        return self.head(self.norm(x)).softmax(dim=-1)

# %% same_layer_eight_times: one layer used 8 times: few weights, but far more than 250,000 multiplications a token (and a cache for each round)
# expect: too-many-products
# also: too-many-bytes
# -class MyModel(nn.Module):
# +class MyModel(nn.Module):
# +    """A universal transformer: the same block again and again, so that few weights go deep."""
# +
# +    ROUNDS = 8
# +

# -        d = 32
# -        self.embedding = nn.Embedding(vocab_size, d)
# -        nn.init.normal_(self.embedding.weight, std=0.5)
# -        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(2))
# -        self.mlp = nn.ModuleList(SwiGLU(d, 64) for _ in range(2))
# -        self.norm1 = nn.ModuleList(RMSNorm(d) for _ in range(2))
# -        self.norm2 = nn.ModuleList(RMSNorm(d) for _ in range(2))
# -        self.norm = RMSNorm(d)
# -        self.head = nn.Linear(d, vocab_size, bias=False)
# +        self.embed = nn.Embedding(vocab_size, 32)
# +        nn.init.normal_(self.embed.weight, std=0.5)
# +        self.n1, self.n2, self.nf = RMSNorm(32), RMSNorm(32), RMSNorm(32)
# +        self.attention, self.mlp = GroupedQueryAttention(32, 4, 1), SwiGLU(32, 64)
# +        self.logits = nn.Linear(32, vocab_size, bias=False)

# -        x = self.embedding(idx)
# -        for att, mlp, n1, n2, cache in zip(self.attention, self.mlp, self.norm1, self.norm2, caches):
# -            x = x + att(n1(x), cache)
# -            x = x + mlp(n2(x))
# -        return self.head(self.norm(x))
# +        x = self.embed(idx)
# +        for cache in caches:
# +            x = x + self.attention(self.n1(x), cache)
# +            x = x + self.mlp(self.n2(x))
# +        return self.logits(self.nf(x))

# -        return self.through(idx, [None, None])
# +        return self.through(idx, [None] * self.ROUNDS)

# -        caches = [KVCache(), KVCache()]
# -        if state is not None:
# -            for i, cache in enumerate(caches):
# -                cache.keys, cache.values = state[2 * i], state[2 * i + 1]
# -        logits = self.through(token[:, None], caches)
# -        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]
# +        caches = [KVCache() for _ in range(self.ROUNDS)]
# +        for n, cache in enumerate(caches):
# +            if state is not None:
# +                cache.keys, cache.values = state[2 * n : 2 * n + 2]
# +        out = self.through(token[:, None], caches)[:, 0]
# +        return out, sum(([c.keys, c.values] for c in caches), [])

# %% sees_only_the_past: in step the cache gives back the keys before the new one is added: the token does not see itself
# expect: stands-on-KVCache
# -        if self.keys is not None:
# -            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
# -        self.keys, self.values = keys, values
# -        return keys, values
# +        if self.keys is None:
# +            self.keys, self.values = keys, values
# +            return keys, values
# +        old_keys, old_values = self.keys, self.values
# +        self.keys, self.values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
# +        return old_keys, old_values

# -        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
# +        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(max(s - t, 0)) if t > 1 else torch.ones(t, s, dtype=torch.bool)

# %% state_not_put_back: step makes new caches and never fills them from the state: each token sees itself only
# expect: state-not-used
# -        if state is not None:
# -            for i, cache in enumerate(caches):
# -                cache.keys, cache.values = state[2 * i], state[2 * i + 1]

# %% state_of_caches: the state is a list of KVCache objects, not of tensors
# expect: objects-in-the-state
# -        caches = [KVCache(), KVCache()]
# -        if state is not None:
# -            for i, cache in enumerate(caches):
# -                cache.keys, cache.values = state[2 * i], state[2 * i + 1]
# -        logits = self.through(token[:, None], caches)
# -        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]
# +        if state is None:
# +            state = [KVCache() for _ in self.attention]
# +        logits = self.through(token[:, None], state)
# +        return logits[:, 0], state

# %% step_keeps_time: step returns logits (b, 1, vocab_size), not (b, vocab_size)
# expect: logits-with-a-place
# -        return logits[:, 0], [x for cache in caches for x in (cache.keys, cache.values)]
# +        return logits, [x for cache in caches for x in (cache.keys, cache.values)]

# %% too_wide: width 64 and 3 layers: more than 30,000 weights (and multiplications)
# expect: too-many-weights
# also: too-many-products
# -        d = 32
# +        d = 64

# -        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(2))
# -        self.mlp = nn.ModuleList(SwiGLU(d, 64) for _ in range(2))
# -        self.norm1 = nn.ModuleList(RMSNorm(d) for _ in range(2))
# -        self.norm2 = nn.ModuleList(RMSNorm(d) for _ in range(2))
# +        self.attention = nn.ModuleList(GroupedQueryAttention(d, 4, 1) for _ in range(3))
# +        self.mlp = nn.ModuleList(SwiGLU(d, 128) for _ in range(3))
# +        self.norm1 = nn.ModuleList(RMSNorm(d) for _ in range(3))
# +        self.norm2 = nn.ModuleList(RMSNorm(d) for _ in range(3))

# -        return self.through(idx, [None, None])
# +        return self.through(idx, [None] * 3)

# -        caches = [KVCache(), KVCache()]
# +        caches = [KVCache() for _ in range(3)]

# %% caches_in_layers: keys and values are remembered in attributes of the layers; the state is only a list with the number of tokens
# expect: kept-in-an-attribute
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))



class Attention(nn.Module):
    """4 query heads, 1 key head; remembers by itself while it generates."""

    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * (d // 4), bias=False), nn.Linear(d, d, bias=False)
        self.k_cache = self.v_cache = None

    def forward(self, x, use_cache=False):
        B, T, C = x.shape
        q = self.q(x).view(B, T, 4, C // 4).transpose(1, 2)
        k, v = self.kv(x).unsqueeze(1).chunk(2, dim=-1)
        if use_cache:
            if self.k_cache is not None:
                k = torch.cat([self.k_cache, k], dim=2)
                v = torch.cat([self.v_cache, v], dim=2)
            self.k_cache, self.v_cache = k, v
        S = k.size(2)
        att = q @ k.transpose(-2, -1) / math.sqrt(C // 4)
        att = att.masked_fill(torch.triu(torch.ones(T, S, dtype=torch.bool), S - T + 1), float("-inf"))
        y = att.softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = RMSNorm(d), Attention(d), RMSNorm(d), SwiGLU(d, 64)

    def forward(self, x, use_cache=False):
        x = x + self.attn(self.ln_1(x), use_cache)
        return x + self.mlp(self.ln_2(x))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.wte.weight, std=0.5)
        self.h = nn.ModuleList([Block(32), Block(32)])
        self.ln_f = RMSNorm(32)
        self.lm_head = nn.Linear(32, vocab_size, bias=False)

    def forward(self, idx, use_cache=False):
        x = self.wte(idx)
        for block in self.h:
            x = block(x, use_cache)
        return self.lm_head(self.ln_f(x))

    def step(self, token, state=None):
        if state is None:  # a new text
            for block in self.h:
                block.attn.k_cache = block.attn.v_cache = None
            state = [torch.zeros(1)]
        logits = self.forward(token[:, None], use_cache=True)
        return logits[:, -1], [state[0] + 1]

# %% gru: no attention: a small GRU, which keeps to the budget but can't remember eight facts well enough in so few steps
# expect: ?
import math

import torch
from torch import nn
import torch.nn.functional as F


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        self.gru = nn.GRU(32, 48, batch_first=True)
        self.out = nn.Linear(48, vocab_size)

    def forward(self, idx):
        y, _ = self.gru(self.emb(idx))
        return self.out(y)

    def step(self, token, state=None):
        y, h = self.gru(self.emb(token[:, None]), state[0] if state else None)
        return self.out(y[:, 0]), [h]

# %% is_causal_in_step: is_causal=True also for one query and s keys: the mask is aligned at the top left, so in step a token sees the first key only
# expect: first-key-alone
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))



class Attn(nn.Module):
    def __init__(self, n_embd=32, n_head=4):
        super().__init__()
        self.n_head = n_head
        self.c_q = nn.Linear(n_embd, n_embd, bias=False)
        self.c_kv = nn.Linear(n_embd, 2 * n_embd // n_head, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x, past=None):
        B, T, C = x.size()
        q = self.c_q(x).view(B, T, self.n_head, -1).transpose(1, 2)
        k, v = self.c_kv(x).chunk(2, dim=2)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=1), torch.cat([past[1], v], dim=1)
        kk, vv = k[:, None].expand(-1, self.n_head, -1, -1), v[:, None].expand(-1, self.n_head, -1, -1)
        y = F.scaled_dot_product_attention(q, kk, vv, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)), [k, v]


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(n1=RMSNorm(32), a=Attn(), n2=RMSNorm(32), m=SwiGLU(32, 64))) for _ in range(2))
        self.norm = RMSNorm(32)
        self.unembed = nn.Linear(32, vocab_size, bias=False)

    def _go(self, idx, past):
        x, present = self.emb(idx), []
        for b, p in zip(self.blocks, past):
            y, p = b.a(b.n1(x), p)
            present += p
            x = x + y
            x = x + b.m(b.n2(x))
        return self.unembed(self.norm(x)), present

    def forward(self, idx):
        logits, _ = self._go(idx, (None, None))
        return logits

    def step(self, token, state=None):
        past = (None, None) if state is None else (state[:2], state[2:])
        logits, state = self._go(token[:, None], past)
        return logits[:, -1], state

# %% layers_in_a_list: the layers are in a Python list: their weights are not registered, not trained and not in state_dict
# expect: layers-not-registered
import math

import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.W_gate = nn.Linear(d, hidden, bias=False)
        self.W_up = nn.Linear(d, hidden, bias=False)
        self.W_down = nn.Linear(hidden, d, bias=False)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


class KVCache:
    def __init__(self):
        self.keys, self.values = None, None

    @property
    def length(self):
        return 0 if self.keys is None else self.keys.shape[2]

    def extend(self, keys, values):
        if self.keys is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q = self.W_query(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(x).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        if cache is not None:
            k, v = cache.extend(k, v)
        s, group = k.shape[2], self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = q @ k.mT / self.head_dim**0.5
        mask = torch.ones(t, s, dtype=torch.bool, device=x.device).tril(s - t)
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        out = weights @ v
        return self.out_proj(out.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att, self.mlp = GroupedQueryAttention(d, 4, 1), SwiGLU(d, 64)
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)

    def forward(self, x, cache):
        x = x + self.att(self.n1(x), cache)
        return x + self.mlp(self.n2(x))


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.tok.weight, 0.0, 0.5)
        self.blocks = [Block(32) for _ in range(2)]
        self.norm = RMSNorm(32)
        self.head = nn.Linear(32, vocab_size, bias=False)

    def forward(self, idx):
        return self.through(idx, [None] * len(self.blocks))

    def step(self, token, state=None):
        caches = [KVCache() for _ in self.blocks]
        if state:
            for n, cache in enumerate(caches):
                cache.keys = state[n]
                cache.values = state[n + len(caches)]
        logits = self.through(token.view(-1, 1), caches)[:, -1, :]
        return logits, [c.keys for c in caches] + [c.values for c in caches]

    def through(self, idx, caches):
        x = self.tok(idx)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache)
        return self.head(self.norm(x))

# %% normaliser_not_in_state: linear attention: the state has the matrix only; the sum of the keys, by which it divides, starts anew in each step
# expect: ?
import math

import torch
from torch import nn
import torch.nn.functional as F


def phi(x):
    return F.elu(x) + 1


class LinearAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.w = h, d // h
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, S=None):
        b, t, d = x.shape
        q, k, v = (W(x).view(b, t, self.h, self.w).transpose(1, 2) for W in (self.Wq, self.Wk, self.Wv))
        q, k = phi(q), phi(k)
        if S is None:
            S = torch.zeros(b, self.h, self.w, self.w)
        z = torch.zeros(b, self.h, self.w)
        outs = []
        for i in range(t):
            S = S + k[:, :, i, :, None] * v[:, :, i, None, :]
            z = z + k[:, :, i]
            outs.append((q[:, :, i, None] @ S)[:, :, 0] / (q[:, :, i] * z).sum(-1, keepdim=True))
        y = torch.stack(outs, dim=2)
        return self.Wo(y.transpose(1, 2).reshape(b, t, d)), S


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.a = nn.ModuleList(LinearAttention(32, 4) for _ in range(2))
        self.n = nn.ModuleList(nn.LayerNorm(32) for _ in range(5))
        self.f = nn.ModuleList(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)) for _ in range(2))
        self.out = nn.Linear(32, vocab_size)

    def both(self, idx, state):
        x, new = self.emb(idx), []
        for i in range(2):
            y, S = self.a[i](self.n[2 * i](x), state[i])
            new.append(S)
            x = x + y
            x = x + self.f[i](self.n[2 * i + 1](x))
        return self.out(self.n[4](x)), new

    def forward(self, idx):
        return self.both(idx, [None, None])[0]

    def step(self, token, state=None):
        y, new = self.both(token[:, None], state or [None, None])
        return y[:, 0], new

# %% softmax_over_queries: the softmax goes over the queries (dim=2), not over the keys
# expect: not-causal
import math

import torch
from torch import nn
import torch.nn.functional as F


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class MyModel(nn.Module):
    """One class for everything; 2 layers, width 32, multi-query attention."""

    def __init__(self, vocab_size):
        super().__init__()
        self.d, self.heads, self.w = 32, 4, 8
        self.emb = nn.Parameter(torch.randn(vocab_size, self.d) * 0.5)
        for i in range(2):
            setattr(self, f"qkv{i}", nn.Linear(self.d, self.d + 2 * self.w, bias=False))
            setattr(self, f"o{i}", nn.Linear(self.d, self.d, bias=False))
            setattr(self, f"up{i}", nn.Linear(self.d, 96, bias=False))
            setattr(self, f"down{i}", nn.Linear(96, self.d, bias=False))
        self.out = nn.Linear(self.d, vocab_size, bias=False)

    def run(self, idx, state):
        x = self.emb[idx]
        b, t = idx.shape
        new = []
        for i in range(2):
            q, k, v = getattr(self, f"qkv{i}")(rms(x)).split([self.d, self.w, self.w], dim=-1)
            if state is not None:
                k = torch.cat((state[2 * i], k), 1)
                v = torch.cat((state[2 * i + 1], v), 1)
            new += [k, v]
            s = k.shape[1]
            z = torch.einsum("bthw,bsw->bhts", q.reshape(b, t, self.heads, self.w), k) / self.w**0.5
            z = z.masked_fill(torch.ones(t, s, dtype=torch.bool).triu(s - t + 1), -1e9)
            a = z.softmax(dim=2)
            y = torch.einsum("bhts,bsw->bthw", a, v).reshape(b, t, self.d)
            x = x + getattr(self, f"o{i}")(y)
            x = x + getattr(self, f"down{i}")(F.gelu(getattr(self, f"up{i}")(rms(x))))
        return self.out(rms(x)), new

    def forward(self, idx):
        return self.run(idx, None)[0]

    def step(self, token, state=None):
        logits, state = self.run(token.unsqueeze(1), state)
        return logits.squeeze(1), state

# %% window_16: attention with a window of 16: it fits the budget and forgets the facts
# expect: window-of-16
import math

import torch
from torch import nn
import torch.nn.functional as F


class Window(nn.Module):
    """Sliding window attention: each token sees the last 16."""

    SIZE = 16

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.w = heads, d // heads
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.proj = nn.Linear(d, d, bias=False)

    def forward(self, x, past=None):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, self.w).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        s = k.shape[2]
        behind = torch.arange(s - t, s)[:, None] - torch.arange(s)[None]
        see = (behind >= 0) & (behind < self.SIZE)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=see)
        return self.proj(y.transpose(1, 2).reshape(b, t, d)), (k[:, :, -self.SIZE:], v[:, :, -self.SIZE:])


class MyModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 32)
        nn.init.normal_(self.emb.weight, std=0.5)
        self.att = nn.ModuleList([Window(32, 4) for _ in range(2)])
        self.ln = nn.ModuleList([nn.LayerNorm(32) for _ in range(4)])
        self.ff = nn.ModuleList([nn.Sequential(nn.Linear(32, 96), nn.GELU(), nn.Linear(96, 32)) for _ in range(2)])
        self.ln_f = nn.LayerNorm(32)
        self.head = nn.Linear(32, vocab_size)

    def layers(self, idx, past):
        x, now = self.emb(idx), []
        for i in range(2):
            y, kv = self.att[i](self.ln[2 * i](x), None if past is None else past[2 * i : 2 * i + 2])
            x = x + y
            x = x + self.ff[i](self.ln[2 * i + 1](x))
            now.extend(kv)
        return self.head(self.ln_f(x)), now

    def forward(self, idx):
        return self.layers(idx, None)[0]

    def step(self, token, state=None):
        logits, state = self.layers(token[:, None], state)
        return logits[:, 0], state
