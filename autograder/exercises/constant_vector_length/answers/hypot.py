"""`math.hypot` knows the length of a vector of any number of entries."""

import math


def constant_vector_length(c, k):
    return math.hypot(*[c] * k)
