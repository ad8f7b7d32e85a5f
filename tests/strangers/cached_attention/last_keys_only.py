# wrong: keys and values are cut to the last t places, so that the matrix is square
# expect: keys-cut
import torch.nn.functional as F


def cached_attention(query, key, value):
    t, s = query.shape[2], key.shape[2]
    if t > s:
        raise ValueError(f"{t} queries, but only {s} keys")
    key = key[:, :, -t:]
    value = value[:, :, -t:]
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)
