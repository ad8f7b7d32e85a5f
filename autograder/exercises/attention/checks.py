"""Checks of `attention(query, key, value, mask=None)`: (…, t, d), (…, s, d), (…, s, dv) -> (…, t, dv), (…, t, s).

Checks that are not about the values of the whole formula start with `averages`, an easy case. Code that does not attend
gets no points there, while a wrong scale does not cost the points for, say, the device. No row of a mask is empty,
except in the checks about that.

A slip costs the points of the checks that are about it. So `without_mask` makes do with a mask that hides nothing, and
`parts` with the output alone or a pair in the wrong order, and masks have the shape of the scores, but where the forms
of masks, or of what is returned, are asked for.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks import steps
from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gate,
    gradient,
    on_cuda,
    on_meta,
    pair,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ..families import easy_cases
from ..families.attention.checks import DV, B, D, H, S, T, inputs, parts, sizes
from ..reference import qkv

E = 6  # where they are all equal, so that two random masks hardly ever are
NEARLY_EXACT = 3e-10  # in float64, where the right weight is 1: a sum that is 1e-9 too large shows, always


def hiding_nothing(given: Sequence[torch.Tensor]) -> torch.Tensor:
    """A mask of all True, of the shape of the scores."""
    return torch.ones(sizes(given)[1], dtype=torch.bool)


def without_mask(attention: Proxy, given: Sequence[torch.Tensor]) -> Any:
    """What the function returns without a mask, or with one that hides nothing if it takes no None."""
    try:
        return attention(*given)
    except StudentError as error:
        try:
            return attention(*given, hiding_nothing(given))
        except StudentError:
            raise error from None


def both(
    got: Any,
    given: Sequence[torch.Tensor],
    mask: torch.Tensor | None = None,
    what: str = "",
    **how: Any,
) -> None:
    """Raises CheckFailed unless `got` holds the right output and weights for the given query, key and value."""
    output, weights = parts(got, given)
    right_output, right_weights = qkv.attention(*given, mask=mask)
    if weights is not None:
        close(weights, right_weights, f"the weights{what}", **how)
    close(output, right_output, f"the output{what}", **how)


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step at which the function goes wrong, in small cases: without a mask, then with one."""
    attention = submission.function("attention")

    def case(times: float, mask: torch.Tensor | None = None) -> steps.Case:
        given = draw.normal(B, T, D), times * draw.normal(B, 3, D), draw.normal(B, 3, DV)
        got = attention(*given, mask) if mask is not None else without_mask(attention, given)
        return steps.Case(parts(got, given)[0], qkv.attention(*given, mask=mask)[0], given[2])

    return steps.first_wrong(lambda: case(0), lambda: case(1), ("mask", lambda: case(1, draw.mask(B, T, 3))))


def averages(submission: Submission, draw: Draw) -> Proxy:
    """The function, after its output was right in an easy case."""
    averaging(submission, draw)
    return submission.function("attention")


