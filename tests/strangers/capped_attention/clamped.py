# wrong: clamp instead of the tanh (NaN of empty rows is replaced, which is fine: masked_fill stops its gradient)
# expect: clamped
import torch


def capped_attention(query, key, value, cap, mask=None):
    d = query.shape[-1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / d**0.5
    scores = torch.clamp(scores, -cap, cap)
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = torch.nan_to_num(weights, nan=0.0)
    output = weights @ value
    return output, weights
