"""The root of the sum, with the standard library."""

import math


def constant_vector_length(c, k):
    return math.sqrt(k * c**2)
