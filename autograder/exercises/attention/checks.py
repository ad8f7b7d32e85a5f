"""Checks of `attention(query, key, value, mask=None)`: (…, t, d), (…, s, d), (…, s, dv) -> (…, t, dv), (…, t, s).

Checks that are not about the values of the whole formula start with `averages`, an easy case. Code that does not attend
gets no points there, while a wrong scale does not cost the points for, say, the device. No row of a mask is empty,
except in the two checks about that.
"""

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    check,
    close,
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
from ..families import easy_cases
from ..reference import qkv

B, H, T, S, D, DV = 2, 3, 5, 7, 4, 6  # all different; the root of 4 is exact in any dtype


def inputs(draw, *leading, dtype=torch.float32, grad=False, d=D):
    """A query, a key and a value of all-different sizes, with these leading dimensions."""
    return [draw.normal(*leading, *size, dtype=dtype, grad=grad) for size in [(T, d), (S, d), (S, DV)]]


def both(got, given, mask=None, what="", **how):
    """Raises CheckFailed unless `got` is the right `(output, weights)` for the given query, key and value."""
    output, weights = pair(got)
    right_output, right_weights = qkv.attention(*given, mask=mask)
    close(weights, right_weights, f"the weights{what}", **how)
    close(output, right_output, f"the output{what}", **how)


def averages(submission, draw):
    """The function, after it has passed an easy case: queries that fit all keys to some degree, or one key each."""
    attention = submission.function("attention")
    query, key, scores, right = easy_cases.matches(draw)
    output, weights = pair(attention(query, key, key))
    for one, name in ((weights, "the weights"), (output, "the output")):
        shape(one, query.shape, name)
    close(weights[1], right, "the weights of queries that fit one key alone")
    close(output[1], right.double() @ key[1].double(), "the output for queries that fit one key alone")
    easy_cases.mixes(weights[:1], scores[None], torch.eye(4)[None], "each row of the weights of mild scores")
    easy_cases.mixes(output[:1], scores[None], key[:1], "the output of mild scores")
    return attention


def unmasked(submission, draw):
    """The function, after it was right without a mask, so that a failure there is not blamed on masks."""
    attention, given = submission.function("attention"), inputs(draw, B)
    both(attention(*given), given, what=" without a mask")
    return attention


@check("shape", points=0.5)
def test_shapes(submission, draw):
    """It returns the pair `(output, weights)`, of shapes (…, t, dv) and (…, t, s), whatever t, s, d and dv are."""
    attention = averages(submission, draw)
    output, weights = pair(attention(*inputs(draw, B)))
    shape(output, (B, T, DV))
    shape(weights, (B, T, S), "the weights")


@check("values", points=0.5)
def test_weights(submission, draw):
    """Each query's weights are a softmax of its scores / √d over the keys, so every row sums to 1."""
    query, key, value = inputs(draw, B)
    _, weights = pair(submission.function("attention")(query, key, value))
    close(weights, qkv.attention(query, key, value)[1], "the weights")


@check("values", points=1)
def test_output(submission, draw):
    """The output is the sum of the values, each times its weight."""
    query, key, value = inputs(draw, B)
    output, _ = pair(submission.function("attention")(query, key, value))
    close(output, qkv.attention(query, key, value)[0])


@check("values", points=0.5)
def test_all_sizes_equal(submission, draw):
    """The values are right also when all sizes are equal, where a mix-up of dimensions does not crash."""
    given = [draw.normal(D, D, D) for _ in range(3)]
    both(submission.function("attention")(*given), given)


@check("shape", points=0.5)
def test_leading_dimensions(submission, draw):
    """Any number of leading dimensions will do: none, or a batch and heads."""
    attention = submission.function("attention")
    none, two = inputs(draw), inputs(draw, B, H)
    got_none, got_two = attention(*none), attention(*two)
    both(got_none, none, what=" without leading dimensions")
    both(got_two, two, what=" with two leading dimensions")


@check("masking", points=0.5)
def test_mask(submission, draw):
    """A key that is masked out gets a weight of exactly 0, and the others share everything: rows still sum to 1."""
    attention, given, mask = unmasked(submission, draw), inputs(draw, B), draw.mask(T, S)
    output, weights = pair(attention(*given, mask))
    both((output, weights), given, mask)
    if weights[:, ~mask].any():
        raise CheckFailed("The weights of masked keys are tiny, but not 0.")


