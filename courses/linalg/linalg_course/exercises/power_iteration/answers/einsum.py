import numpy as np


def power_iteration(a, x, steps):
    x = np.array(x)
    while steps > 0:
        np.einsum("ij,j->i", a, x.copy(), out=x)
        x /= np.hypot.reduce(x)
        steps -= 1
    return float(np.einsum("i,ij,j->", x, a, x)), x
