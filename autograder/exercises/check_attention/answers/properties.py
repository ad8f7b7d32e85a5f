"""What is true of any attention: each failed property is noted, and an error lists them."""

import torch


def attention(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * key.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, -1).nan_to_num()
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def same(one, other):
    return one.shape == other.shape and bool(((one - other).abs() < 1e-4).all())


def check_attention(candidate):
    generator = torch.Generator().manual_seed(3)
    query, key = torch.randn(2, 4, 9, generator=generator), torch.randn(2, 6, 9, generator=generator)
    value = torch.randn(2, 6, 3, generator=generator)
    output, weights = candidate(query, key, value)
    noted = []
    if weights.shape != (2, 4, 6) or output.shape != (2, 4, 3):
        raise AssertionError(f"shapes {tuple(output.shape)} and {tuple(weights.shape)}")
    if not same(weights.sum(-1), torch.ones(2, 4)):
        noted.append("rows sum to 1")
    if not same(weights @ value, output):
        noted.append("the output is an average of values")
    # log-ratios of weights are differences of scores, which are known
    differences = query @ (key[:, :1] - key).transpose(1, 2) / 3
    if not same((weights[..., :1] / weights).log(), differences):
        noted.append("weights follow scores")
    for hidden in range(6):
        mask = torch.ones(6, dtype=torch.bool)
        mask[hidden] = False
        left = [place for place in range(6) if place != hidden]
        if not same(candidate(query, key, value, mask)[0], candidate(query, key[:, left], value[:, left])[0]):
            noted.append(f"a hidden key {hidden} is as good as none")
    lower = torch.ones(4, 6, dtype=torch.bool).tril()
    if candidate(query, key, value, lower)[1][:, ~lower].any():
        noted.append("hidden keys get nothing")
    assert not noted, noted
