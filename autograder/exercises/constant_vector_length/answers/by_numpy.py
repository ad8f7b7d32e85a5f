"""Measured with NumPy, whose number is made a plain one."""

import numpy as np


def constant_vector_length(c, k):
    return float(np.linalg.norm(np.full(k, c, dtype=np.float64)))
