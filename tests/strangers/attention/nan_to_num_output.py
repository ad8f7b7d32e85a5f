# wrong: nan_to_num mends the output only: the weights and the gradients stay NaN
# expect: nan-patched-in-output
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    att = query @ key.transpose(-2, -1) / (query.shape[-1]) ** 0.5
    if mask is not None:
        att = torch.where(mask, att, torch.tensor(float("-inf")))
    att = torch.softmax(att, dim=-1)
    out = torch.nan_to_num(att @ value)
    return out, att
