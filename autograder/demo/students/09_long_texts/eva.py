# starts positions anew with each part, left the causal fix as it was handed out, and sorted the slopes
# expect: KVCache = partial positions-restarted
# expect: cached_attention = partial triangle-from-the-first-key
# expect: sliding_window_mask = partial one-too-many
# expect: alibi_bias = partial sorted
# expect: capped_attention = full
# expect: sink_attention = partial sink-ignored
# expect: merge = partial nan-with-two-empty-sides
# expect: tiled_attention = full
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
            positions = torch.arange(t, device=x.device)
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

# %% sliding_window_mask
def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"a window of {window}")
    return torch.ones(t, t, dtype=torch.bool).tril().triu(-window)

# %% alibi_bias
def alibi_bias(num_heads, t):
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)]
    slopes += [2 ** (-4 * i / n) for i in range(1, 2 * n, 2)][: num_heads - n]
    slopes = torch.tensor(sorted(slopes, reverse=True))
    i = torch.arange(t)
    return slopes[:, None, None] * (i - i[:, None])

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

# %% sink_attention
def sink_attention(query, key, value, sink, mask=None):
    scores = query / key.shape[-1] ** 0.5 @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    sinks = sink.to(scores.dtype).view(-1, 1, 1).expand(len(scores), -1, scores.shape[2], 1)
    weights = torch.cat([sinks, scores], -1).softmax(-1)[..., 1:]
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights

# %% merge
def merge(output_a, lse_a, output_b, lse_b):
    share = torch.sigmoid(lse_a - lse_b)[..., None]
    return share * output_a + (1 - share) * output_b, torch.logaddexp(lse_a, lse_b)

# %% tiled_attention
def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"blocks of {block_size}")
    q = q / k.shape[-1] ** 0.5
    m, l, o = q.new_full((*q.shape[:-1], 1), -torch.inf), q.new_zeros(*q.shape[:-1], 1), q.new_zeros(*q.shape[:-1], v.shape[-1])
    for j in range(0, k.shape[-2], block_size):
        scores = q @ k[..., j : j + block_size, :].mT
        if causal:
            past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(-j)
            scores = scores.masked_fill(~past, -torch.inf)
        new = torch.maximum(m, scores.amax(-1, keepdim=True))
        p, shrink = (scores - new).exp(), (m - new).exp()
        l, o, m = l * shrink + p.sum(-1, keepdim=True), o * shrink + p @ v[..., j : j + block_size, :], new
    return o / l.masked_fill(l == 0, 1)
