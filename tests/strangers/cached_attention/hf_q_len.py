# wrong: Hugging Face's is_causal=q_len > 1: one query sees all, but several start at the first key; nothing refused
# expect: one-query-only, more-queries-not-refused
import torch.nn.functional as F


def cached_attention(query, key, value):
    """The queries are the last t of s places: (b, h, t, d), (b, h, s, d) twice -> (b, h, t, d)."""
    q_len = query.shape[-2]
    return F.scaled_dot_product_attention(query, key, value, is_causal=q_len > 1)
