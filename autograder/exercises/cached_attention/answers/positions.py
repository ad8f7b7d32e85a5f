import torch
import torch.nn.functional as F


class TooManyQueries(ValueError):
    pass


def cached_attention(query, key, value):
    """Compare the place of each query with that of each key."""
    new, total = query.shape[2], key.shape[2]
    if new > total:
        raise TooManyQueries(f"{new} > {total}")
    key_place = torch.arange(total, device=key.device)
    query_place = key_place[total - new :]
    mask = query_place.unsqueeze(1) >= key_place
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask[None, None])
