import numpy as np


def power_iteration(a, x, steps):
    if steps == 0:
        return np.vdot(x, a.dot(x)), x
    y = a.dot(x)
    return power_iteration(a, y / np.sqrt(y.dot(y)), steps - 1)
