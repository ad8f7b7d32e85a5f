from einops import rearrange


def interleaved_to_halves(weight, num_heads):
    if weight.shape[0] % (2 * num_heads):
        raise ValueError(f"{weight.shape[0]} is no multiple of two times {num_heads}")
    return rearrange(weight, "(h pair two) d -> (h two pair) d", h=num_heads, two=2)
