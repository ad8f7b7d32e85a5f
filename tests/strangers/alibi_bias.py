# %% bloom: Bloom's way: slope times the place of the key, the same in each row (the softmax would not notice)
# expect: key-positions
import math

import torch


def alibi_bias(num_heads, t):
    closest_power_of_2 = 2 ** math.floor(math.log2(num_heads))
    base = 2 ** (-(2 ** -(math.log2(closest_power_of_2) - 3)))
    powers = torch.arange(1, 1 + closest_power_of_2)
    slopes = torch.pow(torch.tensor(base, dtype=torch.float32), powers)
    if closest_power_of_2 != num_heads:
        extra_base = 2 ** (-(2 ** -(math.log2(2 * closest_power_of_2) - 3)))
        num_remaining_heads = min(closest_power_of_2, num_heads - closest_power_of_2)
        extra_powers = torch.arange(1, 1 + 2 * num_remaining_heads, 2)
        slopes = torch.cat([slopes, torch.pow(torch.tensor(extra_base, dtype=torch.float32), extra_powers)])
    alibi = slopes[:, None, None] * torch.arange(t)[None, None, :]
    return alibi.expand(num_heads, t, t)

# %% even_row: one even row of slopes for any number of heads
# expect: interpolated
import torch


def alibi_bias(num_heads, t):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
    i = torch.arange(t)
    distance = i[:, None] - i[None, :]
    return -slopes[:, None, None] * distance

# %% sorted_positive: the slopes are sorted, and the bias is positive: what is far away gets more
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
