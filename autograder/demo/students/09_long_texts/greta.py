# caches keys before they are turned and turns the new ones alone, hides nothing among the last queries, and lets tiles of scores look ahead
# expect: KVCache = partial old-keys-not-rotated
# expect: cached_attention = partial no-mask
# expect: sliding_window_mask = partial both-directions
# expect: alibi_bias = full
# expect: capped_attention = partial clamped
# expect: sink_attention = zero wrong-column-dropped
# expect: merge = partial lse-added nan-in-gradients-of-two-empty-sides
# expect: tiled_attention = partial causal-within-each-block
# expect: LatentAttention = partial scale-by-latent-dim

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
        if cache is not None:
            cache.append(keys, values)
            keys, values = cache.all()
        if self.rope_base is not None:
            keys = torch.cat([keys[:, :, :before], apply_rope(keys[:, :, before:], positions, self.rope_base)], dim=2)
        times = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(times, dim=1), values.repeat_interleave(times, dim=1)
        scores = (queries * self.head_dim**-0.5) @ keys.transpose(-2, -1)
        places = torch.arange(before, before + t, device=x.device)
        hidden = torch.arange(before + t, device=x.device) > places[:, None]
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return self.out_proj((weights @ values).permute(0, 2, 1, 3).reshape(b, t, -1))

# %% cached_attention
def cached_attention(query, key, value):
    if query.shape[2] > key.shape[2]:
        raise ValueError(f"{query.shape[2]} queries, {key.shape[2]} keys")
    return F.scaled_dot_product_attention(query, key, value)

# %% sliding_window_mask
def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"window = {window}")
    places = torch.arange(t)
    return (places[:, None] - places[None, :]).abs() < window

# %% alibi_bias
def alibi_bias(num_heads, t):
    def slopes(n):
        if n & (n - 1) == 0:
            first = 2.0 ** (-8.0 / n)
            return [first ** (i + 1) for i in range(n)]
        lower = 1
        while lower * 2 <= n:
            lower *= 2
        return slopes(lower) + slopes(2 * lower)[0::2][: n - lower]

    bias = torch.zeros(num_heads, t, t)
    for head, slope in enumerate(slopes(num_heads)):
        for i in range(t):
            bias[head, i, : i + 1] = -slope * torch.arange(i, -1, -1)
    return bias

# %% capped_attention
def capped_attention(query, key, value, cap, mask=None):
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    scores = scores.clamp(-cap, cap)
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
    weights = torch.cat([sinks, scores], -1).softmax(-1)[..., :-1]
    return weights @ value, weights

# %% merge
def merge(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    empty = lse == -torch.inf
    share_a, share_b = ((x - lse.masked_fill(empty, 0)).exp()[..., None] for x in (lse_a, lse_b))
    return share_a * output_a + share_b * output_b, lse_a + lse_b

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
            hidden = torch.arange(stop - start, device=q.device) > queries
            scores = scores.masked_fill(hidden, float("-inf"))
        new_maximum = torch.maximum(maximum, scores.max(dim=-1).values)
        correction = torch.exp(maximum - new_maximum)
        exponentials = torch.exp(scores - new_maximum.unsqueeze(-1))
        total = total * correction + exponentials.sum(dim=-1)
        output = output * correction.unsqueeze(-1) + exponentials @ v[..., start:stop, :]
        maximum = new_maximum
        start = stop
    return output / torch.where(total == 0, 1.0, total).unsqueeze(-1)

# %% LatentAttention
class LatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, head_dim, latent_dim):
        super().__init__()
        self.num_heads, self.head_dim, self.latent_dim = num_heads, head_dim, latent_dim
        self.W_query = nn.Linear(d_model, num_heads * head_dim, bias=False)
        self.W_down = nn.Linear(d_model, latent_dim, bias=False)
        self.W_up_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_up_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(num_heads * head_dim, d_model, bias=False)

    def heads(self, z):
        if z.dim() != 3:
            raise ValueError(f"three dimensions are needed, not {z.dim()}")
        return z.view(z.shape[0], z.shape[1], self.num_heads, self.head_dim).transpose(1, 2)

    def softmax(self, scores):
        t = scores.shape[-1]
        future = torch.triu(torch.ones(t, t, dtype=torch.bool, device=scores.device), diagonal=1)
        return (scores * self.latent_dim**-0.5).masked_fill(future, float("-inf")).softmax(dim=-1)

    def forward(self, x):
        latent = self.W_down(x)
        q, k, v = self.heads(self.W_query(x)), self.heads(self.W_up_key(latent)), self.heads(self.W_up_value(latent))
        found = self.softmax(q @ k.transpose(-2, -1)) @ v
        return self.out_proj(found.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))

    def absorbed(self, x):
        queries, latent = self.heads(self.W_query(x)), self.W_down(x)
        found = []
        for head in range(self.num_heads):
            rows = slice(head * self.head_dim, (head + 1) * self.head_dim)
            query = queries[:, head] @ self.W_up_key.weight[rows]           # (b, t, latent_dim)
            weights = self.softmax(query @ latent.transpose(1, 2))          # (b, t, t)
            found.append(weights @ latent @ self.W_up_value.weight[rows].T)
        return self.out_proj(torch.cat(found, dim=-1))
