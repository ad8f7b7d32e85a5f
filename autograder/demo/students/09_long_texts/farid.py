# repeats heads before it caches them, caps after the mask, and never shrinks what came before
# expect: KVCache = partial query-heads-cached
# expect: cached_attention = partial shifted-the-wrong-way
# expect: sliding_window_mask = full
# expect: alibi_bias = partial sign
# expect: capped_attention = partial cap-after-mask
# expect: sink_attention = partial one-sink-for-all-heads
# expect: merge = partial nan-with-two-empty-sides largest-not-subtracted
# expect: tiled_attention = partial nothing-rescaled
# expect: LatentAttention = partial scale-by-latent-dim-when-absorbed

# %% KVCache
class RMSNorm(nn.Module):
    """My norm of lesson 08."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        wide = x.double() if x.dtype == torch.float64 else x.float()
        normed = wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + self.eps)
        return normed.to(x.dtype) * self.weight


def apply_rope(x, positions, base=10000.0):
    """My rotation of lesson 08."""
    d = x.shape[-1]
    if d % 2 != 0:
        raise ValueError(f"the width must be even, got {d}")
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    inverse = 1.0 / base ** (torch.arange(0, d, 2, dtype=dtype, device=x.device) / d)
    angles = positions.to(device=x.device, dtype=dtype).unsqueeze(-1) * inverse
    while angles.dim() < x.dim() and positions.dim() == 2:
        angles = angles.unsqueeze(1)
    cos, sin = angles.cos(), angles.sin()
    half = d // 2
    x1, x2 = x[..., :half].to(dtype), x[..., half:].to(dtype)
    return torch.cat((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).to(x.dtype)


class KVCache:
    """Lists of what came, one entry for each call."""

    def __init__(self):
        self.keys, self.values, self.tokens = [], [], 0

    def append(self, keys, values):
        self.keys.append(keys.detach())
        self.values.append(values.detach())
        self.tokens += keys.shape[2]

    def all(self):
        return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads = {num_heads} is not a multiple of num_kv_heads = {num_kv_heads}")
        if head_dim is None:
            if d_model % num_heads != 0:
                raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
            head_dim = d_model // num_heads
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.rope_base = rope_base
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)
        self.q_norm = RMSNorm(head_dim) if qk_norm else None
        self.k_norm = RMSNorm(head_dim) if qk_norm else None

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        queries = self.W_query(x).reshape(b, t, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        keys = self.W_key(x).reshape(b, t, self.num_kv_heads, self.head_dim).permute(0, 2, 1, 3)
        values = self.W_value(x).reshape(b, t, self.num_kv_heads, self.head_dim).permute(0, 2, 1, 3)
        if self.q_norm is not None:
            queries, keys = self.q_norm(queries), self.k_norm(keys)
        before = cache.tokens if cache is not None else 0
        if self.rope_base is not None:
            positions = before + torch.arange(t, device=x.device)
            queries = apply_rope(queries, positions, self.rope_base)
            keys = apply_rope(keys, positions, self.rope_base)
        times = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(times, dim=1), values.repeat_interleave(times, dim=1)
        if cache is not None:
            cache.append(keys, values)
            keys, values = cache.all()
        scores = (queries * self.head_dim**-0.5) @ keys.transpose(-2, -1)
        places = torch.arange(before, before + t, device=x.device)
        hidden = torch.arange(before + t, device=x.device) > places[:, None]
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return self.out_proj((weights @ values).permute(0, 2, 1, 3).reshape(b, t, -1))

# %% cached_attention
def cached_attention(query, key, value):
    t, s = query.shape[2], key.shape[2]
    if t > s:
        raise ValueError(f"{t} queries can't be the last of {s} places")
    later = torch.ones(t, s, dtype=torch.bool, device=query.device).triu(t - s + 1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=~later)

# %% sliding_window_mask
def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"window {window}")
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - window)

# %% alibi_bias
def alibi_bias(num_heads, t):
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)] + [2 ** (-4 * i / n) for i in range(1, 2 * n, 2)]
    i = torch.arange(t)
    return torch.tensor(slopes[:num_heads])[:, None, None] * (i[:, None] - i)

# %% capped_attention
def capped_attention(query, key, value, cap, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    scores = cap * torch.tanh(scores / cap)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights

# %% sink_attention
def sink_attention(query, key, value, sink, mask=None):
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    logits = sink.to(scores.dtype)[None, None, None, :1]
    largest = torch.maximum(scores.amax(dim=-1, keepdim=True), logits).detach()
    exponentials = torch.exp(scores - largest)
    weights = exponentials / (exponentials.sum(dim=-1, keepdim=True) + torch.exp(logits - largest))
    return weights @ value, weights

# %% merge
def merge(output_a, lse_a, output_b, lse_b):
    a, b = lse_a.exp()[..., None], lse_b.exp()[..., None]
    return (a * output_a + b * output_b) / (a + b), torch.log(a + b)[..., 0]

# %% tiled_attention
def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size must be 1 or more, got {block_size}")
    t, s, scale = q.shape[-2], k.shape[-2], q.shape[-1] ** -0.5
    queries = torch.arange(t, device=q.device).unsqueeze(1)
    maximum = torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)
    total = torch.zeros(q.shape[:-1], dtype=q.dtype, device=q.device)
    output = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype, device=q.device)
    start = 0
    while start < s:
        stop = min(start + block_size, s)
        scores = (q * scale) @ k[..., start:stop, :].transpose(-2, -1)
        if causal:
            hidden = torch.arange(start, stop, device=q.device) > queries
            scores = scores.masked_fill(hidden, float("-inf"))
        new_maximum = torch.maximum(maximum, scores.max(dim=-1).values)
        exponentials = torch.exp(scores - new_maximum.unsqueeze(-1))
        total = total + exponentials.sum(dim=-1)
        output = output + exponentials @ v[..., start:stop, :]
        maximum = new_maximum
        start = stop
    return output / torch.where(total == 0, 1.0, total).unsqueeze(-1)

# %% LatentAttention
class LatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.h, self.w = num_heads, head_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key, self.W_up_value = (nn.Linear(latent_dim, num_heads * head_dim, bias=False) for _ in range(2))
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, d_model), got {tuple(x.shape)}")
        c = self.W_down(x)
        q, k, v = (z.unflatten(2, (self.h, self.w)).transpose(1, 2)
                   for z in (self.W_query(x), self.W_up_key(c), self.W_up_value(c)))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))

    def absorbed(self, x):
        if x.dim() != 3:
            raise ValueError(f"expected (b, t, d_model), got {tuple(x.shape)}")
        c = self.W_down(x)[:, None]                                                  # (b, 1, t, l)
        up_k, up_v = (W.weight.unflatten(0, (self.h, self.w)) for W in (self.W_up_key, self.W_up_value))  # (h, w, l)
        q = self.W_query(x).unflatten(2, (self.h, self.w)).transpose(1, 2) @ up_k    # (b, h, t, l)
        found = F.scaled_dot_product_attention(q, c.expand_as(q), c.expand_as(q), is_causal=True)
        return self.out_proj((found @ up_v.mT).transpose(1, 2).flatten(2))
