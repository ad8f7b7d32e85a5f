# %% clamped: clamp instead of the tanh (NaN of empty rows is replaced, which is fine: masked_fill stops its gradient)
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

# %% scale_last: the scale comes after the cap; -1e9 hides, so that an empty row gets equal weights
# expect: cap-before-scale, mask-fills-with-billion
# also: lowest-number-in-empty-rows
import math

import torch


def capped_attention(query, key, value, cap, mask=None):
    logits = query @ key.transpose(-2, -1)
    logits = cap * torch.tanh(logits / cap)
    logits = logits / math.sqrt(query.size(-1))
    if mask is not None:
        logits = logits.masked_fill(~mask, -1e9)
    weights = logits.softmax(dim=-1)
    return weights @ value, weights

# %% tanh_line_only: the line with the tanh is mended alone: the cap still comes after the mask, and nothing is done about empty rows
# expect: cap-after-mask
# also: lowest-number-in-empty-rows
import torch


def capped_attention(query, key, value, cap, mask=None):
    """Attention whose scores stay between -cap and cap: returns (output, weights)."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (…, t, d) x (…, d, s) -> (…, t, s)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    scores = cap * torch.tanh(scores / cap)
    weights = scores.softmax(dim=-1)                                 # (…, t, s)
    return weights @ value, weights                                  # (…, t, s) x (…, s, dv) -> (…, t, dv)
