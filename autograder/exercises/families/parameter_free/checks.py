"""Checks that `SelfAttentionNaive`, `self_attention` and `scaled_self_attention` share.

Those that are not about the values of the whole formula start with `averages`, an easy case. Code that does not attend
gets no points there, while a wrong scale or shape does not cost the points for, say, the device.
"""

from dataclasses import replace
from typing import Any

import torch

from ....checks import steps
from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Proxy, Submission
from ...reference import plain, qkv
from .. import digits, easy_cases, later_calls
from ..in_parts import Way, batches_of_one, first_right

N, D = 5, 3  # tokens and features; different from each other and from a batch of 2


def looks_like_attention(
    x: torch.Tensor, apart: torch.Tensor, middle: torch.Tensor, mild: torch.Tensor, even: torch.Tensor
) -> None:
    """Raises CheckFailed unless tokens are averaged by a softmax of their scores, but for a single slip.

    `apart` is the output for tokens `x` in two groups far from each other, whose members lie near `middle`; `even` is
    that for `mild` tokens, which all take part in each other's averages.
    """
    scores = (mild @ mild.T)[None]
    failures = []
    for seen in (scores, scores.masked_fill(torch.eye(N) == 1, -torch.inf)):
        for taken_back in SLIPS:
            try:
                close(taken_back(apart, x), middle, "the average of tokens far from the others", tolerance=0.02)
                easy_cases.mixes(
                    taken_back(even, mild)[None], seen, mild[None], "the output of mild scores", any_mask=True
                )
                return
            except CheckFailed as failure:
                failures.append(failure)
    raise failures[0]


SLIPS = (  # what becomes of the output `y` for tokens `x` if a single slip after the average is taken back
    lambda y, x: y,
    lambda y, x: y - x,
    lambda y, x: y / x,
    lambda y, x: y * x.shape[-1] ** 0.5,
    lambda y, x: y * x.shape[-1] ** 0.25,
)


