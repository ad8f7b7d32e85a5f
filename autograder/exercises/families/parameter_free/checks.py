"""What the graders of `SelfAttentionNaive`, `self_attention` and `scaled_self_attention` share.

`Judge` holds how the submission is called, the reference, and the shape of an input; each check of the three graders is
one of its methods. Those that are not about the values of the whole formula first pass `averages`, an easy case, so
that a wrong scale does not cost the points for, say, the device, and what is no attention gets no points.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    close,
    gradient,
    on_cuda,
    on_meta,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ....checks.proxies import Proxy, Submission
from ...reference import plain, qkv
from .. import easy_cases


@dataclass
class Judge:
    """`leading` is the batch, (b,) or (); `call` gives the submission's Proxy, `scaled` says which formula is right."""

    submission: Submission
    draw: Draw
    call: Callable[[Submission], Proxy]
    leading: tuple[int, ...]
    scaled: bool
    sizes: tuple[int, ...] = (5, 3)  # tokens, features; with a batch of 2 all different
    square: int = field(default=4)

    def right(self, x):
        return plain.self_attention(x, self.scaled)

    def normal(self, *size, **how):
        return self.draw.normal(*self.leading, *(size or self.sizes), **how)

    def averages(self):
        """The function, seen to work in an easy case: of two groups, each token gets the average of its own."""
        attend = self.call(self.submission)
        (x, middle), mild = easy_cases.grouped(self.draw, *self.sizes), easy_cases.mild_tokens(self.draw, *self.sizes)
        apart, even = attend(torch.stack([x, mild])) if self.leading else (attend(x), attend(mild))
        shape(even, mild.shape)
        close(apart, middle, "the average of tokens far from the others", tolerance=2e-4)
        easy_cases.mixes(even[None], (mild @ mild.T)[None], mild[None], "the output of mild scores")
        return attend

    def values(self):
        attend = self.call(self.submission)
        many = [self.normal(), self.draw.normal(*[self.square] * (len(self.leading) + 2))]
        for x, got, what in zip(many, [attend(x) for x in many], ("", " when all sizes are equal"), strict=True):
            close(got, self.right(x), f"the output{what}")

    def sums(self):
        attend = self.averages()
        x = torch.cat([self.normal(), torch.ones(*self.leading, self.sizes[0], 1)], dim=-1)
        got = attend(x)
        shape(got, x.shape)
        close(got[..., -1], torch.ones(x.shape[:-1]), "the average of a feature that is 1 for all tokens")

    def small_and_odd(self, inputs):
        """`inputs` maps what each is to the input."""
        attend = self.averages()
        got = [attend(x) for x in inputs.values()]
        for (what, x), output in zip(inputs.items(), got, strict=True):
            close(output, self.right(x), f"the output for {what}")

    def gradients(self):
        self.averages()
        x = self.normal(dtype=torch.float64, grad=True)
        upstream = self.draw.normal(*x.shape, dtype=torch.float64)
        got = self.call(self.submission).gradients(x, upstream=upstream)
        right = qkv.gradients([self.right(x)], [upstream], [x])
        gradient(got.inputs[0], right[0], "the input", torch.float64)

    def extreme(self):
        """No score with itself is negative, so scores can't all be very negative here."""
        attend = self.averages()
        every, one = self.normal(), self.normal()
        one[..., 2, :] *= 100
        cases = [x * (HUGE / plain.largest_score(x, self.scaled)) ** 0.5 for x in (every, one)]
        got = [attend(x) for x in cases]
        for output, x, what in zip(
            got, cases, ("all tokens are large", "one token is large among small ones"), strict=True
        ):
            close(output, self.right(x), f"the output when {what}", tolerance=HUGE_TOLERANCE)

    def dtypes(self):
        attend, dtypes = self.averages(), (torch.float64, torch.float16, torch.bfloat16)
        given = [self.normal(dtype=dtype, scale=0.5) for dtype in dtypes]
        got = [attend(x) for x in given]
        for output, x, dtype in zip(got, given, dtypes, strict=True):
            close(output, self.right(x), dtype=dtype)

    def device(self):
        attend = self.averages()
        x = self.normal()
        on_meta(attend.on("meta", x), x.shape)

    def rank(self, wrong):
        """`wrong` maps the name of a shape to an input of it."""
        attend = self.averages()
        errors = [attend.error(x) for x in wrong.values()]
        for what, error in zip(wrong, errors, strict=True):
            refuses(error, what)

    def again(self):
        attend = self.averages()
        x, other = self.normal(), self.normal(self.sizes[0] + 2, self.sizes[1] + 1)
        first = attend(x)
        unchanged(self.submission)
        longer, second = attend(other), attend(x)
        shape(first, x.shape)
        shape(longer, other.shape, "the output for longer sequences of wider tokens")
        close(second, first.double(), "the output of the second call")

    def apart(self):
        """For batches: a sequence is on its own, and each of its tokens depends on all of it."""
        attend = self.averages()
        x, others = self.normal(scale=0.3), self.normal(scale=0.3)  # mild scores: no weight is lost in rounding
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

    def cuda(self):
        on_cuda(self.submission)
        attend = self.call(self.submission)
        for dtype in (torch.float32, torch.float16):
            x = self.normal(dtype=dtype, scale=0.5)
            got = attend.on("cuda", x)
            stayed_on_cuda(self.submission)
            close(got, self.right(x), dtype=dtype)
