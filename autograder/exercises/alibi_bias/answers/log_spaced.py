import torch


def alibi_bias(num_heads, t):
    def geometric(n):
        return torch.logspace(-8 / n, -8, n, base=2, dtype=torch.float64)

    power = 2 ** (len(bin(num_heads)) - 3)
    slopes = torch.cat((geometric(power), geometric(2 * power)[::2]))[:num_heads]
    distance = torch.ones(t, t).cumsum(0).tril() - torch.ones(t, t).cumsum(1).tril()
    return torch.einsum("h,ij->hij", slopes.float(), -distance)
