# wrong: by hand with a triangle that is shifted by one too much; no scale
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
