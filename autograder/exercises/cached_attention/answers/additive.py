import torch
from torch.nn.functional import scaled_dot_product_attention


def cached_attention(query, key, value):
    t, s = query.shape[-2:][0], key.shape[-2:][0]
    if not t <= s:
        raise ValueError(f"got t = {t} queries, and s = {s} keys")
    bias = torch.full((t, s), float("-inf"), dtype=query.dtype, device=query.device).triu(s - t + 1)
    return scaled_dot_product_attention(query, key, value, bias)
