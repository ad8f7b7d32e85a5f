"""Checks of `NAME(x)`: TODO shapes, such as (n,) -> (n,)."""

from autograder.checks import check, close


def right(x):
    return 2 * x.double()  # TODO: what is right, in double precision


@check("values", points=1)
def test_values(submission, draw):
    """TODO: each value is what the text asks for."""
    x = draw.normal(5)
    close(submission.function("NAME")(x), right(x))
