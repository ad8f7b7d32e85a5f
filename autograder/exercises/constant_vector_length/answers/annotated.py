"""Type hints, a helper, and a print."""

from math import fabs, sqrt

Number = int | float


def sum_of_squares(c: Number, k: int) -> float:
    return float(k) * float(c) * float(c)


def constant_vector_length(c: Number, k: int) -> float:
    length: float = sqrt(sum_of_squares(c, k))
    print(f"{k} entries of {c}: about {fabs(length):.3f}")
    return length
