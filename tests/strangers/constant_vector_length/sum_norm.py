# wrong: the sum of the entries, not the Euclidean length
# expect: entries-added-up
def constant_vector_length(c, k):
    return abs(c) * k
