# wrong: the mask says what is hidden, as nn.MultiheadAttention wants it, but this function wants what may be seen
# expect: inverted
import torch
import torch.nn.functional as F


def cached_attention(query, key, value):
    t, s = query.shape[-2], key.shape[-2]
    if s < t:
        raise ValueError(f"t = {t} is larger than s = {s}")
    mask = torch.triu(torch.ones(t, s, dtype=torch.bool, device=query.device), diagonal=s - t + 1)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