@easy_case
def averaging(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the output is right in an easy case: queries that fit all keys to some degree, or one.

    A mask by place that nobody asked for is let through, as is a scale. The value is wider than the key, and from the
    output the weights can be told.
    """
    attention = submission.function("attention")
    query, key, scores, _ = easy_cases.matches(draw)
    given = query, key, torch.cat([key, key[..., :1]], dim=-1)
    output, _ = parts(without_mask(attention, given), given)
    shape(output, given[2].shape)
    scores = torch.stack([scores, query[1] @ key[1].mT])
    easy_cases.mixes(output, scores, given[2], "the output of mild scores", any_mask=True)


def unmasked(submission: Submission, draw: Draw) -> Proxy:
    """The function, after it was right without a mask."""
    right_unmasked(submission, draw)
    return submission.function("attention")


@easy_case
def right_unmasked(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is right without a mask, so that a failure there is not blamed on masks."""
    attention, given = submission.function("attention"), inputs(draw, B)
    both(without_mask(attention, given), given, what=" without a mask")


@check("shape", points=0.5)
def test_shapes(submission: Submission, draw: Draw) -> None:
    """It returns the pair `(output, weights)`, of shapes (…, t, dv) and (…, t, s), whatever t, s, d and dv are."""
    attention = averages(submission, draw)
    output, weights = pair(attention(*inputs(draw, B)))
    shape(output, (B, T, DV))
    shape(weights, (B, T, S), "the weights")


@check("values", points=0.5)
def test_weights(submission: Submission, draw: Draw) -> None:
    """Each query's weights are a softmax of its scores / √d over the keys, so every row sums to 1."""
    given = inputs(draw, B)
    _, weights = pair(without_mask(submission.function("attention"), given))
    close(weights, qkv.attention(*given)[1], "the weights")


@check("values", points=0.5)
def test_output(submission: Submission, draw: Draw) -> None:
    """The output is the sum of the values, each times its weight."""
    given = inputs(draw, B)
    output, _ = parts(without_mask(submission.function("attention"), given), given)
    close(output, qkv.attention(*given)[0])


@check("values", points=0.5)
def test_all_sizes_equal(submission: Submission, draw: Draw) -> None:
    """The values are right also when all sizes are equal, where a mix-up of dimensions does not crash."""
    given = [draw.normal(E, E, E) for _ in range(3)]
    both(without_mask(submission.function("attention"), given), given)


@check("values", points=0.5)
def test_large(submission: Submission, draw: Draw) -> None:
    """The values are right for long sequences, wide vectors, large batches and many heads as well.

    One size is large at a time: loops over everything should not take long.
    """
    attention = submission.function("attention")
    t, s, d, dv = 33, draw.integer(65, 130), draw.integer(20, 40), draw.integer(20, 40)
    cases = {
        f"{t} queries and {s} keys": [draw.normal(*size) for size in [(t, 2), (s, 2), (s, 3)]],
        f"a batch of 9 and vectors of {d} and {dv} numbers": [
            draw.normal(9, *size) for size in [(T, d), (S, d), (S, dv)]
        ],
        "a batch of 2 and 16 heads": inputs(draw, 2, 16),
    }
    got = [without_mask(attention, given) for given in cases.values()]
    for one, (what, given) in zip(got, cases.items(), strict=True):
        both(one, given, what=f" for {what}")


@check("shape", points=0.5)
def test_leading_dimensions(submission: Submission, draw: Draw) -> None:
    """Any number of leading dimensions will do: none, a batch and heads, or three."""
    attention = submission.function("attention")
    cases = {"no": inputs(draw), "two": inputs(draw, B, H), "three": inputs(draw, 2, B, H)}
    got = [without_mask(attention, given) for given in cases.values()]
    for one, (many, given) in zip(got, cases.items(), strict=True):
        both(one, given, what=f" with {many} leading dimensions")


@check("masking", points=0.5)
def test_mask(submission: Submission, draw: Draw) -> None:
    """A key that is masked out gets a weight of exactly 0, and the others share everything: rows still sum to 1."""
    attention, given, mask = unmasked(submission, draw), inputs(draw, B), draw.mask(B, T, S)
    got = attention(*given, mask)
    both(got, given, mask)
    _, weights = parts(got, given)
    if weights is not None and weights[~mask].any():
        raise CheckFailed("The weights of masked keys are tiny, but not 0.")


@check("masking", points=0.5)
def test_mask_forms(submission: Submission, draw: Draw) -> None:
    """A mask broadcasts to the scores by torch's rules, for many heads as well, and each call goes by its own mask."""
    attention = unmasked(submission, draw)
    three, four = inputs(draw, B), inputs(draw, B, H)
    equal_three, equal_four = [[draw.normal(*(E,) * many) for _ in range(3)] for many in (3, 4)]
    many, five, s = inputs(draw, 1, 9), inputs(draw, 2, B, H), draw.integer(65, 130)
    long = [draw.normal(2, *size) for size in [(33, 2), (s, 2), (s, 3)]]
    forms = [
        (three, [(S,), (B, 1, S), (B, T, S), None]),
        (four, [(T, S), (H, 1, S), (B, 1, 1, S)]),
        (equal_three, [(E,), (E, E), (E, 1, E)]),
        (equal_four, [(E,), (E, E), (E, 1, E), (E, E, E), (E, 1, 1, E), (E, E, E, E)]),
        (many, [(9, T, S)]),
        (five, [(B, 1, T, S)]),
        (long, [(33, s), (2, 1, s)]),
    ]
    cases = [(given, form and draw.mask(*form)) for given, some in forms for form in some]
    got = [attention(*given, mask) for given, mask in cases]
    given, mask = three, draw.mask(B, T, S)
    got.append(attention(*given, mask=mask))
    cases.append((given, mask))
    for one, (given, mask) in zip(got, cases, strict=True):
        form = " without a mask" if mask is None else f" with a mask of shape {tuple(mask.shape)}"
        both(one, given, mask, form)


@check("masking", points=0.5)
def test_nothing_to_attend_to(submission: Submission, draw: Draw) -> None:
    """A query that may attend to nothing gets weights 0 and output 0, not NaN."""
    attention = averages(submission, draw)
    given, row = inputs(draw, B), draw.integer(0, T - 1)
    some, column = draw.mask(B, T, S), torch.ones(T, 1, dtype=torch.bool)
    some[:, row], column[row] = False, False
    for output, weights in [parts(attention(*given, mask), given) for mask in (some, column)]:
        shape(output, (B, T, DV))
        if weights is not None:
            shape(weights, (B, T, S), "the weights")
            close(weights[:, row], torch.zeros(B, S), "what a query that sees nothing gets as weights")
        close(output[:, row], torch.zeros(B, DV), "what a query that sees nothing gets as output")


@check("gradients", points=0.5)
def test_gradients_with_nothing_to_attend_to(submission: Submission, draw: Draw) -> None:
    """With a query that may attend to nothing, all gradients are still finite and right."""
    with gate():
        right_gradients(submission, draw, None)
    mask = draw.mask(B, T, S)
    mask[:, draw.integer(0, T - 1)] = False
    right_gradients(submission, draw, mask)


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The output and the weights pass the right gradients back to query, key and value, with a mask and without."""
    right_gradients(submission, draw, None)
    right_gradients(submission, draw, draw.mask(B, T, S))


def right_gradients(submission: Submission, draw: Draw, mask: torch.Tensor | None) -> None:
    """Raises CheckFailed unless the gradients of random numbers times output and weights are those of the reference."""
    given, upstream = inputs(draw, B, grad=True), (draw.normal(B, T, DV), draw.normal(B, T, S))
    attention = submission.function("attention")
    try:
        got = attention.gradients(*given, mask, upstream=upstream)
    except StudentError:
        if mask is not None:
            raise
        got = attention.gradients(*given, hiding_nothing(given), upstream=upstream)
    expected = qkv.gradients(qkv.attention(*given, mask=mask), upstream, given)
    for name, one, right in zip(("query", "key", "value"), got.inputs, expected, strict=True):
        gradient(one, right, f"the {name}")


@check("masking", points=0.5)
def test_empty_context(submission: Submission, draw: Draw) -> None:
    """With no keys at all (s = 0) the weights have shape (…, t, 0), and the output is 0."""
    attention = averages(submission, draw)
    given = draw.normal(B, T, D), torch.zeros(B, 0, D), torch.zeros(B, 0, DV)
    output, weights = parts(without_mask(attention, given), given)
    if weights is not None:
        shape(weights, (B, T, 0), "the weights")
    close(output, torch.zeros(B, T, DV))


@check("masking", points=0.5)
def test_what_matters(submission: Submission, draw: Draw) -> None:
    """Masked keys and other batch items make no difference to a query; a key that it may attend to does."""
    attention = averages(submission, draw)
    query, key, value = inputs(draw, B)
    mask = draw.mask(S).expand(B, T, S).contiguous()
    hidden = (~mask[0, :1]).float().mT  # (s, 1): 1 for the keys that nobody may attend to
    second = torch.tensor([0.0, 1.0]).reshape(B, 1, 1)
    changes = [torch.zeros(S, 1), hidden, second, 1 - hidden]
    outputs = []
    for change in changes:
        given = query, key, value + 100 * change
        output, _ = parts(attention(*given, mask), given)
        shape(output, (B, T, DV))
        outputs.append(output)
    given = query, key + 10 * hidden, value
    moved, _ = parts(attention(*given, mask), given)
    plain, masked, other, allowed = outputs
    close(masked, plain.double(), "the output after a change of masked values")
    close(moved, plain.double(), "the output after a change of masked keys")
    close(other[0], plain[0].double(), "the output after a change of another item of the batch")
    if ((allowed - plain).abs().amax(-1) < 1e-3).any():
        raise CheckFailed("There is a query whose output stays the same when all values that it may see change.")


@check("numerics", points=0.5)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all very negative."""
    attention = submission.function("attention")
    cases = [extreme(draw), extreme(draw, one_row=True), extreme(draw, negative=True)]
    got = [without_mask(attention, given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        both(one, given, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_extreme_scores_with_a_mask(submission: Submission, draw: Draw) -> None:
    """A masked key gets a weight of exactly 0 also where all scores are around -10,000 or some are 10,000."""
    attention = unmasked(submission, draw)
    cases = [(extreme(draw), draw.mask(B, T, S)), (extreme(draw, negative=True), draw.mask(B, T, S))]
    cases += [poles(draw, dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16)]
    got = [attention(*given, mask) for given, mask in cases]
    for one, (given, mask) in zip(got, cases, strict=True):
        _, weights = parts(one, given)
        if given[0].dtype is torch.float32:
            both(one, given, mask, tolerance=HUGE_TOLERANCE)
        elif weights is not None:  # such scores leave half precision no digits for the sum of a row
            close(shares(weights), qkv.attention(*given, mask=mask)[1], "the weights", tolerance=HUGE_TOLERANCE)
        if weights is not None and weights[~mask].any():
            raise CheckFailed("The weights of masked keys are not 0.")


def shares(weights: torch.Tensor) -> torch.Tensor:
    """The weights, each divided by the sum of its row, where that is not 0."""
    weights = tensor(weights, "the weights").double()
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)


def poles(draw: Draw, dtype: torch.dtype) -> tuple[list[torch.Tensor], torch.Tensor]:
    """A query, a key and a value, and a mask that hides the keys with scores of 10,240; the others have -10,240.

    These numbers are exact in any dtype, and so are the scores.
    """
    mask = draw.mask(1, 1, S).repeat(B, 2, 1)
    query, key = torch.full((B, 2, D), 64.0), torch.full((B, S, D), 40.0)
    key[mask[:, 0]] *= -1
    return [query.to(dtype), key.to(dtype), draw.normal(B, S, DV, dtype=dtype)], mask


def extreme(
    draw: Draw, one_row: bool = False, negative: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A query, a key and a value whose largest score is 1e4 in size: in one row only, or all around -1e4."""
    query, key, value = inputs(draw, B)
    if negative:
        direction = draw.normal(1, 1, D).abs() + 1
        query, key = direction.expand(B, T, D).clone(), -direction * (1 + 1e-3 * key)
    rows = slice(2, 3) if one_row else slice(None)
    query[:, rows] *= HUGE * D**0.5 / (query[:, rows] @ key.mT).abs().max().item()
    return query, key, value


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each allows, with a mask and without."""
    attention, dtypes = submission.function("attention"), (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    given = [inputs(draw, B, dtype=dtype, d=3) for dtype in dtypes]
    masks, one_key = [None, draw.mask(B, T, S)], [x[:, :1].clone() for x in given[0]]
    alone = without_mask(attention, one_key)
    got = [[without_mask(attention, each) for each in given], [attention(*each, masks[1]) for each in given]]
    for answers, mask in zip(got, masks, strict=True):
        for one, each, dtype in zip(answers, given, dtypes, strict=True):
            both(one, each, mask, dtype=dtype)
    both(alone, one_key, what=" for one key", dtype=torch.float64, tolerance=NEARLY_EXACT)


@check("device", points=0.5)
def test_device(submission: Submission, draw: Draw) -> None:
    """Output and weights lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attention = averages(submission, draw)
    given = inputs(draw, B)
    masks = [mask for mask in (None, draw.mask(B, T, S)) if attention.error(*given, mask) is None]  # what it takes
    got = [attention.on("meta", *given, mask) for mask in masks or [hiding_nothing(given)]]
    for output, weights in [parts(one, given) for one in got]:
        on_meta(output, (B, T, DV))
        if weights is not None:
            on_meta(weights, (B, T, S), "the weights")


@check("arguments", points=0.5)
def test_wrong_rank(submission: Submission, draw: Draw) -> None:
    """A query, key or value with fewer than two dimensions is refused with a `ValueError`."""
    attention = averages(submission, draw)
    query, key, value = torch.zeros(T, D), draw.normal(S, D), draw.normal(S, DV)
    refused = {
        "a query of shape (d,)": attention.error(query[0], key, value),
        "a key of shape (d,)": attention.error(query, key[0], value),
        "a value of shape (s,)": attention.error(query, key, value[:, 0]),
    }
    for what, error in refused.items():
        refuses(error, what)


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One query, one key, a batch of one, and tensors that are not contiguous work like any others."""
    attention = averages(submission, draw)
    one = [draw.normal(1, 1, D), draw.normal(1, 1, D), draw.normal(1, 1, DV)]
    turned = [torch.zeros(B, D, T).mT, draw.normal(B, D, S).mT, draw.normal(B, DV, S).mT]
    mask = draw.mask(B, T, S).mT.contiguous().mT
    got = without_mask(attention, one), attention(*turned, mask)
    both(got[0], one, what=" for one query and one key")
    both(got[1], turned, mask, " for transposed tensors")


@check("mode", points=0.5, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Query, key, value and mask stay as they were, and a second call with the same gives the same."""
    attention = averages(submission, draw)
    given, mask, empty_row = inputs(draw, B), draw.mask(B, T, S), draw.mask(B, T, S)
    empty_row[:, draw.integer(0, T - 1)] = False
    first = parts(attention(*given, mask), given)
    unchanged(submission)
    attention(*given, empty_row)
    unchanged(submission)
    second = parts(attention(*given, mask), given)
    for one, other in zip(first, second, strict=True):
        if one is not None:
            close(tensor(other), tensor(one), "what the second call returns")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the values are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given, mask = inputs(draw, B, dtype=dtype), draw.mask(T, S)
        got = submission.function("attention").on("cuda", *given, mask)
        stayed_on_cuda(submission, "What is returned is", "where the inputs are")
        both(got, given, mask, dtype=dtype)
