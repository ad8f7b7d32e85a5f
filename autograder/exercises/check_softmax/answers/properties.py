"""What is true of any softmax, whatever it is given: ratios of weights, shifts, sums."""

import torch


def softmax(scores, dim=-1):
    scores = scores - scores.amax(dim=dim, keepdim=True)
    return scores.exp() / scores.exp().sum(dim=dim, keepdim=True)


def check_softmax(candidate):
    torch.manual_seed(0)
    scores = torch.randn(3, 4, 5, dtype=torch.float64)
    for dim in (0, 1, 2, -1):
        weights = candidate(scores, dim)
        if weights.shape != scores.shape or not torch.allclose(weights.sum(dim), torch.ones(()).double()):
            raise AssertionError("weights sum to 1 along dim")
        ratios = (weights / weights.narrow(dim, 0, 1)).log()
        if not torch.allclose(ratios, scores - scores.narrow(dim, 0, 1), atol=1e-6):
            raise AssertionError("ratios of weights are those of the powers")
        for shift in (-3000.0, 800.0):
            if not torch.allclose(candidate(scores + shift, dim), weights, atol=1e-6):
                raise AssertionError("a shift cancels out")
    apart = torch.tensor([[0.0, 1.0], [2000.0, 2001.0], [-2000.0, -1999.0]])
    if not torch.allclose(candidate(apart), candidate(apart[:1]).expand(3, 2), atol=1e-4):
        raise AssertionError("slices are apart")
    if not torch.equal(candidate(scores), candidate(scores, -1)):
        raise AssertionError("the last dimension is the default")
