import numpy as np


def least_squares(a, b):
    n = a.shape[1]
    both = np.column_stack([a, b])  # so that each reflection takes the right side along
    for k in range(n):
        v = both[k:, k].copy()
        v[0] += np.linalg.norm(v) if v[0] >= 0 else -np.linalg.norm(v)
        both[k:] -= np.outer(v, v @ both[k:]) * (2 / (v @ v))
    return np.linalg.solve(both[:n, :n], both[:n, n])
