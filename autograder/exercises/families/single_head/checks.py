"""Checks that `SelfAttention` and `SingleHeadSelfAttention` share: one head, no mask.

Checks that are not about the values of the whole formula start with `averages`, an easy case. Code that does not attend
gets no points there, while a wrong scale does not cost the points for, say, the device.
"""

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....checks import steps
from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    Draw,
    GateFailed,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Proxy, StudentError, Submission
from ....checks.steps import Weights
from ...reference import qkv
from .. import digits, easy_cases, later_calls

N, D_OUT = 5, 7  # not 4, whose root is also its half: 2 / √4 would be no scale at all, and 1 / (2 * √4) one by 4
MANY, WIDE = 70, 33  # tokens and features of a larger input
EXACT = 1e-10  # of float64, and out of reach for a scale or an epsilon that float32 would not show


def output_of(value: Any) -> Any:
    """The output, also where its weights come with it: that it comes alone is asked by the checks of values."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 2 else value


def or_unbatched(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a check: if an error or an easy case ends it, it is tried once more with one sequence without a batch.

    What a batch gives has checks of its own.
    """

    @functools.wraps(test)
    def tried(self: Any, submission: Submission, draw: Draw) -> None:
        try:
            test(self, submission, draw)
        except (StudentError, GateFailed):
            if not self.leading:
                raise
            alone = copy.copy(self)
            alone.leading = ()
            test(alone, submission, draw)

    return tried


