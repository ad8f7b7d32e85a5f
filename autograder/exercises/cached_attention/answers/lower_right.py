import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right


def cached_attention(query, key, value):
    t, s = query.shape[-2], key.shape[-2]
    if t > s:
        raise ValueError(f"{t} queries do not fit at the end of {s} keys")
    return F.scaled_dot_product_attention(query, key, value, attn_mask=causal_lower_right(t, s))
