"""Checks of `moving_average(x, window)`: (n,) -> (n - window + 1,)."""

from autograder.checks import check, close, refuses


def right(x, window):
    return x.double().unfold(0, window, 1).mean(dim=1)


@check("values", points=2)
def test_values(submission, draw):
    """Each number is the mean of its window, for all windows that fit."""
    x, average = draw.normal(6), submission.function("moving_average")
    for window in (1, 2, 3, 6):
        close(average(x, window), right(x, window), f"the averages over {window}")


@check("arguments", points=1)
def test_too_wide(submission, draw):
    """A window that is too wide is refused with a `ValueError`."""
    x, average = draw.normal(4), submission.function("moving_average")
    close(average(x, 2), right(x, 2))
    refuses(average.error(x, 5), "a window of 5 over 4 numbers")
