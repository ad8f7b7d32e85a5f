import math

import torch


def alibi_bias(num_heads, t):
    def get_slopes(n):
        if math.log2(n).is_integer():
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start**i for i in range(n)]
        closest = 2 ** math.floor(math.log2(n))
        return get_slopes(closest) + get_slopes(2 * closest)[0::2][: n - closest]

    slopes = torch.tensor(get_slopes(num_heads))
    position = torch.arange(t)
    relative = position[None, :] - position[:, None]
    return slopes.view(-1, 1, 1) * relative
