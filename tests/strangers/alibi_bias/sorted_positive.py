# wrong: the slopes are sorted, and the bias is positive: what is far away gets more
# expect: sorted, sign
import math

import torch


def get_slopes(n):
    start = 2 ** (-(2 ** -(math.log2(n) - 3)))
    return [start * start**i for i in range(n)]


def alibi_bias(num_heads, t):
    if math.log2(num_heads).is_integer():
        slopes = get_slopes(num_heads)
    else:
        closest = 2 ** math.floor(math.log2(num_heads))
        slopes = get_slopes(closest) + get_slopes(2 * closest)[0::2][: num_heads - closest]
        slopes = sorted(slopes, reverse=True)
    m = torch.tensor(slopes).view(num_heads, 1, 1)
    rows = torch.arange(t).view(1, t, 1)
    cols = torch.arange(t).view(1, 1, t)
    return m * (rows - cols)
