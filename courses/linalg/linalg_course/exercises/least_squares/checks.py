"""Checks of `least_squares(a, b)`: (m, n), (m,) -> (n,)."""

import numpy as np

from autograder.checks import check, close, does_without, easy_case

READY_MADE = ("lstsq", "pinv", "qr", "svd")
NEARLY_PARALLEL = (1e-7, 1e-9)  # how far apart the columns of a matrix are; the squares are below rounding


def right(a, b):
    return np.linalg.lstsq(a, b, rcond=None)[0]


@easy_case
def of_a_square_matrix(submission, draw):
    a, x = draw.array(3, 3) + 4 * np.eye(3), draw.array(3)
    close(submission.function("least_squares")(a, a @ x), x, "the solution of three equations")


@check("values", points=2)
def test_values(submission, draw):
    """The residual is as small as it can be: with many rows, with as many as columns, and with one column."""
    least_squares = submission.function("least_squares")
    for m, n in ((9, 3), (4, 4), (6, 1)):
        a, b = draw.array(m, n) + 2 * np.eye(m, n), draw.array(m)
        close(least_squares(a, b), right(a, b), f"the solution for {m} rows and {n} columns")


@check("numerics", points=1.5)
def test_columns_that_are_nearly_parallel(submission, draw):
    """Columns that differ by one part in ten million, or in a thousand million, lose no digits that matter."""
    of_a_square_matrix(submission, draw)
    for small in NEARLY_PARALLEL:
        a = np.vstack([np.ones(3), small * np.diag(1 + np.abs(draw.array(3)))])
        x = draw.array(3)
        close(submission.function("least_squares")(a, a @ x), x, "the solution for columns that are nearly parallel")


@check("arguments", points=0.5, decides=True)
def test_by_hand(submission, draw):
    """The reflections are your own: `lstsq`, `pinv`, `qr` and `svd` are not used."""
    of_a_square_matrix(submission, draw)
    does_without(submission, "least_squares", READY_MADE)
