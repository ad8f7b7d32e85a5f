import torch


def capped_attention(query, key, value, cap, mask=None):
    d = query.size(-1)
    logits = torch.einsum("...td,...sd->...ts", query, key) * d**-0.5
    logits = torch.tanh(logits / cap) * cap
    if mask is None:
        weights = torch.softmax(logits, dim=-1)
    else:
        weights = torch.softmax(logits.masked_fill(mask.logical_not(), float("-inf")), dim=-1)
        weights = torch.where(mask, weights, torch.zeros_like(weights))
    return torch.einsum("...ts,...sd->...td", weights, value), weights
