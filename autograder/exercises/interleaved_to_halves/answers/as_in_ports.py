def interleaved_to_halves(weight, num_heads):
    n, d_in = weight.shape
    if n % num_heads != 0:
        raise ValueError(f"num_heads = {num_heads} does not divide the {n} rows")
    if (n // num_heads) % 2 != 0:
        raise ValueError(f"each head has {n // num_heads} rows, which can't be paired")
    return weight.reshape(num_heads, n // num_heads // 2, 2, d_in).transpose(1, 2).reshape(n, d_in)
