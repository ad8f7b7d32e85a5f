"""The scale shared by both factors, einsum with an ellipsis, and prints between the steps."""

import time

import torch

print("torch", torch.__version__)


def scaled_self_attention(x):
    if len(x.size()) != 3:
        raise ValueError(f"3 dimensions (b, t, d) are needed, {len(x.size())} came")
    start = time.perf_counter()
    fourth_root = x.shape[-1] ** 0.25
    scores = torch.einsum("...ik,...jk->...ij", x / fourth_root, x / fourth_root)
    weights = torch.nn.Softmax(-1)(scores)
    print("weights", weights.shape, f"after {time.perf_counter() - start:.2e} s")
    return torch.einsum("...ij,...jk->...ik", weights, x)
