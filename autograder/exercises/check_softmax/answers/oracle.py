"""torch's own softmax to compare with, on many shapes and sizes."""

import torch


def softmax(scores, dim=-1):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def check_softmax(candidate):
    generator = torch.Generator().manual_seed(5)
    for shape in [(4,), (3, 5), (2, 3, 4), (2, 1, 3, 2)]:
        scores = torch.randn(shape, generator=generator)
        for dim in range(-len(shape), len(shape)):
            for size in (0.1, 3.0, 1e3):
                got = candidate(size * scores, dim)
                assert got.shape == scores.shape
                assert torch.allclose(got, torch.softmax(size * scores, dim), atol=1e-4)
        assert torch.allclose(candidate(scores), torch.softmax(scores, -1), atol=1e-5)