class ParameterFreeChecks:
    """The checks of attention without parameters: (t, d) -> (t, d).

    `attend` returns the submission's Proxy; `leading` is the batch, (b,) or (); `scaled` says which formula is right.
    `odd_inputs` and `wrong_inputs` map a description of each input to the input.
    """

    leading: tuple[int, ...] = ()
    scaled = False

    def attend(self, submission: Submission) -> Proxy:
        raise NotImplementedError

    def odd_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        raise NotImplementedError

    def wrong_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        raise NotImplementedError

    def right(self, x: torch.Tensor) -> torch.Tensor:
        return plain.self_attention(x, self.scaled)

    def normal(self, draw: Draw, n: int = N, d: int = D, **how: Any) -> torch.Tensor:
        return draw.normal(*self.leading, n, d, **how)

    def wrong_step(self, submission: Submission, draw: Draw) -> steps.Step | None:
        """The first step at which the function goes wrong: for tokens that score 0 with each other, and for usual ones.

        Those of equal length that are at right angles each find themselves as much as the others do.
        """

        def case(x: torch.Tensor) -> steps.Case:
            return steps.Case(self.attend(submission)(x), self.right(x), x)

        angles = torch.linalg.qr(draw.normal(4, 4)).Q[:3] * 1e-3
        return steps.first_wrong(
            lambda: case(angles.repeat(*self.leading, 1, 1)), lambda: case(draw.normal(*self.leading, 3, 4))
        )

    def averages(self, submission: Submission, draw: Draw) -> Way:
        """The function as a Way, after it has passed an easy case that way."""
        return self.ways(submission)[self.averaging(submission, draw)]

    def ways(self, submission: Submission) -> list[Way]:
        """The Ways to call the function that are tried in the easy case, in order."""
        attend = self.attend(submission)
        ways = [Way(attend), Way(attend, lenient=True)]
        return ways + [Way(attend, batches_of_one)] if self.leading else ways

    @easy_case
    def averaging(self, submission: Submission, draw: Draw) -> int:
        """Which of the Ways passes an easy case: each token gets the average of what resembles it.

        Single slips that have checks of their own pass it: see `looks_like_attention`, and in shapes `Way`.
        """
        (x, middle), mild = easy_cases.grouped(draw, N, D), easy_cases.mild_tokens(draw, N, D)

        def easy(way: Way) -> None:
            apart, even = way(torch.stack([x, mild])) if self.leading else (way(x), way(mild))
            looks_like_attention(x, apart, middle, mild, even)

        ways = self.ways(submission)
        return ways.index(first_right(ways, easy))

    @check("values", points=0.5)
    def test_values(self, submission: Submission, draw: Draw) -> None:
        """The output is what the formula gives, also when all sizes are equal, and for many wide tokens."""
        attend = self.attend(submission)
        many = {
            " when all sizes are equal": draw.normal(*[4] * (len(self.leading) + 2)),  # where nothing crashes
            "": self.normal(draw),
            " for many wide tokens": draw.normal(*[9] * len(self.leading), 70, 24, scale=0.35),  # no token is alone
        }
        got = [attend(x) for x in many.values()]
        for (what, x), output in zip(many.items(), got, strict=True):
            close(output, self.right(x), f"the output{what}")

    @check("values", points=0.5)
    def test_weights_sum_to_one(self, submission: Submission, draw: Draw) -> None:
        """The weights of each token sum to 1: a feature that is 1 for all tokens is 1 on average."""
        attend = self.averages(submission, draw)
        x = torch.cat([self.normal(draw), torch.ones(*self.leading, N, 1)], dim=-1)
        got = attend(x)
        shape(got, x.shape)
        close(got[..., -1], torch.ones(x.shape[:-1]), "the average of a feature that is 1 for all tokens")

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """One token, one feature, and a tensor that is not contiguous work like any others."""
        inputs = self.odd_inputs(draw)
        self.averaging(submission, draw)
        attend = self.attend(submission)
        got = [attend(x) for x in inputs.values()]
        for (what, x), output in zip(inputs.items(), got, strict=True):
            close(output, self.right(x), f"the output for {what}")

    @check("gradients", points=0.5)
    def test_gradient(self, submission: Submission, draw: Draw) -> None:
        """The gradient reaches the input by both ways: through the weights, and through what is averaged."""
        attend = self.averages(submission, draw)
        x = self.normal(draw, grad=True)
        upstream = draw.normal(*x.shape)
        right = qkv.gradients([self.right(x)], [upstream.double()], [x])
        gradient(attend.gradient(x, upstream), right[0], "the input")

    @check("numerics", points=0.5)
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of 10,000 give no NaN and no infinity: all tokens large, or one among small ones.

        No score with itself is negative, so scores can't all be very negative here.
        """
        attend = self.averages(submission, draw)
        directions = torch.linalg.qr(draw.normal(N, N, dtype=torch.float64)).Q[[0, 0, 1, 2, 3]]
        sizes = torch.tensor([[1.0, 1.1, 1.0, 1.0, 1.0], [0.2, 0.22, 1.0, 0.2, 0.2]])  # a wrong scale does not show
        every, one = (directions * sizes.unsqueeze(-1)).float().expand(*self.leading, 2, N, N).movedim(-3, 0)
        cases = [x * (HUGE / plain.largest_score(x, self.scaled)) ** 0.5 for x in (every, one)]
        got = [attend(x) for x in cases]
        names = "all tokens are large", "one token is large among small ones"
        for output, x, what in zip(got, cases, names, strict=True):
            close(output, self.right(x), f"the output when {what}", tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
        attend = self.averages(submission, draw)
        distinct = torch.cat([20 * torch.eye(N, dtype=torch.float64), torch.ones(N, 1, dtype=torch.float64)], dim=1)
        found = attend.sample(distinct.expand(*self.leading, N, N + 1))
        digits.sums_to_one(submission, found[..., -1], "the weights of a token")
        inputs = [self.normal(draw, d=d, dtype=torch.float64) for d in (D, 4)]  # the root of 4 has few digits
        digits.all_of_float64(submission, [attend.sample(x) for x in inputs], [self.right(x) for x in inputs])
        given = [self.normal(draw, dtype=dtype, scale=0.5) for dtype in (torch.float32, torch.float16, torch.bfloat16)]
        got = [attend(x) for x in given]
        for output, x in zip(got, given, strict=True):
            close(output, self.right(x), dtype=x.dtype)

    @check("device", points=0.5)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
        attend, x = self.averages(submission, draw), self.normal(draw)
        on_meta(attend.on("meta", x), x.shape)

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """An input of another rank is refused with a `ValueError`."""
        wrong = self.wrong_inputs(draw)
        self.averaging(submission, draw)
        attend = self.attend(submission)
        errors = [attend.error(x) for x in wrong.values()]
        for what, error in zip(wrong, errors, strict=True):
            refuses(error, what)

    @check("mode", points=0.5, witnessed=True)
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """The input stays as it was, and a second call depends on nothing but its own input."""
        attend = self.averages(submission, draw)
        x, another, other = self.normal(draw), self.normal(draw), self.normal(draw, N + 2, D + 1)
        first = attend(x)
        unchanged(submission)
        longer, second = attend(other), attend(x)
        close(second, first.double(), "the output of the second call")
        anew = replace(attend, proxy=self.attend(submission))
        close(longer, anew(other).double(), "the output for longer sequences of wider tokens")
        quiet = replace(attend, proxy=attend.proxy.quiet())
        quiet(x)  # of which nothing may be kept either
        close(quiet(another), anew(another).double(), f"the output of {later_calls.QUIET}, with another input,")

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the output has the same values, in float32 and in float16."""
        on_cuda(submission)
        attend = self.attend(submission)
        for dtype in (torch.float32, torch.float16):
            x = self.normal(draw, dtype=dtype, scale=0.5)
            got = attend.on("cuda", x)
            stayed_on_cuda(submission)
            close(got, self.right(x), dtype=dtype)


