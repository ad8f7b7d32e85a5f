"""Checks of `top_p(logits, p)`: (…, vocab) -> the same, with -inf where a token is not to be drawn."""

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    name_of,
    on_cuda,
    pattern,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.proxies import Submission
from ..reference import language

MILD = torch.tensor([0.5, -0.25, 0.0, 0.25])  # all of them stay for p = 1, whatever is rounded
NEAR = 0.01  # a p this near to a sum of probabilities is not tried, since rounding could decide


def drawn(
    draw: Draw, *sizes: int, dtype: torch.dtype = torch.float32, scale: float = 2.0, least: float = 0.5
) -> tuple[torch.Tensor, float]:
    """Logits (…, vocab), and a p at which several tokens stay and several go, in every row."""
    while True:
        logits, p = draw.normal(*sizes, dtype=dtype, scale=scale), least + 0.04 * draw.integer(0, 10)
        left = language.nucleus(logits, p).sum(-1)
        if language.margin(logits, p) > NEAR and left.min() > 1 and left.max() < sizes[-1] - 1:
            return logits, p


def drawn_apart(draw: Draw, size: int) -> tuple[torch.Tensor, float]:
    """The same for one row of logits that all differ, and that keep their digits in float32 when 10,000 is added."""
    while True:
        logits, p = drawn(draw, size)
        coarse = (64 * logits).round() / 64
        if len(coarse.unique()) == size and language.margin(coarse, p) > NEAR:
            return coarse, p


def stays(submission: Submission, logits: torch.Tensor, p: float) -> torch.Tensor:
    """Raises CheckFailed unless the right tokens stay; returns what came."""
    got = tensor(submission.function("top_p")(logits, p))
    shape(got, logits.shape)
    expected = language.nucleus(logits, p)
    pattern(got.isfinite(), expected, "the pattern of those that stay")
    if not (got[~expected] == -torch.inf).all():
        raise CheckFailed("A token that is not to be drawn should have minus infinity.")
    return got


def cut(submission: Submission, logits: torch.Tensor, p: float) -> torch.Tensor:
    """What comes for logits of which some tokens should stay in each row, and some go. Raises CheckFailed otherwise.

    Which ones they are, two checks ask; that much is enough for the others.
    """
    got = tensor(submission.function("top_p")(logits, p))
    shape(got, logits.shape)
    if got.isfinite().all():
        raise CheckFailed("Nothing is cut off: no token has minus infinity.")
    if not got.isfinite().any(-1).all():
        raise CheckFailed("Nothing is left that could be drawn.")
    return got


@check("values", points=0.5)
def test_nucleus(submission: Submission, draw: Draw) -> None:
    """The fewest of the likeliest tokens whose probabilities together are at least p stay, the others get -inf."""
    for shift in (0.0, -8.0):  # what is added to all logits changes no probability
        logits, p = drawn(draw, 12)
        stays(submission, logits + shift, p)
    stays(submission, *drawn(draw, 24, scale=0.4, least=0.3))  # many stay, by which mistakes are told from each other


@check("values", points=0.5)
def test_the_likeliest_always_stays(submission: Submission, draw: Draw) -> None:
    """The likeliest token stays even where it alone has more than p, and where p is tiny."""
    logits = draw.normal(11)
    logits[draw.integer(0, 10)] += 9
    for p in (0.6, 0.05, 1e-6):
        stays(submission, logits, p)
    stays(submission, *drawn(draw, 12))


@check("shape", points=0.5)
def test_each_row(submission: Submission, draw: Draw) -> None:
    """Each row is judged by itself, with any number of leading dimensions, and not contiguous ones as well."""
    top_p = submission.function("top_p")
    turned, share = drawn(draw, 3, 12)
    for logits, p in (*(drawn(draw, *sizes) for sizes in ((5, 12), (2, 3, 10), (1, 1, 11))), (turned, share)):
        rows = logits.reshape(-1, logits.shape[-1])
        left = cut(submission, logits, p).isfinite().reshape(rows.shape)[-1]
        pattern(tensor(top_p(rows[-1], p)).isfinite(), left, "the pattern of those that stay, for one row alone,")
    pattern(cut(submission, turned.T.contiguous().T, share).isfinite(), cut(submission, turned, share).isfinite())


@check("values", points=0.5)
def test_logits_stay(submission: Submission, draw: Draw) -> None:
    """The logits of those that stay are not changed, and stand where they stood."""
    for sizes in ((13,), (4, 12)):
        logits, p = drawn(draw, *sizes)
        got = cut(submission, logits, p)
        left = got.isfinite()
        close(torch.where(left, got, torch.zeros_like(got)), torch.where(left, logits, 0.0), "what stays")


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """The dtype stays, logits of ±10,000 are no trouble, and what comes in is not changed."""
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        logits, p = drawn(draw, 2, 8, dtype=dtype)
        got = cut(submission, logits, p)
        unchanged(submission)
        if got.dtype != dtype:
            raise CheckFailed(f"The dtype should be the input's, {name_of(dtype)}, but it is {name_of(got.dtype)}.")
        pattern(got.isfinite(), cut(submission, logits.double(), p).isfinite(), "the pattern of those that stay")
    logits, p = drawn_apart(draw, 9)
    far = torch.cat([logits.double() + 1e4, torch.tensor([-1e4], dtype=torch.float64)])
    pattern(
        cut(submission, far, p).isfinite()[:9], cut(submission, logits, p).isfinite(), "the pattern of those that stay"
    )


@check("arguments", points=0.5)
def test_refused(submission: Submission, draw: Draw) -> None:
    """A p of 0 or less, or above 1, is refused with a `ValueError`, and one of 1 is not."""
    logits, p = drawn(draw, 9)
    cut(submission, logits, p)
    top_p = submission.function("top_p")
    close(top_p(MILD, 1.0), MILD, "what stays for p = 1")
    for bad in (0.0, -0.3, 1.2):
        refuses(top_p.error(logits, bad), f"p = {bad}")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the same tokens stay, and the result stays there."""
    on_cuda(submission)
    logits, p = drawn(draw, 3, 12)
    got = submission.function("top_p").on("cuda", logits, p)
    pattern(got.isfinite(), language.nucleus(logits, p), "the pattern of those that stay")
    stayed_on_cuda(submission)
