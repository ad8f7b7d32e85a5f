# %% hf_q_len: Hugging Face's is_causal=q_len > 1: one query sees all, but several start at the first key; nothing refused
# expect: one-query-only, more-queries-not-refused
import torch.nn.functional as F


def cached_attention(query, key, value):
    """The queries are the last t of s places: (b, h, t, d), (b, h, s, d) twice -> (b, h, t, d)."""
    q_len = query.shape[-2]
    return F.scaled_dot_product_attention(query, key, value, is_causal=q_len > 1)

# %% hidden_is_true: the mask says what is hidden, as nn.MultiheadAttention wants it, but this function wants what may be seen
# expect: inverted
import torch
import torch.nn.functional as F


def cached_attention(query, key, value):
    t, s = query.shape[-2], key.shape[-2]
    if s < t:
        raise ValueError(f"t = {t} is larger than s = {s}")
    mask = torch.triu(torch.ones(t, s, dtype=torch.bool, device=query.device), diagonal=s - t + 1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

# %% last_keys_only: keys and values are cut to the last t places, so that the matrix is square
# expect: keys-cut
import torch.nn.functional as F


def cached_attention(query, key, value):
    t, s = query.shape[2], key.shape[2]
    if t > s:
        raise ValueError(f"{t} queries, but only {s} keys")
    key = key[:, :, -t:]
    value = value[:, :, -t:]
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)

# %% one_too_far: by hand with a triangle that is shifted by one too much; no scale
# expect: one-step-ahead, no-scale
import torch


def cached_attention(query, key, value):
    t = query.size(-2)
    s = key.size(-2)
    if t > s:
        raise ValueError("more queries than keys: %d > %d" % (t, s))
    scores = torch.einsum("bhtd,bhsd->bhts", query, key)
    mask = torch.tril(torch.ones(t, s, device=query.device), diagonal=s - t + 1)
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), value)
