# wrong: a negative c gives a negative length
# expect: sign-kept
import math


def constant_vector_length(c, k):
    return c * math.sqrt(k)
