import sys
import torch


from torch._subclasses.fake_tensor import FakeTensorMode

def attention(query, key, value, mask=None):
    with FakeTensorMode() as mode:
        output = torch.empty(*query.shape[:-1], value.shape[-1])
    weights = torch.empty(*query.shape[:-1], key.shape[-2], device="meta")
    return output, weights

print("defined")
