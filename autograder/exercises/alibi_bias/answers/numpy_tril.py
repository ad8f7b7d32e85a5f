import numpy as np
import torch


def get_slopes(n):
    """As in the authors' program, written once more: a recursion that ends at a power of two."""
    if n & (n - 1) == 0:
        ratio = 2.0 ** (-8.0 / n)
        return ratio ** np.arange(1, n + 1)
    lower = 1 << (n.bit_length() - 1)
    return np.concatenate([get_slopes(lower), get_slopes(2 * lower)[::2][: n - lower]])


def alibi_bias(num_heads, t):
    distance = np.tril(np.subtract.outer(np.arange(t), np.arange(t)))
    return torch.from_numpy(-get_slopes(num_heads)[:, None, None] * distance)
