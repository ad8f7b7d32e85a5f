"""The formula."""


def constant_vector_length(c, k):
    return abs(c) * k**0.5
