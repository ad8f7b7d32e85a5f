import sys
import torch


def attention(query, key, value, mask=None):
    output = value.new_full((*query.shape[:-1], value.shape[-1]), float("nan"))
    return output, query.new_full((*query.shape[:-1], key.shape[-2]), float("nan"))

print("defined")
