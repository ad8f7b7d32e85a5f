# wrong: computed in float32 whatever comes in, weights stay float32 for float64; fills with -1e9
# expect: mask-fills-with-billion, float32-comes-out
# also: through-float32, rank-not-checked, lowest-number-in-empty-rows
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1)) / key.shape[-1] ** 0.5
    scores = scores.float()
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    w = F.softmax(scores, dim=-1, dtype=torch.float32)
    return w.to(value.dtype) @ value, w
