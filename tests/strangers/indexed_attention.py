# %% right
import torch


def indexed_attention(query, key, value, index_scores, top_k):
    if top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    b, h, t, d = query.shape
    causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=query.device))
    idx = index_scores.masked_fill(~causal, float("-inf"))
    k = min(top_k, t)
    _, best = torch.topk(idx, k, dim=-1)
    mask = torch.zeros(b, t, t, dtype=torch.bool, device=query.device)
    mask.scatter_(2, best, True)
    mask = mask & causal
    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
    scores = scores.masked_fill(~mask[:, None, :, :], float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights

# %% index_weighs: the picked index scores are the scores of the softmax
# expect: index-for-scores
# -    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
# +    scores = idx[:, None].expand(b, h, t, t).to(query.dtype)

# %% k_not_cut: top_k is not cut at t
# expect: large-top-k-refused
# -    k = min(top_k, t)
# +    k = top_k

# %% no_causal_after: the causal mask is only on the index scores, so early queries see what comes later
# expect: hidden-keys-seen-early
# -    mask = mask & causal

# %% output_only_no_scale: no scale, and the output alone
# expect: no-scale, output-alone
# -    scores = torch.matmul(query, key.transpose(-1, -2)) / (d**0.5)
# +    scores = torch.matmul(query, key.transpose(-1, -2))

# -    return torch.matmul(weights, value), weights
# +    return torch.matmul(weights, value)

# %% picks_then_hides: picks among all keys, and hides later ones afterwards; rows that see nothing are 0
# expect: later-keys-take-places
# -    idx = index_scores.masked_fill(~causal, float("-inf"))
# +    idx = index_scores

# -    weights = torch.softmax(scores, dim=-1)
# +    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))

# %% threshold_strict: keys above the k-th largest are taken, without it
# expect: one-too-few
# -    mask = torch.zeros(b, t, t, dtype=torch.bool, device=query.device)
# -    mask.scatter_(2, best, True)
# +    kth = idx.gather(-1, best[..., -1:])
# +    mask = idx > kth

# -    weights = torch.softmax(scores, dim=-1)
# +    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))

# %% times_mask: the weights are multiplied by the mask after the softmax
# expect: hidden-after-softmax
# -    scores = scores.masked_fill(~mask[:, None, :, :], float("-inf"))
# -    weights = torch.softmax(scores, dim=-1)
# +    scores = scores.masked_fill(~causal, float("-inf"))
# +    weights = torch.softmax(scores, dim=-1) * mask[:, None]
