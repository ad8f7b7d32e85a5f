import torch


def interleaved_to_halves(weight, num_heads):
    rows = weight.shape[0]
    if rows % num_heads:
        raise ValueError(f"{rows} rows and {num_heads} heads do not fit")
    d = rows // num_heads
    if d % 2:
        raise ValueError(f"{rows} rows in {num_heads} heads leave {d} for each, which is odd")
    order = []
    for head in range(num_heads):
        order += range(head * d, (head + 1) * d, 2)
        order += range(head * d + 1, (head + 1) * d, 2)
    return weight[torch.tensor(order, device=weight.device)]
