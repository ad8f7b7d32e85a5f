# wrong: torch's own function gives the output; the weights are made without the mask
# expect: ?
# also: rank-not-checked, fact-no-such-dimension
import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    weights = torch.softmax(query @ key.transpose(-2, -1) / key.size(-1) ** 0.5, dim=-1)
    return out, weights
