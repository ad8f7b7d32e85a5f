import torch.nn.functional as F


def cached_attention(query, key, value):
    """Put empty queries before the others, so that torch's own triangle fits, and cut them off again."""
    missing = key.shape[2] - query.shape[2]
    if missing < 0:
        raise ValueError(f"{query.shape[2]} queries, but {key.shape[2]} keys")
    padded = F.pad(query, (0, 0, missing, 0))
    return F.scaled_dot_product_attention(padded, key, value, is_causal=True)[:, :, missing:]