class BatchedChecks(ParameterFreeChecks):
    """The same for a batch of sequences: (b, t, d) -> (b, t, d)."""

    leading = (2,)
    sentences = {
        "test_small_and_odd_inputs": (
            "A batch of one, one token, one feature, and a tensor that is not contiguous work like any others."
        ),
        "test_wrong_rank": (
            "An input that is not (b, t, d) is refused with a `ValueError`: one sequence alone, and four dimensions."
        ),
    }

    def odd_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        return {
            "a batch of one": draw.normal(1, 5, 3),
            "one token": draw.normal(2, 1, 3),
            "a batch of one token with one feature": draw.normal(1, 1, 1),
            "one feature": draw.normal(2, 5, 1),
            "a transposed tensor": draw.normal(2, 3, 5).mT,
        }

    def wrong_inputs(self, draw: Draw) -> dict[str, torch.Tensor]:
        return {
            "one sequence of shape (t, d)": draw.normal(5, 3),
            "one token of shape (k,)": draw.normal(3),
            "a tensor with four dimensions": draw.normal(1, 2, 5, 3),
        }

    @check("masking", points=0.5)
    def test_sequences_of_a_batch_are_apart(self, submission: Submission, draw: Draw) -> None:
        """A sequence gets the same whatever else is in the batch, and each token depends on all of its own sequence."""
        self.averaging(submission, draw)
        attend = self.attend(submission)
        x, others = self.normal(draw, scale=0.3), self.normal(draw, scale=0.3)  # no weight is lost to rounding
        others[0] = x[0]
        last = x.clone()
        last[0, -1] += 1
        before, beside_others, last_changed = attend(x), attend(others), attend(last)
        for output in (before, beside_others, last_changed):
            shape(output, x.shape)
        close(beside_others[0], before[0].double(), "the first sequence's output, in another batch,")
        says = "There is a token whose output stays the same when the last token of its sequence changes."
        reacts(before[0], last_changed[0], self.right(x)[0], self.right(last)[0], says)
