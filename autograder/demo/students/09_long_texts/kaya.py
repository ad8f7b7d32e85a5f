# had time for the first half, and got it right
# expect: KVCache = full
# expect: cached_attention = full
# expect: sliding_window_mask = full
# expect: alibi_bias = full
# expect: capped_attention = full
# expect: sink_attention = zero
# expect: merge = zero
# expect: tiled_attention = zero
# expect: LatentAttention = zero

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
        if cache is not None:
            cache.append(keys, values)
            keys, values = cache.all()
        times = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(times, dim=1), values.repeat_interleave(times, dim=1)
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
    later = torch.ones(t, s, dtype=torch.bool, device=query.device).triu(s - t + 1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=~later)

# %% sliding_window_mask
def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"the window must be 1 or more, got {window}")
    mask = torch.zeros(t, t, dtype=torch.bool)
    for i in range(t):
        mask[i, max(0, i - window + 1) : i + 1] = True
    return mask

# %% alibi_bias
def alibi_bias(num_heads, t):
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)] + [2 ** (-4 * i / n) for i in range(1, 2 * n, 2)]
    i = torch.arange(t)
    return torch.tensor(slopes[:num_heads])[:, None, None] * (i - i[:, None])

# %% capped_attention
def capped_attention(query, key, value, cap, mask=None):
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    scores = torch.tanh(scores / cap) * cap
    if mask is not None:
        blind = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, float("-inf")).masked_fill(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(blind, 0.0)
    return weights @ value, weights
