"""Checks that `SelfAttentionNaive`, `self_attention` and `scaled_self_attention` share.

Those that are not about the values of the whole formula start with `averages`, an easy case. Code that does not attend
gets no points there, while a wrong scale does not cost the points for, say, the device.
"""

import torch

from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
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
from ...reference import plain, qkv
from .. import easy_cases

N, D = 5, 3  # tokens and features; different from each other and from a batch of 2


class ParameterFreeChecks:
    """The checks of attention without parameters: (n, d) -> (n, d).

    `attend` returns the submission's Proxy; `leading` is the batch, (b,) or (); `scaled` says which formula is right.
    `odd_inputs` and `wrong_inputs` map a description of each input to the input.
    """

    leading: tuple[int, ...] = ()
    scaled = False

    def attend(self, submission):
        raise NotImplementedError

    def odd_inputs(self, draw):
        raise NotImplementedError

    def wrong_inputs(self, draw):
        raise NotImplementedError

    def right(self, x):
        return plain.self_attention(x, self.scaled)

    def normal(self, draw, n=N, d=D, **how):
        return draw.normal(*self.leading, n, d, **how)

    def averages(self, submission, draw):
        """The function, after it has passed an easy case: each token gets the average of its own of two groups."""
        attend = self.attend(submission)
        (x, middle), mild = easy_cases.grouped(draw, N, D), easy_cases.mild_tokens(draw, N, D)
        apart, even = attend(torch.stack([x, mild])) if self.leading else (attend(x), attend(mild))
        shape(even, mild.shape)
        close(apart, middle, "the average of tokens far from the others", tolerance=2e-4)
        easy_cases.mixes(even[None], (mild @ mild.T)[None], mild[None], "the output of mild scores")
        return attend

    @check("values", points=0.5)
    def test_values(self, submission, draw):
        """The output is what the formula gives, also when all sizes are equal."""
        attend = self.attend(submission)
        many = [self.normal(draw), draw.normal(*[4] * (len(self.leading) + 2))]
        for x, got, what in zip(many, [attend(x) for x in many], ("", " when all sizes are equal"), strict=True):
            close(got, self.right(x), f"the output{what}")

    @check("values", points=0.5)
    def test_weights_sum_to_one(self, submission, draw):
        """The weights of each token sum to 1: a feature that is 1 for all tokens is 1 on average."""
        attend = self.averages(submission, draw)
        x = torch.cat([self.normal(draw), torch.ones(*self.leading, N, 1)], dim=-1)
        got = attend(x)
        shape(got, x.shape)
        close(got[..., -1], torch.ones(x.shape[:-1]), "the average of a feature that is 1 for all tokens")

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission, draw):
        """One token, one feature, and a tensor that is not contiguous work like any others."""
        inputs = self.odd_inputs(draw)
        attend = self.averages(submission, draw)
        got = [attend(x) for x in inputs.values()]
        for (what, x), output in zip(inputs.items(), got, strict=True):
            close(output, self.right(x), f"the output for {what}")

    @check("gradients", points=0.5)
    def test_gradient(self, submission, draw):
        """The gradient reaches the input by both ways: through the weights, and through what is averaged."""
        self.averages(submission, draw)
        x = self.normal(draw, dtype=torch.float64, grad=True)
        upstream = draw.normal(*x.shape, dtype=torch.float64)
        got = self.attend(submission).gradients(x, upstream=upstream)
        right = qkv.gradients([self.right(x)], [upstream], [x])
        gradient(got.inputs[0], right[0], "the input", torch.float64)

    @check("numerics", points=0.5)
    def test_extreme_scores(self, submission, draw):
        """Scores of 10,000 give no NaN and no infinity: all tokens large, or one among small ones.

        No score with itself is negative, so scores can't all be very negative here.
        """
        attend = self.averages(submission, draw)
        every, one = self.normal(draw), self.normal(draw)
        one[..., 2, :] *= 100
        cases = [x * (HUGE / plain.largest_score(x, self.scaled)) ** 0.5 for x in (every, one)]
        got = [attend(x) for x in cases]
        names = "all tokens are large", "one token is large among small ones"
        for output, x, what in zip(got, cases, names, strict=True):
            close(output, self.right(x), f"the output when {what}", tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_dtypes(self, submission, draw):
        """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
        attend, dtypes = self.averages(submission, draw), (torch.float64, torch.float16, torch.bfloat16)
        given = [self.normal(draw, dtype=dtype, scale=0.5) for dtype in dtypes]
        got = [attend(x) for x in given]
        for output, x, dtype in zip(got, given, dtypes, strict=True):
            close(output, self.right(x), dtype=dtype)

    @check("device", points=0.5)
    def test_device(self, submission, draw):
        """The output lies on the device of the input, and nothing is made elsewhere (tried on `meta`)."""
        attend, x = self.averages(submission, draw), self.normal(draw)
        on_meta(attend.on("meta", x), x.shape)

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission, draw):
        """An input of another rank is refused with a `ValueError`."""
        wrong = self.wrong_inputs(draw)
        attend = self.averages(submission, draw)
        errors = [attend.error(x) for x in wrong.values()]
        for what, error in zip(wrong, errors, strict=True):
            refuses(error, what)

    @check("mode", points=0.5, witnessed=True)
    def test_again(self, submission, draw):
        """The input stays as it was, and a second call depends on nothing but its own input."""
        attend = self.averages(submission, draw)
        x, other = self.normal(draw), self.normal(draw, N + 2, D + 1)
        first = attend(x)
        unchanged(submission)
        longer, second = attend(other), attend(x)
        shape(first, x.shape)
        shape(longer, other.shape, "the output for longer sequences of wider tokens")
        close(second, first.double(), "the output of the second call")

    @check("device", points=0)
    def test_cuda(self, submission, draw):
        """On a GPU the output has the same values, in float32 and in float16."""
        on_cuda(submission)
        attend = self.attend(submission)
        for dtype in (torch.float32, torch.float16):
            x = self.normal(draw, dtype=dtype, scale=0.5)
            got = attend.on("cuda", x)
            stayed_on_cuda(submission)
            close(got, self.right(x), dtype=dtype)


class BatchedChecks(ParameterFreeChecks):
    """The same for a batch of sequences: (b, t, k) -> (b, t, k)."""

    leading = (2,)
    sentences = {
        "test_small_and_odd_inputs": (
            "A batch of one, one token, one feature, and a tensor that is not contiguous work like any others."
        ),
        "test_wrong_rank": (
            "An input that is not (b, t, k) is refused with a `ValueError`: one sequence alone, and four dimensions."
        ),
    }

    def odd_inputs(self, draw):
        return {
            "a batch of one": draw.normal(1, 5, 3),
            "one token": draw.normal(2, 1, 3),
            "a batch of one token with one feature": draw.normal(1, 1, 1),
            "one feature": draw.normal(2, 5, 1),
            "a transposed tensor": draw.normal(2, 3, 5).mT,
        }

    def wrong_inputs(self, draw):
        return {
            "one sequence of shape (t, k)": draw.normal(5, 3),
            "a tensor with four dimensions": draw.normal(1, 2, 5, 3),
        }

    @check("masking", points=0.5)
    def test_sequences_of_a_batch_are_apart(self, submission, draw):
        """A sequence gets the same whatever else is in the batch, and each token depends on all of its own sequence."""
        attend = self.averages(submission, draw)
        x, others = self.normal(draw, scale=0.3), self.normal(draw, scale=0.3)  # no weight is lost to rounding
        others[0] = x[0]
        last = x.clone()
        last[0, -1] += 1
        before, beside_others, last_changed = attend(x), attend(others), attend(last)
        for output in (before, beside_others, last_changed):
            shape(output, x.shape)
        close(beside_others[0], before[0].double(), "the first sequence's output, in another batch,")
        if ((last_changed[0] - before[0]).abs().amax(1) < 1e-6).any():
            raise CheckFailed(
                "There is a token whose output stays the same when the last token of its sequence changes."
            )
