"""Checks of `softmax(scores, dim=-1)`: weights of the shape of the scores, by exp, maximum and sum.

Checks that are not about the values in general start with `weighing`, an easy case. Code that is not a softmax gets no
points there, while a wrong shift, or one dimension only, does not cost the points for, say, the device. What a slice of
nothing but -inf gives is left open: `attention` asks for that, where masks are.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks import source_text
from ...checks.api import (
    HUGE,
    CheckFailed,
    Draw,
    StudentError,
    check,
    close,
    does_without,
    gradient,
    on_cuda,
    on_meta,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import digits, easy_cases
from ..families.in_parts import Way, first_right, rows
from ..reference import plain, qkv

B, T, S = 2, 3, 5
INF = float("inf")
HUGE_TOLERANCE = 1e-2  # exp(s - log of the sum) is right as well; with both at 1e4, it is off by about 1e-3


def weighing(submission: Submission, draw: Draw) -> Way:
    """The function as a Way to get the weights of a matrix's rows, after it has passed an easy case that way."""
    return ways(submission)[weighs(submission, draw)]


def ways(submission: Submission) -> list[Way]:
    """The Ways to call the function that are tried in the easy case, in order."""
    softmax = submission.function("softmax")
    return [Way(softmax, args=(-1,)), Way(softmax), Way(softmax, rows)]


@easy_case
def weighs(submission: Submission, draw: Draw) -> int:
    """Which of the Ways passes an easy case.

    The function is asked with `dim=-1`; if that fails, without `dim`; and then, if it is one for vectors only, row by
    row.
    """
    softmax, scores = submission.function("softmax"), 2 + draw.normal(2 * B, S, scale=1e-3)
    high = easy_cases.shuffled(draw, torch.arange(S) < 2)
    scores[1] += torch.where(high, 4.0, -3.0)
    mild = torch.tensor([-1.0, -0.6, 0.1, 0.7, 1.0])
    scores[2:] = torch.stack([size * easy_cases.shuffled(draw, mild) for size in (0.5, 2.0)])

    def easy(way: Way) -> None:
        if way.split is rows and not for_vectors_only(softmax, scores[2:]):
            raise CheckFailed("The weights of a matrix are wrong.")
        looks_like_a_softmax(way(scores), scores, high)

    tried = ways(submission)
    return tried.index(first_right(tried, easy))


def for_vectors_only(softmax: Proxy, scores: torch.Tensor) -> bool:
    """Whether it fails for a matrix, or takes all of it for one vector, so that its weights sum to 1 altogether."""
    try:
        got = softmax(scores)
    except StudentError:
        return True
    return isinstance(got, torch.Tensor) and abs(got.double().sum().item() - 1) < 1e-3


def looks_like_a_softmax(got: torch.Tensor, scores: torch.Tensor, high: torch.Tensor) -> None:
    """Raises CheckFailed unless the rows of `got` are weights, by a softmax with any base.

    The scores of the first row are nearly equal; in the second, two are `high`; the others are mild.
    """
    close(got.sum(1), torch.ones(2 * B), "the sum of the weights of a row", tolerance=1e-2)
    for weights, row in zip(got[2:], scores[2:], strict=True):  # the base may differ from row to row
        easy_cases.mixes(weights[None, None], row[None, None], torch.eye(S)[None], "each row of weights")
    close(got[0], torch.full((S,), 1 / S), "the weights of scores that are nearly equal", tolerance=1e-2)
    close(got[1, high], got[1, high].double().mean().expand(2), "two weights of nearly equal scores", tolerance=1e-2)
    if not 0 < got[1, ~high].max() < 0.9 * got[1, high].min():
        raise CheckFailed("Scores far below others do not get weights that are above 0, and below those of the others.")


@check("values", points=0.25)
def test_last_dimension(submission: Submission, draw: Draw) -> None:
    """Without `dim`, the weights along the last dimension are exp(score) divided by the sum of all of them."""
    scores = draw.normal(B, T, S)
    close(submission.function("softmax")(scores), plain.softmax(scores), "the weights")


@check("shape", points=0.5)
def test_any_dimension(submission: Submission, draw: Draw) -> None:
    """`dim`, by position or by name, says along which dimension weights sum to 1, for scores of any shape."""
    softmax = submission.function("softmax")
    cases = [(draw.normal(B, T, S), dim) for dim in (0, 1, 2, -1, -2, -3)]
    cases += [(draw.normal(4, 4, 4), dim) for dim in (0, 1)] + [(draw.normal(S), 0), (draw.normal(B, T, 4, S), 2)]
    cases += [(draw.normal(B, S, T).mT, 1), (draw.normal(1, S), 0), (draw.normal(1, S), 1), (draw.normal(S, 1), 1)]
    cases += [(draw.normal(B, 1, T, 4, S), 3), (draw.normal(9, 33, 130), 2), (draw.normal(130, 24), 0)]
    got = [softmax(scores, dim) if dim >= 0 else softmax(scores, dim=dim) for scores, dim in cases]
    for weights, (scores, dim) in zip(got, cases, strict=True):
        close(weights, plain.softmax(scores, dim), f"the weights for shape {tuple(scores.shape)} with dim={dim}")


