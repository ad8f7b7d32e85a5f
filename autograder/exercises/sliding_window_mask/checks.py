"""Checks of `sliding_window_mask(t, window)`: (t, t), boolean, each token sees itself and the window − 1 before it.

What a slip in the band costs, it costs in the checks of its values: those about something else start with `a_band`.
"""

import torch

from ...checks.api import CheckFailed, Draw, boolean, check, gate, pattern, refuses, shape, tensor
from ...checks.proxies import Proxy, Submission
from ..reference import cached

NO_DEVICE = "It gets two numbers, so nothing says on which device its mask should lie."

T, WINDOW = 7, 3


def some_bands() -> torch.Tensor:
    """(n, T, T): bands whose two edges are where they should be or one off, either way round, and what they hide."""
    back = torch.arange(T)[:, None] - torch.arange(T)[None, :]
    edges = [(low, high) for low in (-T, -WINDOW, 1 - WINDOW, -1, 0, 1) for high in (WINDOW - 2, WINDOW - 1, WINDOW, T)]
    bands = torch.stack([(low <= back) & (back <= high) for low, high in edges if (low, high) != (-T, T)])
    bands = torch.cat([bands, bands.mT])
    return torch.cat([bands, ~bands])


@gate()
def a_band(submission: Submission) -> tuple[Proxy, torch.Tensor]:
    """The function and its mask of T tokens, in which a band along the diagonal is told from the rest."""
    sliding_window_mask = submission.function("sliding_window_mask")
    mask = tensor(sliding_window_mask(T, WINDOW), "the mask")
    square = mask.reshape(mask.shape[-2:]) if mask.numel() == T * T and mask.dim() > 1 else mask
    shape(square, (T, T), "the mask")
    seen = square == 0 if square.dtype.is_floating_point and (square < 0).any() else square != 0  # to be added
    if not (some_bands() == seen)[:, WINDOW - 1 :].all(-1).all(-1).any():  # where the window is full
        raise CheckFailed("The mask does not tell the tokens in the window from the others.")
    return sliding_window_mask, mask


@check("values", points=0.5)
def test_not_the_future(submission: Submission, draw: Draw) -> None:
    """Each token sees itself, and no token sees a later one."""
    sliding_window_mask, t = submission.function("sliding_window_mask"), draw.integer(6, 9)
    mask = sliding_window_mask(t, draw.integer(2, t - 2))
    shape(mask, (t, t), "the mask")
    pattern(mask[torch.ones(t, t).triu() == 1], torch.eye(t, dtype=torch.bool)[torch.ones(t, t).triu() == 1], "it")


@check("values", points=0.5)
def test_the_window(submission: Submission, draw: Draw) -> None:
    """Each token sees as many tokens as the window holds, itself included, or all so far if these are fewer."""
    sliding_window_mask, t = submission.function("sliding_window_mask"), draw.integer(8, 11)
    for window in (3, draw.integer(4, t - 2), 2):
        pattern(sliding_window_mask(t, window), cached.sliding_window(t, window), f"the mask for a window of {window}")


@check("values", points=0.5)
def test_smallest_and_largest(submission: Submission, draw: Draw) -> None:
    """A window of 1 leaves each token alone with itself, and one of t or more is the causal mask."""
    sliding_window_mask, t = submission.function("sliding_window_mask"), draw.integer(5, 9)
    windows = (1, t - 1, t, t + 1, 10 * t)
    got = [sliding_window_mask(t, window) for window in windows]
    for window, mask in zip(windows, got, strict=True):
        pattern(mask, cached.sliding_window(t, window), f"the mask of {t} tokens for a window of {window}")


@check("shape", points=0.5)
def test_any_size(submission: Submission, draw: Draw) -> None:
    """The mask has the shape (t, t), for one token as for many, and each call goes by its own t and window."""
    sliding_window_mask, long = submission.function("sliding_window_mask"), draw.integer(65, 130)
    sizes = (2, 1), (1, 1), (1, 4), (33, 5), (3, 2), (long, 17), (16, 5), (16, 3)
    for (t, window), got in [(size, sliding_window_mask(*size)) for size in sizes]:
        pattern(got, cached.sliding_window(t, window), f"the mask of {t} tokens for a window of {window}")


@check("values", points=0.5)
def test_boolean(submission: Submission) -> None:
    """The mask holds booleans, not numbers."""
    _, mask = a_band(submission)
    boolean(mask, mask != 0)


@check("arguments", points=0.5)
def test_window_below_one(submission: Submission) -> None:
    """A window of 0 tokens, or of fewer, is refused with a `ValueError`; one of 1 is not."""
    sliding_window_mask, _ = a_band(submission)
    shape(sliding_window_mask(T, 1), (T, T), "the mask for a window of 1")
    refuses(sliding_window_mask.error(T, 0), "a window of 0")
    refuses(sliding_window_mask.error(T, -2), "a window of -2")
