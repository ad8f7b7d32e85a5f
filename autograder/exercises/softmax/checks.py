"""Checks of `softmax(scores, dim=-1)`: weights of the shape of the scores, by exp, maximum and sum.

Checks that are not about the values in general start with `picking`, an easy case. Code that is not a softmax gets no
points there, while a wrong shift does not cost the points for, say, the device. Only the checks of -inf use it.
"""

import torch

from ...checks import source_text
from ...checks.api import (
    HUGE,
    CheckFailed,
    check,
    close,
    does_without,
    gradient,
    on_cuda,
    on_meta,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ..families import easy_cases
from ..reference import plain, qkv

B, T, S = 2, 3, 5
INF = float("inf")
HUGE_TOLERANCE = 1e-2  # exp(s - log of the sum) is right as well; with both at 1e4, it is off by about 1e-3


def picking(submission, draw):
    """The function, after it has passed easy cases: scores that are nearly equal, two far above the rest, mild ones.

    By how much the weights differ is not checked, since that depends on the base and on the shift.
    """
    softmax, scores = submission.function("softmax"), 2 + draw.normal(2 * B, S, scale=1e-3)
    high = easy_cases.shuffled(draw, torch.arange(S) < 2)
    scores[1] += torch.where(high, 28.0, -7.0)
    scores[2:] = draw.normal(B, S)
    got = softmax(scores)
    shape(got, scores.shape, "the weights")
    close(got.sum(1), torch.ones(2 * B), "the sum of the weights of a row")
    easy_cases.mixes(got[None, 2:], scores[None, 2:], torch.eye(S)[None], "each row of the weights of mild scores")
    close(got[0], torch.full((S,), 1 / S), "the weights of scores that are nearly equal", tolerance=1e-2)
    close(got[1, high], got[1, high].double().mean().expand(2), "two weights of nearly equal scores", tolerance=1e-2)
    if not 0 < got[1, ~high].max() < 0.9 * got[1, high].min():
        raise CheckFailed("Scores far below others do not get weights that are above 0, and below those of the others.")
    return softmax


@check("values", points=0.5)
def test_last_dimension(submission, draw):
    """Without `dim`, the weights along the last dimension are exp(score) divided by the sum of all of them."""
    scores = draw.normal(B, T, S)
    close(submission.function("softmax")(scores), plain.softmax(scores), "the weights")


@check("shape", points=0.5)
def test_any_dimension(submission, draw):
    """`dim`, by position or by name, says along which dimension weights sum to 1, for scores of any shape."""
    softmax = submission.function("softmax")
    cases = [(draw.normal(B, T, S), dim) for dim in (0, 1, 2, -1, -2, -3)]
    cases += [(draw.normal(4, 4, 4), dim) for dim in (0, 1)] + [(draw.normal(S), 0), (draw.normal(B, T, 4, S), 2)]
    cases += [(draw.normal(B, S, T).mT, 1), (draw.normal(1, S), 0), (draw.normal(1, S), 1)]
    got = [softmax(scores, dim) if dim >= 0 else softmax(scores, dim=dim) for scores, dim in cases]
    for weights, (scores, dim) in zip(got, cases, strict=True):
        close(weights, plain.softmax(scores, dim), f"the weights for shape {tuple(scores.shape)} with dim={dim}")


@check("numerics", points=0.5)
def test_large_scores(submission, draw):
    """Scores of ±10,000 give no NaN and no infinity, and the right weights."""
    right_at(submission, draw, [extreme(draw, B, T, S), extreme(draw, B, S, T).mT, -HUGE + draw.normal(B, S)])


@check("numerics", points=0.5)
def test_large_scores_beside_mild_ones(submission, draw):
    """Slices of very different size side by side all get the right weights: around 10,000, around 0, around -10,000."""
    scores = draw.normal(4, S)
    scores[1] += HUGE
    scores[3] -= HUGE
    right_at(submission, draw, [scores])


def extreme(draw, *shape):
    scores = draw.normal(*shape)
    return scores * (HUGE / scores.abs().max().item())


def right_at(submission, draw, cases):
    softmax = picking(submission, draw)
    got = [softmax(scores) for scores in cases]
    for weights, scores in zip(got, cases, strict=True):
        close(weights, plain.softmax(scores), "the weights", tolerance=HUGE_TOLERANCE)


def with_holes(draw, dim=-1, dtype=torch.float32, grad=False):
    """Scores with some -inf, but not all of any slice along `dim`, and True where the -inf are."""
    size = (B, T, S)[dim]
    holes = ~draw.mask(*(n for i, n in enumerate((B, T, S)) if i != dim % 3), size).movedim(-1, dim)
    scores = draw.normal(B, T, S, dtype=torch.float64).masked_fill(holes, -INF)
    return scores.to(dtype).requires_grad_(grad), holes


@check("masking", points=0.5)
def test_minus_infinity(submission, draw):
    """A score of -inf gets a weight of exactly 0, and the others share everything."""
    softmax = picking(submission, draw)
    cases = [(with_holes(draw, dim), dim) for dim in (-1, 1, 0)]
    got = [softmax(scores, dim) for (scores, _), dim in cases]
    for weights, ((scores, holes), dim) in zip(got, cases, strict=True):
        close(weights, plain.softmax(scores, dim), f"the weights with dim={dim}")
        if weights[holes].any():
            raise CheckFailed("The weights of scores of -inf are tiny, but not 0.")


@check("masking", points=0.5)
def test_nothing_but_minus_infinity(submission, draw):
    """A slice in which all scores are -inf gets weights 0, not NaN."""
    softmax = picking(submission, draw)
    row, column = draw.integer(0, T - 1), draw.integer(0, S - 1)
    scores, turned = draw.normal(B, T, S), draw.normal(B, T, S)
    scores[:, row], turned[:, :, column] = -INF, -INF
    got, got_turned, got_alone = softmax(scores), softmax(turned, 1), softmax(torch.full((S,), -INF))
    close(got, plain.softmax(scores), "the weights")
    close(got_turned, plain.softmax(turned, 1), "the weights with dim=1")
    close(got_alone, torch.zeros(S), "the weights of a vector of -inf")


@check("gradients", points=0.5)
def test_gradients(submission, draw):
    """The weights pass the right gradients back to the scores, along any dimension."""
    picking(submission, draw)
    for dim in (-1, 0):
        right_gradients(submission, draw, draw.normal(B, T, S, dtype=torch.float64, grad=True), dim)


@check("gradients", points=0.5)
def test_gradients_with_minus_infinity(submission, draw):
    """Where scores are -inf, some of a slice or all of it, the gradients are finite and right (0 at those scores)."""
    picking(submission, draw)
    some, _ = with_holes(draw, dtype=torch.float64)
    every = some.clone()
    every[:, draw.integer(0, T - 1)] = -INF
    for scores in (some, every):
        right_gradients(submission, draw, scores.requires_grad_(), -1)


def right_gradients(submission, draw, scores, dim):
    """Raises CheckFailed unless the gradients of random numbers times the weights are those of the reference."""
    upstream = draw.normal(*scores.shape, dtype=torch.float64)
    got = submission.function("softmax").gradients(scores, dim, upstream=upstream)
    right = qkv.gradients([plain.softmax(scores, dim)], [upstream], [scores])
    gradient(got.inputs[0], right[0], "the scores", torch.float64)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    softmax, dtypes = submission.function("softmax"), (torch.float64, torch.float16, torch.bfloat16)
    given = [draw.normal(B, T, S, dtype=dtype) for dtype in dtypes]
    got = [softmax(scores) for scores in given]
    for weights, scores, dtype in zip(got, given, dtypes, strict=True):
        close(weights, plain.softmax(scores), "the weights", dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """The weights lie on the device of the scores, and nothing is made elsewhere (tried on `meta`)."""
    softmax = picking(submission, draw)
    got = [softmax.on("meta", draw.normal(B, T, S)), softmax.on("meta", draw.normal(B, T, S), 1)]
    for weights in got:
        on_meta(weights, (B, T, S), "the weights")


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """The scores stay as they were, and a second call with the same gives the same."""
    softmax, scores = picking(submission, draw), draw.normal(B, T, S)
    holes, _ = with_holes(draw)
    holes[:, 0] = -INF
    first = softmax(scores)
    unchanged(submission)
    softmax(holes, 1)
    unchanged(submission)
    close(softmax(scores), first.double(), "what the second call returns")


@check("values", points=0.5)
def test_made_by_hand(submission, draw):
    """It is made of exp, maximum and sum, without torch's softmax, log-softmax, logsumexp or attention functions."""
    scores = draw.normal(B, S)
    close(submission.function("softmax")(scores), plain.softmax(scores), "the weights")
    does_without(submission, "softmax", source_text.TORCHS_SOFTMAX)


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the weights are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        scores = draw.normal(B, T, S, dtype=dtype)
        got = submission.function("softmax").on("cuda", scores)
        stayed_on_cuda(submission, "The weights are", "where the scores are")
        close(got, plain.softmax(scores), "the weights", dtype=dtype)
