"""One line for each step, and a line of its own for what a slice of nothing but -inf needs in each of them."""

import torch


def softmax(scores, dim=-1):
    largest = scores.amax(dim=dim, keepdim=True)
    largest = largest.masked_fill(largest == float("-inf"), 0.0)
    powers = torch.exp(scores - largest)
    total = powers.sum(dim=dim, keepdim=True)
    total = total.masked_fill(total == 0, 1.0)
    return powers / total