@check("masking", points=0.5)
def test_mask_forms(submission, draw):
    """A mask broadcasts to the scores by torch's rules, and each call goes by its own mask."""
    attention = unmasked(submission, draw)
    three, four = inputs(draw, B), inputs(draw, B, H)
    cases = [(three, draw.mask(*form)) for form in [(S,), (1, S), (B, 1, S), (B, T, S)]]
    cases += [(four, draw.mask(*form)) for form in [(T, S), (B, 1, 1, S)]] + [(three, None)]
    got = [attention(*given, mask) for given, mask in cases]
    for one, (given, mask) in zip(got, cases, strict=True):
        form = " without a mask" if mask is None else f" with a mask of shape {tuple(mask.shape)}"
        both(one, given, mask, form)


@check("masking", points=0.5)
def test_nothing_to_attend_to(submission, draw):
    """A query that may attend to nothing gets weights 0 and output 0, not NaN."""
    attention = averages(submission, draw)
    given, row = inputs(draw, B), draw.integer(0, T - 1)
    some, column = draw.mask(T, S), torch.ones(T, 1, dtype=torch.bool)
    some[row], column[row] = False, False
    for output, weights in [pair(attention(*given, mask)) for mask in (some, column)]:
        shape(output, (B, T, DV))
        shape(weights, (B, T, S), "the weights")
        close(weights[:, row], torch.zeros(B, S), "what a query that sees nothing gets as weights")
        close(output[:, row], torch.zeros(B, DV), "what a query that sees nothing gets as output")


@check("gradients", points=0.5)
def test_gradients_with_nothing_to_attend_to(submission, draw):
    """With a query that may attend to nothing, all gradients are still finite and right."""
    right_gradients(submission, draw, None)
    mask = draw.mask(T, S)
    mask[draw.integer(0, T - 1)] = False
    right_gradients(submission, draw, mask)


@check("gradients", points=0.5)
def test_gradients(submission, draw):
    """The output and the weights pass the right gradients back to query, key and value, with a mask and without."""
    right_gradients(submission, draw, None)
    right_gradients(submission, draw, draw.mask(T, S))


def right_gradients(submission, draw, mask):
    """Raises CheckFailed unless the gradients of random numbers times output and weights are those of the reference."""
    given = inputs(draw, B, dtype=torch.float64, grad=True)
    upstream = (draw.normal(B, T, DV, dtype=torch.float64), draw.normal(B, T, S, dtype=torch.float64))
    got = submission.function("attention").gradients(*given, mask, upstream=upstream)
    for name, one, right in zip(
        ("query", "key", "value"),
        got.inputs,
        qkv.gradients(qkv.attention(*given, mask=mask), upstream, given),
        strict=True,
    ):
        gradient(one, right, f"the {name}", torch.float64)


@check("masking", points=0.5)
def test_empty_context(submission, draw):
    """With no keys at all (s = 0) the weights have shape (…, t, 0), and the output is 0."""
    attention = averages(submission, draw)
    query = draw.normal(B, T, D)
    output, weights = pair(attention(query, torch.zeros(B, 0, D), torch.zeros(B, 0, DV)))
    shape(weights, (B, T, 0), "the weights")
    close(output, torch.zeros(B, T, DV))


