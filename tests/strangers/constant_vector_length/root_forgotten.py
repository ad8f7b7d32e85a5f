# wrong: the square of the length
# expect: root-forgotten
def constant_vector_length(c, k):
    total = 0
    for _ in range(k):
        total += c * c
    return total
