# wrong: returns the output alone; scale of the value's width
# expect: output-alone, scale-by-value-width
# also: rank-not-checked
import torch


def attention(query, key, value, mask=None):
    dim = value.shape[-1]
    a = torch.matmul(query, key.transpose(-2, -1)) / (dim**0.5)
    if mask is not None:
        a = a.masked_fill(mask.logical_not(), float("-inf"))
    a = torch.softmax(a, dim=-1)
    a = torch.nan_to_num(a)
    return torch.matmul(a, value)
