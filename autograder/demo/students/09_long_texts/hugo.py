# left out what is hard; one cell does not compile
# expect: KVCache = zero
# expect: cached_attention = full
# expect: sliding_window_mask = zero error
# expect: alibi_bias = full
# expect: capped_attention = partial as-given
# expect: sink_attention = zero
# expect: merge = partial nan-in-gradients-of-two-empty-sides
# expect: tiled_attention = partial fused
# expect: LatentAttention = zero

# %% cached_attention
def cached_attention(query, key, value):
    t, s, d = query.shape[-2], key.shape[-2], query.shape[-1]
    if t > s:
        raise ValueError(f"there are {t} queries, and only {s} keys")
    places = torch.arange(s - t, s, device=query.device)
    may_see = torch.arange(s, device=query.device)[None, :] <= places[:, None]
    scores = (query * d**-0.5) @ key.transpose(-2, -1)
    return scores.masked_fill(~may_see, float("-inf")).softmax(dim=-1) @ value

# %% sliding_window_mask
def sliding_window_mask(t, window)
    return torch.ones(t, t, dtype=torch.bool).tril().triu(1 - window)

# %% alibi_bias
def alibi_bias(num_heads, t):
    n = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * i / n) for i in range(1, n + 1)] + [2 ** (-4 * i / n) for i in range(1, 2 * n, 2)]
    i = torch.arange(t)
    return torch.tensor(slopes[:num_heads])[:, None, None] * (i - i[:, None])

# %% merge
def merge(output_a, lse_a, output_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    empty = lse == -torch.inf
    share_a, share_b = ((x - lse.masked_fill(empty, 0)).exp()[..., None] for x in (lse_a, lse_b))
    return share_a * output_a + share_b * output_b, lse

# %% tiled_attention
def tiled_attention(q, k, v, block_size, causal=False):
    if block_size < 1:
        raise ValueError(f"block_size = {block_size}")
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
