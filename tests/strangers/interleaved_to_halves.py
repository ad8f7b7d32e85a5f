# %% filled_in: fills a new tensor from weight.data, so no gradient goes back; it is float32 whatever came in
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

# %% hf_backwards: the way back, from halves to neighbours; nothing refused
# expect: the-way-back, nothing-refused
# also: odd-heads-not-refused, indivisible-not-refused
import torch


def interleaved_to_halves(weight, num_heads):
    dim1, dim2 = weight.shape
    return weight.view(num_heads, 2, dim1 // num_heads // 2, dim2).transpose(1, 2).reshape(dim1, dim2)

# %% one_head_for_all: each head gets the rows of head 0, since the head's start is forgotten; assert instead of ValueError
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

# %% pairs_unchecked: right order, but an odd number of rows per head is a RuntimeError, and the message holds one number
# expect: odd-heads-not-refused, message-without-numbers
def interleaved_to_halves(weight, num_heads):
    """Reorder the rows of a query or key projection for half-split rotation: (num_heads · d, d_in) -> the same shape."""
    if weight.shape[0] % num_heads != 0:
        raise ValueError(f"rows are not divisible by {num_heads} heads")
    d = weight.shape[0] // num_heads
    pairs = weight.view(num_heads, d // 2, 2, -1)           # (h · d, d_in) -> (h, d/2, 2, d_in)
    return pairs.transpose(1, 2).reshape(weight.shape)
