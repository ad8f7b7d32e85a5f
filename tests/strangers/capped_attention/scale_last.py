# wrong: the scale comes after the cap; -1e9 hides, so that an empty row gets equal weights
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
