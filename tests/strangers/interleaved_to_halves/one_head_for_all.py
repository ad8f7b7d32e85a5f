# wrong: each head gets the rows of head 0, since the head's start is forgotten; assert instead of ValueError
# expect: first-head-for-all, asserted
import torch


def interleaved_to_halves(weight, num_heads):
    rows = weight.shape[0]
    assert rows % (2 * num_heads) == 0, f"{rows} rows, {num_heads} heads"
    d = rows // num_heads
    order = []
    for head in range(num_heads):
        order += list(range(0, d, 2))
        order += list(range(1, d, 2))
    return weight[order]