@check("masking", points=0.5)
def test_what_matters(submission, draw):
    """Masked keys and other batch items make no difference to a query; a key that it may attend to does."""
    attention = averages(submission, draw)
    query, key, value = inputs(draw, B)
    mask = draw.mask(1, S)
    hidden = (~mask).float().mT  # (s, 1): 1 for the keys that nobody may attend to
    second = torch.tensor([0.0, 1.0]).reshape(B, 1, 1)
    changes = [torch.zeros(S, 1), hidden, second, 1 - hidden]
    outputs = []
    for change in changes:
        output, _ = pair(attention(query, key, value + 100 * change, mask))
        shape(output, (B, T, DV))
        outputs.append(output)
    moved, _ = pair(attention(query, key + 10 * hidden, value, mask))
    plain, masked, other, allowed = outputs
    close(masked, plain.double(), "the output after a change of masked values")
    close(moved, plain.double(), "the output after a change of masked keys")
    close(other[0], plain[0].double(), "the output after a change of another item of the batch")
    if ((allowed - plain).abs().amax(-1) < 1e-3).any():
        raise CheckFailed("There is a query whose output stays the same when all values that it may see change.")


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all very negative."""
    cases = [extreme(draw), extreme(draw, one_row=True), extreme(draw, negative=True)]
    got = [submission.function("attention")(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        both(one, given, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_extreme_scores_with_a_mask(submission, draw):
    """A masked key gets a weight of exactly 0 also where all scores are around -10,000 or some are 10,000."""
    attention = unmasked(submission, draw)
    cases = [(extreme(draw), draw.mask(T, S)), (extreme(draw, negative=True), draw.mask(T, S))]
    got = [attention(*given, mask) for given, mask in cases]
    for (output, weights), (given, mask) in zip(map(pair, got), cases, strict=True):
        both((output, weights), given, mask, tolerance=HUGE_TOLERANCE)
        if weights[:, ~mask].any():
            raise CheckFailed("The weights of masked keys are not 0.")


def extreme(draw, one_row=False, negative=False):
    """A query, a key and a value whose largest score is 1e4 in size: in one row only, or all around -1e4."""
    query, key, value = inputs(draw, B)
    if negative:
        direction = draw.normal(1, 1, D).abs() + 1
        query, key = direction.expand(B, T, D).clone(), -direction * (1 + 1e-3 * key)
    rows = slice(2, 3) if one_row else slice(None)
    query[:, rows] *= HUGE * D**0.5 / (query[:, rows] @ key.mT).abs().max().item()
    return query, key, value


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows, with a mask and without."""
    attention, dtypes = submission.function("attention"), (torch.float64, torch.float16, torch.bfloat16)
    for mask in (None, draw.mask(T, S)):
        given = [inputs(draw, B, dtype=dtype, d=3) for dtype in dtypes]
        got = [attention(*each, mask) for each in given]
        for one, each, dtype in zip(got, given, dtypes, strict=True):
            both(one, each, mask, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """Output and weights lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attention = averages(submission, draw)
    given = inputs(draw, B)
    got = [attention.on("meta", *given), attention.on("meta", *given, draw.mask(T, S))]
    for output, weights in map(pair, got):
        on_meta(output, (B, T, DV))
        on_meta(weights, (B, T, S), "the weights")


@check("arguments", points=0.5)
def test_wrong_rank(submission, draw):
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
def test_small_and_odd_inputs(submission, draw):
    """One query, one key, a batch of one, and tensors that are not contiguous work like any others."""
    averages(submission, draw)
    attention, value = submission.function("attention"), draw.normal(1, 1, DV)
    turned = [torch.zeros(B, D, T).mT, draw.normal(B, D, S).mT, draw.normal(B, DV, S).mT]
    mask = draw.mask(T, S).mT.contiguous().mT
    cases = [([draw.normal(1, 1, D), draw.normal(1, 1, D), value], None), (turned, mask)]
    got = [attention(*given, mask) for given, mask in cases]
    for one, (given, mask), what in zip(
        got, cases, (" for one query and one key", " for transposed tensors"), strict=True
    ):
        both(one, given, mask, what)


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """Query, key, value and mask stay as they were, and a second call with the same gives the same."""
    attention = averages(submission, draw)
    given, mask, empty_row = inputs(draw, B), draw.mask(T, S), draw.mask(T, S)
    empty_row[draw.integer(0, T - 1)] = False
    first = pair(attention(*given, mask))
    unchanged(submission)
    attention(*given, empty_row)
    unchanged(submission)
    second = pair(attention(*given, mask))
    for one, other in zip(first, second, strict=True):
        close(tensor(other), tensor(one), "what the second call returns")


@check("device", points=0)
def test_cuda(submission, draw):
    """On a GPU the values are the same, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        given, mask = inputs(draw, B, dtype=dtype), draw.mask(T, S)
        got = submission.function("attention").on("cuda", *given, mask)
        stayed_on_cuda(submission, "What is returned is", "where the inputs are")
        both(got, given, mask, dtype=dtype)
