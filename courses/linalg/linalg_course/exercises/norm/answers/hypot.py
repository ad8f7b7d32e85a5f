import numpy as np


def norm(x):
    return np.hypot.reduce(x)
