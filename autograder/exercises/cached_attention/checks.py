"""Checks of `cached_attention(query, key, value)`: (b, h, t, d), (b, h, s, d) twice -> (b, h, t, d), t ≤ s.

Checks that are not about who sees whom start with `mixes`, an easy case that any triangle passes. They make do with as
many queries as keys, for which torch's own triangle is right, or with one.
"""

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
    gradient,
    on_cuda,
    on_meta,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import StudentError, Submission
from ..families import easy_cases, hidden
from ..families.many_heads.checks import first_of
from ..reference import cached, qkv

B, H, T, S, D = 2, 3, 4, 9, 16  # all different; the root of 16 is exact in any dtype


def inputs(draw: Draw, t: int = T, s: int = S, d: int = D, b: int = B, h: int = H, **how: Any) -> list[torch.Tensor]:
    """A query, a key and a value."""
    return [draw.normal(b, h, length, d, **how) for length in (t, s, s)]


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step at which the function goes wrong: with equal scores, then with usual ones."""
    attend = Output(submission)

    def case(times: float) -> steps.Case:
        query, key, value = inputs(draw, t=2, s=3)
        given = query, times * key, value
        return steps.Case(attend(*given), cached.attention_of_the_last(*given), value)

    return steps.first_wrong(lambda: case(0), lambda: case(1))


class Output:
    """The function, of which only the first part counts if it returns several: that has a check of its own."""

    def __init__(self, submission: Submission) -> None:
        self.proxy = submission.function("cached_attention")

    def __call__(self, *given: torch.Tensor) -> Any:
        return first_of(self.proxy(*given))

    def on(self, device: str, *given: torch.Tensor) -> Any:
        return first_of(self.proxy.on(device, *given))


def mixes(submission: Submission, draw: Draw) -> tuple[Output, int]:
    """The function and how many queries it gets where S are not needed, after it has passed an easy case."""
    return Output(submission), mixes_all(submission, draw)


def some_masks() -> torch.Tensor:
    """(n, S, S): who may see whom if everything but the triangle is right, the right one first."""
    whole = torch.ones(S, S, dtype=torch.bool)
    return torch.stack([*(whole.tril(k) for k in (0, 1, -1)), *(whole.triu(k) for k in (0, 1, -1)), whole])


@easy_case
def mixes_all(submission: Submission, draw: Draw) -> int:
    """How many queries it is right for: S, or 1 if it hides the wrong places. Raises CheckFailed if it mixes nothing.

    Any scale is let through: the scores are so far apart that each query finds one key, or so near that it finds all
    that it sees; where they are mild, a softmax of them must weigh what a single query sees. So is any triangle, where
    there is something left to see.
    """
    attend, (query, key, value), failures = Output(submission), inputs(draw, S), []
    one_hot = 40 * torch.eye(S, D)[torch.randperm(S, generator=draw.generator)].expand(B, H, S, D)
    cases, scores = ((one_hot.flip(2), one_hot, value), (0 * query, key, value)), query[:, :, -1:] @ key.mT
    ways = [(S, mask, slice(1, -1)) for mask in some_masks()] + [(1, torch.ones(1, S, dtype=torch.bool), slice(None))]
    for t, mask, rows in ways:
        try:
            for case in cases:
                given = case[0][:, :, -t:], case[1], case[2]
                got, expected = attend(*given), qkv.attention(*given, mask)[0]
                shape(got, expected.shape)
                close(got[:, :, rows], expected[:, :, rows], "the output of queries that fit one key, or all alike")
            if mask[-1].all():
                got = attend(query[:, :, -t:], key, value)
                easy_cases.last_mixes_softly(got, scores, value, "the weights of usual scores")
            return S if mask is ways[0][1] else 1
        except (CheckFailed, StudentError) as failure:
            failures.append(failure)
    raise failures[0]


@check("values", points=1)
def test_chunks(submission: Submission, draw: Draw) -> None:
    """Queries at the last places, several at a time: each sees its own place and all before it.

    A text that comes in parts is asked for as well, so each place gets the same as in the whole.
    """
    attend, many = Output(submission), draw.integer(65, 130)
    cases = [inputs(draw, t, s) for t, s in ((T, S), (2, 11), (8, S), (3, 5))]
    cases += [inputs(draw, 33, many, 4, 1, 2), inputs(draw, 3, 6, 40, 5, 16)]
    query, key, value = inputs(draw, S, S)
    cases += [(query[:, :, start:end], key[:, :, :end], value[:, :, :end]) for start, end in ((0, 2), (2, 5), (5, 9))]
    got = [attend(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        t, s = given[0].shape[2], given[1].shape[2]
        close(one, cached.attention_of_the_last(*given), f"the output for {t} queries at the end of {s} places")


@check("shape", points=0.25)
def test_output_alone(submission: Submission, draw: Draw) -> None:
    """The output alone is returned, in the shape of the query: (b, h, t, d)."""
    mixes(submission, draw)
    given = inputs(draw)
    shape(submission.function("cached_attention")(*given), given[0].shape)


@check("values", points=0.25)
def test_one_query(submission: Submission, draw: Draw) -> None:
    """A single query stands at the last place, so it sees every key."""
    attend, cases = Output(submission), [inputs(draw, 1, s) for s in (S, 2)]
    got = [attend(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        close(one, cached.attention_of_the_last(*given), f"the output for one query and {given[1].shape[2]} keys")


@check("values", points=0.25)
def test_as_many_queries_as_keys(submission: Submission, draw: Draw) -> None:
    """With as many queries as keys it is causal attention, also when all sizes are equal."""
    attend, cases = Output(submission), [inputs(draw, S, S), inputs(draw, 4, 4, 4, 4, 4)]
    got = [attend(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        close(one, cached.attention_of_the_last(*given), f"the output for {given[0].shape[2]} queries and as many keys")


@check("masking", points=0.25)
def test_what_matters(submission: Submission, draw: Draw) -> None:
    """What comes later changes no query's output; what stands at its own place or before it changes it."""
    attend, _ = mixes(submission, draw)
    query, key, value = inputs(draw)
    changed = []
    for place in range(S):
        other = value.clone()
        other[:, :, place] += 100
        changed.append(attend(query, key, other))
    output = attend(query, key, value)
    for place, got in enumerate(changed):
        shape(got, output.shape)
        moved = (got - output).abs().amax((0, 1, 3)) > 1e-6  # (t,)
        seen = torch.arange(S - T, S) >= place
        if (moved & ~seen).any():
            raise CheckFailed(
                f"A query changes with a value that stands {place - (S - T)} places into the chunk, later."
            )
        if (seen & ~moved).any():
            raise CheckFailed(f"There is a query whose output stays the same when the value at place {place} changes.")


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of query, key and value are right."""
    given, upstream = inputs(draw, grad=True), draw.normal(B, H, T, D)
    attend = submission.function("cached_attention")
    got = attend.gradients(*given, upstream=upstream)
    expected = qkv.gradients(cached.attention_of_the_last(*given), upstream.double(), given)
    for name, one, right in zip(("query", "key", "value"), got.inputs, expected, strict=True):
        gradient(one, right, f"the {name}")


@check("numerics", points=0.25)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, and what comes later stays hidden."""
    attend, t = mixes(submission, draw)
    cases = []
    for sign in (1, -1):
        query, key, value = inputs(draw, t)
        direction = draw.normal(1, 1, 1, D).abs() + 1
        query, key = direction.expand(B, H, t, D).clone(), sign * direction * (1 + 1e-3 * key)
        query *= HUGE * D**0.5 / (query @ key.mT).abs().max()
        cases.append((query, key, value))
    query, key, value = inputs(draw, t)
    seen_by_the_first = key.shape[2] - t + 1
    cases.append((*hidden.queries_and_keys(query, key, seen_by_the_first), value))
    got = [attend(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        close(one, cached.attention_of_the_last(*given), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    attend, t = mixes(submission, draw)
    dtypes = torch.float64, torch.float32, torch.float16, torch.bfloat16
    given = [inputs(draw, t, dtype=dtype) for dtype in dtypes]
    got = [attend(*each) for each in given]
    for one, each, dtype in zip(got, given, dtypes, strict=True):
        close(one, cached.attention_of_the_last(*each), dtype=dtype)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    attend, _ = mixes(submission, draw)
    query, key, value = inputs(draw)
    on_meta(attend.on("meta", query, key, value), query.shape)


@check("shape", points=0.25)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One place, a batch of one, one head, one feature, and tensors that are not contiguous work like any others."""
    attend, t = mixes(submission, draw)
    cases = {
        "one place": inputs(draw, 1, 1),
        "a batch of one with one head": inputs(draw, t, b=1, h=1),
        "one feature": inputs(draw, t, d=1),
        "transposed tensors": [draw.normal(B, length, H, D).transpose(1, 2) for length in (t, S, S)],
    }
    got = [attend(*given) for given in cases.values()]
    for one, (what, given) in zip(got, cases.items(), strict=True):
        close(one, cached.attention_of_the_last(*given), f"the output for {what}")


@check("arguments", points=0.25)
def test_more_queries_than_keys(submission: Submission, draw: Draw) -> None:
    """More queries than keys are refused with a `ValueError` whose message holds both numbers."""
    attend, _ = mixes(submission, draw)
    refuses(attend.proxy.error(*inputs(draw, 7, 5)), "a call with 7 queries and 5 keys", 7, 5)
    refuses(attend.proxy.error(*inputs(draw, 14, 13)), "a call with 14 queries and 13 keys", 14, 13)


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Query, key and value stay as they were, and a second call with the same gives the same."""
    attend, _ = mixes(submission, draw)
    given, other = inputs(draw), inputs(draw, T + 1, S + 3)
    first = attend(*given)
    unchanged(submission)
    attend(*other)
    close(attend(*given), first.double(), "the output of the second call")


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    attend = Output(submission)
    for dtype in (torch.float32, torch.float16):
        given = inputs(draw, dtype=dtype)
        got = attend.on("cuda", *given)
        stayed_on_cuda(submission)
        close(got, cached.attention_of_the_last(*given), dtype=dtype)
