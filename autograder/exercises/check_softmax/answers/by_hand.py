"""Weights that were worked out by hand: the numbers are logarithms, so the weights are simple fractions."""

import math

import torch


def softmax(scores, dim=-1):
    largest = scores.max(dim, keepdim=True).values
    powers = torch.exp(scores - largest)
    return powers / torch.sum(powers, dim, keepdim=True)


def near(got, expected):
    expected = torch.tensor(expected)
    assert got.shape == expected.shape, tuple(got.shape)
    assert bool(((got - expected).abs() < 1e-3).all()), got.tolist()


def check_softmax(candidate):
    one, two, three = 0.0, math.log(2), math.log(3)
    table = torch.tensor([[one, three], [two, two]])
    near(candidate(table), [[1 / 4, 3 / 4], [1 / 2, 1 / 2]])
    near(candidate(table, dim=0), [[1 / 3, 3 / 5], [2 / 3, 2 / 5]])
    near(candidate(torch.tensor([[1e4, 0.0], [0.0, three]]), 1), [[1.0, 0.0], [1 / 4, 3 / 4]])
    near(candidate(torch.tensor([-1e4 + three, -1e4])), [3 / 4, 1 / 4])
    near(candidate(torch.tensor([0.0, -math.inf, three])), [1 / 4, 0.0, 3 / 4])
    near(candidate(torch.tensor([[1e4, 0.0], [1e4, three]]), 0), [[1 / 2, 1 / 4], [1 / 2, 3 / 4]])
