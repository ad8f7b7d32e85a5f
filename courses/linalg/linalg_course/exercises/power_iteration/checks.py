"""Checks of `power_iteration(a, x, steps)`: (n, n), (n,) -> (a number, (n,))."""

import numpy as np

from autograder.checks import check, close, easy_case, pair

BOTH = "`(value, vector)`"


def right(a, x, steps):
    for _ in range(steps):
        x = a @ x
        x = x / np.sqrt((x * x).sum())
    return (x * (a @ x)).sum(), x


def symmetric(draw, n):
    b = draw.array(n, n)
    return b + b.T


@easy_case
def one_step(submission, draw):
    a, x = symmetric(draw, 3), draw.array(3)
    vector = pair(submission.function("power_iteration")(a, x, 1), BOTH)[1]
    close(vector, right(a, x, 1)[1], "the vector after one step")


@check("values", points=1.5)
def test_vector(submission, draw):
    """The vector is that of so many steps, and has length 1."""
    power_iteration = submission.function("power_iteration")
    for n, steps in ((3, 1), (4, 2), (5, 5)):
        a, x = symmetric(draw, n), draw.array(n)
        vector = pair(power_iteration(a, x, steps), BOTH)[1]
        close(vector, right(a, x, steps)[1], f"the vector after {steps} step{'s' * (steps > 1)}")


@check("values", points=1.5)
def test_value(submission, draw):
    """The value is the one by which the matrix stretches this vector, with its sign."""
    one_step(submission, draw)
    power_iteration = submission.function("power_iteration")
    for sign in (1, -1):
        b, x = draw.array(4, 4), draw.array(4)
        a = sign * (b @ b.T)
        close(pair(power_iteration(a, x, 3), BOTH)[0], right(a, x, 3)[0], "the value")


@check("numerics", points=1)
def test_many_steps(submission, draw):
    """After 400 steps with a matrix of large numbers nothing has overflowed."""
    one_step(submission, draw)
    q, _ = np.linalg.qr(draw.array(3, 3))
    a = q @ np.diag([1000.0, 300.0, -100.0]) @ q.T
    value, vector = pair(submission.function("power_iteration")(a, q.sum(1), 400), BOTH)
    close(value, 1000.0, "the value after 400 steps")
    close(vector, q[:, 0], "the vector after 400 steps")
