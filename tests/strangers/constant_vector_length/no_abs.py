# wrong: a negative c gives a negative length
import math


def constant_vector_length(c, k):
    return c * math.sqrt(k)
