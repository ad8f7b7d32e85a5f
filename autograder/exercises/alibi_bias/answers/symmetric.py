import torch


def slope(head, heads):
    power = 1
    while power * 2 <= heads:
        power *= 2
    if head < power:
        return 2 ** (-8 * (head + 1) / power)
    return 2 ** (-4 * (2 * (head - power) + 1) / power)


def alibi_bias(num_heads, t):
    places = torch.arange(t, dtype=torch.float32)
    far = (places[None] - places[:, None]).abs()
    return torch.stack([-slope(head, num_heads) * far for head in range(num_heads)])
