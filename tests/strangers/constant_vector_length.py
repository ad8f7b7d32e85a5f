# %% no_abs: a negative c gives a negative length
# expect: sign-kept
import math


def constant_vector_length(c, k):
    return c * math.sqrt(k)

# %% root_forgotten: the square of the length
# expect: root-forgotten
def constant_vector_length(c, k):
    total = 0
    for _ in range(k):
        total += c * c
    return total

# %% sum_norm: the sum of the entries, not the Euclidean length
# expect: entries-added-up
def constant_vector_length(c, k):
    return abs(c) * k
