# wrong: the line with the tanh is mended alone: the cap still comes after the mask, and nothing is done about empty rows
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
