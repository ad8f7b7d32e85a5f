# wrong: Bloom's way: slope times the place of the key, the same in each row (the softmax would not notice)
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