@check("numerics", points=1.5)
def test_large_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, and the right weights."""
    right_at(submission, draw, [moderate(draw), extreme(draw, T, S), -HUGE + draw.normal(B, S)])


def moderate(draw: Draw) -> torch.Tensor:
    """Scores (4, 5) of a size at which it shows by NaN, infinity or 0 what was subtracted before `exp`."""
    rows = [[100.0] * S, [-100.0] * S, [0.0] * (S - 1) + [120.0], [110.0] * (S - 1) + [-110.0]]
    return torch.stack([easy_cases.shuffled(draw, torch.tensor(row)) for row in rows]) + draw.normal(4, S)


@check("numerics", points=1.5)
def test_large_scores_beside_mild_ones(submission: Submission, draw: Draw) -> None:
    """Slices of very different size side by side all get the right weights: around 10,000, around 0, around -10,000."""
    scores = draw.normal(4, S)
    scores[1] += HUGE
    scores[3] -= HUGE
    scores[3, draw.integer(0, S - 1)] = -INF  # which is far lower still
    weigh = weighing(submission, draw)
    if weigh.split is rows:  # one vector at a time would have nothing beside it
        weigh = Way(weigh.proxy)
    close(weigh(scores), plain.softmax(scores), "the weights", tolerance=HUGE_TOLERANCE)


def extreme(draw: Draw, *shape: int) -> torch.Tensor:
    scores = draw.normal(*shape)
    return scores * (HUGE / scores.abs().max().item())


def right_at(submission: Submission, draw: Draw, cases: Sequence[torch.Tensor]) -> None:
    weigh = weighing(submission, draw)
    got = [weigh(scores) for scores in cases]
    for weights, scores in zip(got, cases, strict=True):
        close(weights, plain.softmax(scores), "the weights", tolerance=HUGE_TOLERANCE)


def with_holes(draw: Draw, **how: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (6, 5) with some -inf, but not all of any row, and True where the -inf are."""
    holes = ~draw.mask(B * T, S)
    return draw.normal(B * T, S, **how).masked_fill(holes, -INF), holes


@check("masking", points=0.25)
def test_minus_infinity(submission: Submission, draw: Draw) -> None:
    """A score of -inf gets a weight of exactly 0, and the others share everything, in half precision as well."""
    weigh = weighing(submission, draw)
    (scores, holes), (half, _) = with_holes(draw), with_holes(draw, dtype=torch.float16)
    got, got_half = weigh(scores), weigh(half)
    close(got, plain.softmax(scores), "the weights")
    close(got_half, plain.softmax(half), "the weights in half precision", tolerance=1e-2)
    if got[holes].any():
        raise CheckFailed("The weights of scores of -inf are tiny, but not 0.")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The weights pass the right gradients back to the scores, also where some are -inf (0 at those)."""
    some, _ = with_holes(draw)
    for scores in (draw.normal(B * T, S, grad=True), some.requires_grad_()):
        right_gradients(submission, draw, scores)


def right_gradients(submission: Submission, draw: Draw, scores: torch.Tensor) -> None:
    """Raises CheckFailed unless the gradients of random numbers times the weights are those of the reference."""
    weigh, upstream = weighing(submission, draw), draw.normal(*scores.shape)
    right = qkv.gradients([plain.softmax(scores)], [upstream.double()], [scores])
    gradient(weigh.gradient(scores, upstream), right[0], "the scores")


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    weigh = weighing(submission, draw)
    distinct = draw.normal(B, S, dtype=torch.float64)
    distinct[:, draw.integer(0, S - 1)] += 60
    digits.sums_to_one(submission, weigh.sample(distinct).sum(1), "the weights")
    scores = draw.normal(B, S, dtype=torch.float64)
    digits.all_of_float64(submission, [weigh.sample(scores)], [plain.softmax(scores)], "the weights")
    given = [draw.normal(B, S, dtype=dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16)]
    got = [weigh(scores) for scores in given]
    for weights, scores in zip(got, given, strict=True):
        close(weights, plain.softmax(scores), "the weights", dtype=scores.dtype)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The weights lie on the device of the scores, and nothing is made elsewhere (tried on `meta`)."""
    on_meta(weighing(submission, draw).on("meta", draw.normal(T, S)), (T, S), "the weights")


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The scores stay as they were, and a second call with the same gives the same."""
    weigh, scores = weighing(submission, draw), draw.normal(T, S)
    holes, _ = with_holes(draw)
    first = weigh(scores)
    unchanged(submission)
    weigh(holes)
    unchanged(submission)
    close(weigh(scores), first.double(), "what the second call returns")


@check("values", points=1)
def test_made_by_hand(submission: Submission, draw: Draw) -> None:
    """It is made of exp, maximum and sum, without torch's softmax, log-softmax, logsumexp or attention functions."""
    weighs(submission, draw)
    try:
        does_without(submission, "softmax", source_text.TORCHS_SOFTMAX)
    except CheckFailed as failure:
        submission.note("by hand", False)  # which no value shows
        raise failure from None


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the weights are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        scores = draw.normal(B, T, S, dtype=dtype)
        got = submission.function("softmax").on("cuda", scores)
        stayed_on_cuda(submission, "The weights are", "where the scores are")
        close(got, plain.softmax(scores), "the weights", dtype=dtype)
