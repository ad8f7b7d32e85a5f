# all right, in as few lines as it takes, and answered the written question
# expect: KVCache = full
# expect: cached_attention = full
# expect: sliding_window_mask = full
# expect: alibi_bias = full
# expect: capped_attention = full
# expect: sink_attention = full
# expect: merge = full
# expect: tiled_attention = full
# expect: LatentAttention = full

# %% KVCache
class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


def apply_rope(x, positions, base=10000.0):
    if x.shape[-1] % 2:
        raise ValueError(f"{x.shape[-1]} is odd")
    wide = torch.promote_types(x.dtype, torch.float32)
    i = torch.arange(x.shape[-1] // 2, device=x.device, dtype=wide)
    angles = positions.to(wide)[..., None] * base ** (-2 * i / x.shape[-1])
    if positions.dim() == 2:
        angles = angles.unflatten(0, (-1,) + (1,) * (x.dim() - 3))
    x1, x2 = x.to(wide).chunk(2, -1)
    turned = torch.polar(torch.ones_like(angles), angles) * torch.complex(x1, x2)
    return torch.cat([turned.real, turned.imag], -1).to(x.dtype)


class KVCache:
    def __init__(self):
        self.kv = None

    def __len__(self):
        return 0 if self.kv is None else self.kv.shape[-2]

    def add(self, kv):
        self.kv = kv if self.kv is None else torch.cat([self.kv, kv], -2)
        return self.kv


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, head_dim=None, rope_base=None, qk_norm=False):
        super().__init__()
        if num_heads % num_kv_heads or head_dim is None and d_model % num_heads:
            raise ValueError(f"{num_heads} heads, {num_kv_heads} key heads, {d_model} features: something does not divide")
        self.w, self.rope_base = head_dim or d_model // num_heads, rope_base
        self.W_query = nn.Linear(d_model, num_heads * self.w, bias=False)
        self.W_key, self.W_value = (nn.Linear(d_model, num_kv_heads * self.w, bias=False) for _ in range(2))
        self.out_proj = nn.Linear(num_heads * self.w, d_model, bias=False)
        self.q_norm, self.k_norm = (RMSNorm(self.w) if qk_norm else nn.Identity() for _ in range(2))

    def forward(self, x, cache=None):
        q, k, v = (W(x).unflatten(2, (-1, self.w)).transpose(1, 2) for W in (self.W_query, self.W_key, self.W_value))
        q, k, old = self.q_norm(q), self.k_norm(k), 0 if cache is None else len(cache)
        if self.rope_base is not None:
            places = torch.arange(old, old + x.shape[1], device=x.device)
            q, k = (apply_rope(z, places, self.rope_base) for z in (q, k))
        if cache is not None:
            k, v = cache.add(torch.stack([k, v]))
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).tril(old)
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.out_proj(found.transpose(1, 2).flatten(2))

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
        raise ValueError(f"window {window}")
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - window)

# %% alibi_bias
def alibi_bias(num_heads, t):
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)] + [2 ** (-4 * i / n) for i in range(1, 2 * n, 2)]
    i = torch.arange(t)
    return torch.tensor(slopes[:num_heads])[:, None, None] * (i - i[:, None])

# %% capped_attention
def capped_attention(query, key, value, cap, mask=None):
    scores = cap * torch.tanh(query / key.shape[-1] ** 0.5 @ key.mT / cap)
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(~mask, 0)
    return weights @ value, weights

# %% sink_attention
def sink_attention(query, key, value, sink, mask=None):
    scores = query / key.shape[-1] ** 0.5 @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    sinks = sink.to(scores.dtype).view(-1, 1, 1).expand(len(scores), -1, scores.shape[2], 1)
    weights = torch.cat([sinks, scores], -1).softmax(-1)[..., 1:]
    return weights @ value, weights

# %% merge
def merge(output_a, lse_a, output_b, lse_b):
    empty = torch.maximum(lse_a, lse_b) == -torch.inf
    a, b = lse_a.masked_fill(empty, 0), lse_b.masked_fill(empty, 0)
    share = torch.sigmoid(a - b)[..., None]
    output = torch.where(lse_b[..., None] == -torch.inf, output_a, share * output_a + (1 - share) * output_b)
    return output.masked_fill(empty[..., None], 0), torch.logaddexp(a, b).masked_fill(empty, -torch.inf)

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
        found = F.scaled_dot_product_attention(q, c.expand_as(q), c.expand_as(q), is_causal=True, scale=self.w**-0.5)
        return self.out_proj((found @ up_v.mT).transpose(1, 2).flatten(2))

# %% question-cache-bytes
# 1. 2 (k and v) * 40 * 128 * 48 layers * 2 bytes = 983,040 bytes. Times 131,072 = 120 GiB.
# 2. 8 instead of 40: 196,608 bytes, 24 GiB.
# 3. 576 * 48 * 2 = 55,296 bytes, 6.75 GiB.
# 4. 8 layers * 2 * 8 * 128 * 2 = 32,768 bytes, 4 GiB. The 40 others never hold more than 1024 tokens, 160 MiB together.
#
# None of them gives what multi-head attention gives: they are other models. 2 lets five queries share a key. 3 makes all
# keys and values out of 576 numbers, and multiplies more. 4 sees what is far away only through the 8 layers.
