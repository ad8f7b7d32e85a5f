import numpy as np


def reflector(x, m):
    """The matrix (m, m) that turns the end of a vector, x, into a multiple of its first unit vector."""
    v = np.zeros(m)
    v[m - len(x) :] = x
    v[m - len(x)] += np.sign(x[0] or 1) * np.sqrt(x @ x)
    v /= np.sqrt(v @ v)
    return np.eye(m) - 2 * np.outer(v, v)


def least_squares(a, b):
    m, n = a.shape
    for k in range(n):
        h = reflector(a[k:, k], m)
        a, b = h @ a, h @ b
    x = []
    for k in range(n - 1, -1, -1):
        x.insert(0, (b[k] - sum(a[k, k + 1 + i] * x[i] for i in range(len(x)))) / a[k, k])
    return np.array(x)