class SingleHeadChecks:
    """The checks of one head.

    `names` are its layers for queries, keys and values; `leading` is the batch of its usual input, (b,) or (), and
    `d_in` its width; `sizes_of_dtypes` are (d_in, d_out) in the check of dtypes.
    """

    names: tuple[str, str, str]
    leading: tuple[int, ...] = ()
    d_in: int
    sizes_of_dtypes: tuple[int, int]

    def build(self, submission: Submission, d_in: int, d_out: int, bias: bool) -> Proxy:
        raise NotImplementedError

    def weights(
        self,
        draw: Draw,
        d_in: int | None = None,
        d_out: int = D_OUT,
        bias: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Weights:
        """Different random weights for the three layers, and biases if wanted."""
        shapes: dict[str, tuple[int, ...]] = {f"{name}.weight": (d_out, d_in or self.d_in) for name in self.names}
        if bias:
            shapes.update({f"{name}.bias": (d_out,) for name in self.names})
        return draw.state(shapes, dtype)

    def weights_of_extreme_scores(self, draw: Draw) -> Weights:
        """Weights for inputs as wide as the output."""
        return self.weights(draw, D_OUT)

    def tokens(self, draw: Draw, width: int | None = None, **how: Any) -> torch.Tensor:
        """The usual input, (n, d_in) or (b, n, d_in)."""
        return draw.normal(*self.leading, N, width or self.d_in, **how)

    def twice(self, x: torch.Tensor) -> torch.Tensor:
        """One sequence (n, d_in) as the usual input: a batch holds it twice, so seeing each other changes nothing."""
        return x.repeat(*self.leading, 1, 1)

    def head(self, submission: Submission, state: Weights, dtype: torch.dtype | None = None) -> Proxy:
        """A head with these weights loaded, built with biases only if there are any."""
        d_out, d_in = state[f"{self.names[1]}.weight"].shape
        module = self.build(submission, d_in, d_out, f"{self.names[1]}.bias" in state)
        if dtype:
            module.to(dtype=dtype)
        self.load(module, state)
        return module

    def load(self, module: Proxy, state: Weights) -> None:
        """Load weights. A layer after the attention that nobody asked for gets the identity, and so changes nothing:
        it costs the check of parameters alone."""
        identity = torch.eye(len(state[f"{self.names[1]}.weight"]))
        more = {f"{name}.weight": identity for name in ("unifyheads", "out_proj", "proj")}
        module.load(state | more, optional=more)

    def right(self, x: torch.Tensor, state: Weights) -> torch.Tensor:
        """The right output."""
        return qkv.head(x, state, self.names)

    def plain(self, submission: Submission) -> Proxy:
        """A head with identity projections."""
        return self.head(submission, {f"{name}.weight": torch.eye(D_OUT) for name in self.names})

    def wrong_step(self, submission: Submission, draw: Draw) -> steps.Step | None:
        """The first step at which a head goes wrong, in small cases."""
        _, key, value = self.names

        def case(state: Weights) -> steps.Case:
            x = draw.normal(*self.leading, 3, D_OUT)
            got = output_of(self.head(submission, state)(x))
            return steps.Case(got, self.right(x, state), qkv.project(x, state[f"{value}.weight"]))

        return steps.first_wrong_of_layers(case, lambda: self.weights(draw, D_OUT), f"{key}.weight")

    def averages(self, submission: Submission, draw: Draw) -> Proxy:
        """A head with identity projections, after its class has passed an easy case."""
        self.averaging(submission, draw)
        return self.plain(submission)

    @easy_case
    def averaging(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless a head with identity projections passes an easy case.

        There each token gets the average of its own of two groups.
        """
        module = self.plain(submission)
        (x, middle), mild = easy_cases.grouped(draw, N, D_OUT), easy_cases.mild_tokens(draw, N, D_OUT)
        apart, even = output_of(module(self.twice(x))), output_of(module(self.twice(mild)))
        shape(even, (*self.leading, N, D_OUT))
        close(apart, self.twice(middle), "the average of tokens far from the others", tolerance=2e-4)
        even = even.reshape(-1, N, D_OUT)
        scores = (mild @ mild.T).expand(len(even), N, N)
        easy_cases.mixes(even, scores, mild.expand_as(even), "the output of mild scores")

    @check("values", points=0.5)
    @or_unbatched
    def test_weights_sum_to_one(self, submission: Submission, draw: Draw) -> None:
        """The weights of each query are a softmax over the keys, so they sum to 1: what all tokens pass on is kept."""
        self.averaging(submission, draw)
        state = self.weights(draw)
        # The last feature is 1 for all tokens, and the values hold nothing else.
        value = torch.cat([torch.zeros(D_OUT, self.d_in - 1), torch.ones(D_OUT, 1)], dim=1)
        state[f"{self.names[2]}.weight"] = value
        x = torch.cat([self.tokens(draw, self.d_in - 1), torch.ones(*self.leading, N, 1)], dim=-1)
        got = output_of(self.head(submission, state)(x))
        close(got, torch.ones(*self.leading, N, D_OUT), "the sum of the weights")

    @check("gradients", points=0.5)
    @or_unbatched
    def test_gradient_of_input(self, submission: Submission, draw: Draw) -> None:
        """The gradient reaches the input by all three ways: through queries, keys and values."""
        state, x, upstream, expected = self.differentiated(draw)
        got = self.head(submission, state).gradients(x, upstream=upstream)
        gradient(got.inputs[0], expected[0], "the input")

    @check("gradients", points=0.5)
    @or_unbatched
    def test_gradients_of_weights(self, submission: Submission, draw: Draw) -> None:
        """Each of the three matrices gets its right gradient, so that training can shape it."""
        state, x, upstream, expected = self.differentiated(draw)
        got = self.head(submission, state).gradients(x, upstream=upstream)
        for name, right in zip(self.names, expected[1:], strict=True):
            gradient(got.parameters.get(f"{name}.weight"), right, f"the weight of {name}")

    def differentiated(self, draw: Draw) -> tuple[Weights, torch.Tensor, torch.Tensor, Sequence[torch.Tensor]]:
        """Weights, an input and an upstream gradient, and the right gradients of the input and of the weights."""
        state, x, upstream = self.weights(draw), self.tokens(draw, grad=True), self.tokens(draw, D_OUT)
        leaves = [x.detach().double().requires_grad_(), *(w.double().requires_grad_() for w in state.values())]
        output = self.right(leaves[0], dict(zip(state, leaves[1:], strict=True)))
        return state, x, upstream, qkv.gradients([output], [upstream.double()], leaves)

    @check("numerics", points=0.5)
    @or_unbatched
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all very
        negative."""
        self.averaging(submission, draw)
        query, key, _ = (f"{name}.weight" for name in self.names)
        mixed, one_huge = draw.normal(N, D_OUT), draw.normal(N, D_OUT)
        one_huge[2] *= 100
        alike = draw.normal(1, D_OUT) + 0.1 * draw.normal(N, D_OUT)
        cases = []
        for x, negative in [(self.twice(mixed), False), (self.twice(one_huge), False), (self.twice(alike), True)]:
            state = self.weights_of_extreme_scores(draw)
            if negative:
                state[key] = -state[query]
            state[query] *= HUGE / qkv.largest_score(x, state, self.names)
            cases.append((x, state, output_of(self.head(submission, state)(x))))
        for x, state, got in cases:
            close(got, self.right(x, state), tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    @or_unbatched
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """Any float dtype in, from bfloat16 to float64, the same out, as accurate as each of them allows."""
        (d_in, d_out), cases = self.sizes_of_dtypes, []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, x = self.weights(draw, d_in, d_out, dtype=dtype), self.twice(draw.normal(N, d_in, dtype=dtype))
            state[f"{self.names[0]}.weight"] *= digits.CALM
            cases.append((output_of(self.head(submission, state, dtype)(x)), self.right(x, state), dtype))
        for got, expected, dtype in cases:
            close(got, expected, dtype=dtype, tolerance=EXACT if dtype is torch.float64 else None)

    @check("device", points=0.5)
    @or_unbatched
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
        module, x = self.averages(submission, draw), self.tokens(draw, D_OUT)
        on_meta(output_of(later_calls.moved(module, x).on("meta", x)), x.shape)

    @check("mode", points=0.5, witnessed=True)
    @or_unbatched
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """The input stays as it was, and a second call depends on nothing but its own input and the weights."""
        module, larger = self.averages(submission, draw), [b + 1 for b in self.leading]
        x, other = self.tokens(draw, D_OUT), draw.normal(*larger, N + 2, D_OUT)
        state = self.weights(draw, D_OUT)
        first = output_of(module(x))
        unchanged(submission)
        longer, second = output_of(module(other)), output_of(module(x))
        self.load(module, state)
        relearned, afresh = output_of(module.eval()(x)), output_of(self.head(submission, state)(x))
        longer_afresh = output_of(self.plain(submission)(other))
        shape(first, x.shape)
        shape(afresh, x.shape)
        what = "a larger batch of longer sequences" if self.leading else "a longer sequence"
        shape(longer, other.shape, f"the output for {what}")
        shape(longer_afresh, other.shape, f"the output for {what}")
        close(second, first, "the output of the second call")
        close(longer, longer_afresh, f"the output for {what}, after another call,")
        close(relearned, afresh, "the output in eval mode, after a call with other weights,")
        self.keeps_nothing(submission, draw)

    def keeps_nothing(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless later calls are those of a new module, also without gradients."""
        states = self.weights(draw, D_OUT), self.weights(draw, D_OUT)
        x, other = self.tokens(draw, D_OUT), self.tokens(draw, D_OUT)

        def call(module: Proxy, given: later_calls.Inputs) -> dict[str, Any]:
            return {"the output": output_of(module(*given))}

        new = functools.partial(self.head, submission)
        later_calls.nothing_is_kept(new, self.load, states, ([x], [other]), [x[..., :1, :]], call)

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the output has the same values, in float32 and in float16."""
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, x = self.weights(draw, dtype=dtype), self.tokens(draw, dtype=dtype)
            got = self.head(submission, state, dtype).to(device="cuda").on("cuda", x)
            stayed_on_cuda(submission)
            close(got, self.right(x, state), dtype=dtype)
