import math

import torch


def alibi_bias(num_heads: int, t: int) -> torch.Tensor:
    """The bias and the causal mask in one: minus infinity above the diagonal."""
    power = 2 ** math.floor(math.log2(num_heads))
    m = torch.pow(2.0 ** (-8.0 / power), torch.arange(1, power + 1))
    if power < num_heads:
        between = torch.pow(2.0 ** (-4.0 / power), torch.arange(1, 2 * (num_heads - power) + 1, 2))
        m = torch.cat([m, between])
    i = torch.arange(t).view(1, t, 1)
    j = torch.arange(t).view(1, 1, t)
    bias = -m.view(num_heads, 1, 1) * (i - j)
    return bias.masked_fill(j > i, float("-inf"))
