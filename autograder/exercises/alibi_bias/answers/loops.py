import torch


def alibi_bias(num_heads, t):
    power = max(2**k for k in range(20) if 2**k <= num_heads)
    exponents = [8 * (i + 1) / power for i in range(power)]
    exponents += [8 * (i + 1) / (2 * power) for i in range(0, 2 * power, 2)][: num_heads - power]
    bias = torch.zeros(num_heads, t, t)
    for head, exponent in enumerate(exponents):
        for i in range(t):
            bias[head, i, : i + 1] = torch.arange(-i, 1) * 2.0**-exponent
    return bias
