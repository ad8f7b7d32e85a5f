# wrong: one even row of slopes for any number of heads
# expect: interpolated
import torch


def alibi_bias(num_heads, t):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / num_heads) for h in range(num_heads)])
    i = torch.arange(t)
    distance = i[:, None] - i[None, :]
    return -slopes[:, None, None] * distance
