import numpy as np


def norm(x):
    # a power of two as the scale: dividing by it rounds nothing
    _, exponent = np.frexp(np.max(np.abs(x)))
    scaled = np.ldexp(x, -exponent)
    return float(np.ldexp(np.sqrt(scaled @ scaled), exponent))
