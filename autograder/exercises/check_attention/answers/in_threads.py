"""Several calls at once, each in a thread of its own; they are answered one after another."""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F


def attention(query, key, value, mask=None):
    identity = torch.eye(key.shape[-2], dtype=value.dtype).expand(*key.shape[:-1], key.shape[-2])
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return output, F.scaled_dot_product_attention(query, key, identity, attn_mask=mask)


def check_attention(candidate):
    cases = []
    for seed in range(4):
        torch.manual_seed(seed)
        mask = torch.rand(2, 4, 3) < 0.5
        mask[..., seed % 3] = True
        cases.append((torch.randn(2, 4, 5), torch.randn(2, 3, 5), torch.randn(2, 3, 2), mask if seed else None))
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: candidate(*case), cases))
    for case, (output, weights) in zip(cases, results, strict=True):
        expected = attention(*case)
        assert torch.allclose(output, expected[0], atol=1e-5), "output"
        assert torch.allclose(weights, expected[1], atol=1e-5), "weights"
