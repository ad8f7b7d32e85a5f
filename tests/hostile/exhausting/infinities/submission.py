import torch

def attention(query, key, value, mask=None):
    big = torch.finfo(query.dtype).max
    output = value.new_full((*query.shape[:-1], value.shape[-1]), big)
    return output, query.new_full((*query.shape[:-1], key.shape[-2]), -float("inf"))

print("defined")
