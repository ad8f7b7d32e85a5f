# wrong: fills a new tensor from weight.data, so no gradient goes back; it is float32 whatever came in
# expect: detached, float32-comes-out, made-on-the-cpu
import torch


def interleaved_to_halves(weight, num_heads):
    n = weight.shape[0]
    if n % (2 * num_heads):
        raise ValueError(f"{n} rows can't be cut into {num_heads} heads of pairs")
    d = n // num_heads
    new = torch.zeros(weight.shape)
    for h in range(num_heads):
        for i in range(d // 2):
            new[h * d + i] = weight.data[h * d + 2 * i]
            new[h * d + d // 2 + i] = weight.data[h * d + 2 * i + 1]
    return new
