# wrong: right order, but an odd number of rows per head is a RuntimeError, and the message holds one number
# expect: odd-heads-not-refused, message-without-numbers
def interleaved_to_halves(weight, num_heads):
    """Reorder the rows of a query or key projection for half-split rotation: (num_heads · d, d_in) -> the same shape."""
    if weight.shape[0] % num_heads != 0:
        raise ValueError(f"rows are not divisible by {num_heads} heads")
    d = weight.shape[0] // num_heads
    pairs = weight.view(num_heads, d // 2, 2, -1)           # (h · d, d_in) -> (h, d/2, 2, d_in)
    return pairs.transpose(1, 2).reshape(weight.shape)
