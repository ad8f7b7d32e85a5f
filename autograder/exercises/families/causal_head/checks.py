"""Checks that `Head` and `CausalAttention` share: one causal head, (b, n, d_in) -> (b, n, d_out).

Checks that are not about the values of the whole formula start with `looking`, an easy case. Code that does not attend
gets no points there, while a wrong scale or a leak does not cost the points for, say, the device. The context is as
long as the sequence and there is no dropout, except in the checks about those.
"""

import copy
import functools
from collections.abc import Callable
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
    plausible,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Proxy, StudentError, Submission
from ....checks.steps import Weights
from ...reference import causal, qkv
from .. import digits, easy_cases, hidden, later_calls
from ..single_head.checks import D_OUT, EXACT, MANY, WIDE, N, output_of

B = 2
P = 0.25


def roomy(test: Callable[..., None]) -> Callable[..., None]:
    """Decorate a check: if a ValueError ends it, it is tried once more with contexts longer by one than the sequences.

    A mistake that refuses the longest sequence has a check of its own, and costs no other.
    """

    @functools.wraps(test)
    def tried(self: Any, submission: Submission, draw: Draw) -> None:
        try:
            test(self, submission, draw)
        except StudentError as error:
            if error.type != "ValueError":
                raise
            roomier = copy.copy(self)
            roomier.spare = 1
            test(roomier, submission, draw)

    return tried


def dropped(got: Any, weights: torch.Tensor, p: float, seen_twice: torch.Tensor | None = None) -> None:
    """Raises CheckFailed unless `got` is `weights` after dropout: each entry 0 with probability p, else divided by 1-p.

    Both are (b, t, t), and all b items hold the same weights. `seen_twice` holds the same weights as revealed by other
    features; if given, it must equal `got`, which it would not if outputs or values were dropped instead. With at least
    500 nonzero weights and p = 1/4, a right answer is rejected less than once in 10^8, by `plausible`; any other
    coincidence is rarer.
    """
    shape(got, weights.shape, "the weights that the output reveals")
    got, weights = got.detach().double(), weights.detach()
    if (got - weights).abs().max() < 1e-4:
        raise CheckFailed("In train mode no weight was dropped.")
    if seen_twice is not None and (got - seen_twice.double()).abs().max() > 1e-4:
        raise CheckFailed("Features that should come out alike do not: dropout belongs on the weights only.")
    kept = got.abs() > 0.5 * weights
    right = torch.where(kept, weights / (1 - p), 0.0)
    close(got, right, "the weights after dropout", dtype=torch.float64, tolerance=1e-4)
    some = kept[weights > 0]
    if not plausible(int(some.sum()), some.numel(), 1 - p):
        raise CheckFailed(f"With dropout {p}, {some.double().mean().item():.0%} of the weights were kept.")
    if any(torch.equal(kept[0], other) for other in kept[1:]):
        raise CheckFailed("The same weights were dropped in each sequence of the batch.")


def dropped_or_kept(got: Any, whole: torch.Tensor, p: float) -> None:
    """Raises CheckFailed unless each token's output (b, d) is 0, or `whole` divided by 1 - p, and both occur.

    `whole` is the output for a single key, whose weight is 1. With 96 tokens and p = 0.8, a right answer is rejected
    less than once in 10^8.
    """
    kept = got.abs().amax(-1, keepdim=True) > 0
    close(got, torch.where(kept, whole / (1 - p), 0.0), f"the output with a dropout of {p}, for a single key")
    if kept.all() or not kept.any():
        raise CheckFailed(f"With a dropout of {p}, {'every' if kept.all() else 'no'} single weight was kept.")


class SingleCausalHeadChecks:
    """The checks of one causal head.

    `names` are its layers for queries, keys and values. `d_in` is the usual width of its input, different from all
    other sizes; `d_out_of_dtypes` is the width of its output in the check of dtypes. `masks` are two masks that a call
    may take, if it takes any. `limit` and `one_sequence` are the exercise's words for the context and for an input
    without a batch.
    """

    names: tuple[str, str, str]
    d_in: int
    d_out_of_dtypes: int
    masks: tuple[torch.Tensor, ...] = ()
    limit: str
    one_sequence: str
    spare = 0  # by how much the usual context is longer than the sequences

    def build(self, submission: Submission, d_in: int, d_out: int, context: int, dropout: float, bias: bool) -> Proxy:
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

    def tokens(self, draw: Draw, b: int = B, n: int = N, **how: Any) -> torch.Tensor:
        """An input (b, n, d_in)."""
        return draw.normal(b, n, self.d_in, **how)

    def head(
        self,
        submission: Submission,
        state: Weights,
        n: int = N,
        dropout: float = 0.0,
        dtype: torch.dtype | None = None,
        context: int | None = None,
    ) -> Proxy:
        """A head in eval mode that holds these weights, for sequences up to n, built with biases only if there are any.

        `context` is given by checks for which it must be exactly that.
        """
        d_out, d_in = state[f"{self.names[1]}.weight"].shape
        context = n + self.spare if context is None else context
        module = self.build(submission, d_in, d_out, context, dropout, f"{self.names[1]}.bias" in state)
        if dtype:
            module.to(dtype=dtype)
        self.load(module, state)
        return module.eval()

    def load(self, module: Proxy, state: Weights) -> None:
        """Load weights. A layer after the attention that nobody asked for gets the identity, and so changes nothing:
        it costs the check of parameters alone."""
        identity = torch.eye(len(state[f"{self.names[1]}.weight"]))
        more = {f"{name}.weight": identity for name in ("proj", "out_proj")}
        module.load(state | more, optional=more)

    def get(self, call: Callable[..., Any], x: torch.Tensor, *mask: torch.Tensor, **options: Any) -> Any:
        """What a call gives: `call` is a module or one of its methods, such as `module.gradients`."""
        return output_of(call(x, *mask, **options))

    def right(self, x: torch.Tensor, state: Weights, padding: torch.Tensor | None = None) -> torch.Tensor:
        """The right output."""
        return causal.head(x, state, self.names, padding)[0]

    def wrong_step(self, submission: Submission, draw: Draw) -> steps.Step | None:
        """The first step at which a head goes wrong, in small cases."""
        _, key, value = self.names

        def case(state: Weights, *mask: torch.Tensor) -> steps.Case:
            x = draw.normal(B, 3, D_OUT)
            got = self.get(self.head(submission, state, n=3), x, *mask)
            return steps.Case(got, self.right(x, state, *mask), qkv.project(x, state[f"{value}.weight"]))

        def padded() -> steps.Case:
            """What the last token gets, from which the causal mask hides nothing."""
            got, right, values = case(self.weights(draw, D_OUT), draw.mask(B, 3))
            shape(got, right.shape)
            return steps.Case(got[:, -1:], right[:, -1:], values)

        later = [("mask", padded)] if self.masks else []
        return steps.first_wrong_of_layers(case, lambda: self.weights(draw, D_OUT), f"{key}.weight", *later)

    def looking(self, submission: Submission, draw: Draw, **options: Any) -> Proxy:
        """A head with random weights, after its class has passed an easy case."""
        self.looks(submission, draw, **options)
        return self.head(submission, self.weights(draw), **options)

    @easy_case
    def looks(self, submission: Submission, draw: Draw, **options: Any) -> None:
        """Raises CheckFailed unless a head passes an easy case that any mask allows, be it only up to a matrix that
        follows: values that are wrong do not cost the points for, say, the device."""
        easy_cases.either(
            lambda: self.finds_another(submission, draw, **options),
            lambda: self.weighs_by_scores(submission, draw, **options),
        )

    def weighs_by_scores(self, submission: Submission, draw: Draw, **options: Any) -> None:
        """Raises CheckFailed unless a head mixes tokens by a softmax of their scores, whatever it makes of these."""
        query, key, _ = (f"{name}.weight" for name in self.names)
        state, x = self.weights(draw), easy_cases.many_kinds(draw, N, self.d_in)
        easy_cases.find_alike(state, D_OUT, query, key)
        got = self.get(self.head(submission, state, **options), x)
        easy_cases.mixes_somehow(got, easy_cases.scores_of(x), x, causal=True)

    def finds_another(self, submission: Submission, draw: Draw, **options: Any) -> None:
        """Raises CheckFailed unless a token finds the other one that its query fits."""
        query, key, value = (f"{name}.weight" for name in self.names)
        easy, (x, found) = self.weights(draw), easy_cases.halves(draw, self.d_in)
        easy_cases.find_halves(easy, query, key)
        module = self.head(submission, easy, **options)
        got = self.get(module, x)
        shape(got, (*x.shape[:2], D_OUT))
        close(got[:3, 2], qkv.project(found, easy[value]), "the output for a token whose query fits another's key")
        scores, alone = 256 * x[3:, :, :2] @ x[3:, :, :2].mT, qkv.project(x[3:], easy[value])
        easy_cases.mixes(got[3:], scores, alone, "the output of mild scores", slice(2, 3), causal=True, any_mask=True)

    def averages(self, submission: Submission) -> Proxy:
        """A head on a single feature with queries of 0: each token gets the average of the numbers that it may see."""
        return self.head(submission, {f"{n}.weight": torch.ones(1, 1) * (n != self.names[0]) for n in self.names})

    @check("values", points=0.5)
    @roomy
    def test_values(self, submission: Submission, draw: Draw) -> None:
        """The output is softmax(Q Kᵀ / √d_out) V, over the keys up to the query's own place."""
        for state, x in (
            (self.weights(draw), self.tokens(draw, 9)),
            (self.weights(draw, 20, WIDE), draw.normal(B, MANY, 20)),
        ):
            got = self.head(submission, state, x.shape[1])(x)
            close(got, self.right(x, state), f"the output for {x.shape[1]} tokens")

    @check("values", points=0.5)
    @roomy
    def test_all_sizes_equal(self, submission: Submission, draw: Draw) -> None:
        """The values are right also when b = n = d_in = d_out, where a mix-up of dimensions does not crash."""
        state, x = self.weights(draw, 4, 4), draw.normal(4, 4, 4)
        close(self.get(self.head(submission, state, 4), x), self.right(x, state))

    @check("masking", points=0.5)
    @roomy
    def test_the_future_does_not_matter(self, submission: Submission, draw: Draw) -> None:
        """A token's output does not depend on later tokens or on another sequence; it depends on each of the past."""
        module, place = self.looking(submission, draw), draw.integer(0, N - 2)
        x = self.tokens(draw)
        future, other = x.clone(), x.clone()
        future[:, place + 1 :] += 3 * self.tokens(draw, n=N - place - 1)
        other[1] = draw.normal(N, self.d_in)
        before, after, beside = (self.get(module, one) for one in (x, future, other))
        # With queries of 0 and a single feature, the effect of a change on the average can be predicted.
        mean, numbers = self.averages(submission), draw.normal(B, N, 1)
        moved = [numbers + (torch.arange(N) == j).float()[:, None] for j in range(N)]
        plain, reached = self.get(mean, numbers), [self.get(mean, one) for one in moved]
        for got in (before, after, beside):
            shape(got, (B, N, D_OUT))
        for got in (plain, *reached):
            shape(got, (B, N, 1))
        rows = slice(0, place + 1)
        close(after[:, rows], before[:, rows].double(), "the output after a change of later tokens")
        close(beside[0], before[0].double(), "the output after a change of another sequence")
        for j, got in enumerate(reached):
            if ((got - plain)[:, j:].abs() < 0.5 / N).any():
                raise CheckFailed(f"Some output stays the same when token {j + 1}, which it may see, changes.")

    @check("shape", points=0.5)
    def test_shorter_sequences(self, submission: Submission, draw: Draw) -> None:
        """Sequences shorter than the context, down to one token, a batch of one and transposed tensors work as well."""
        self.looks(submission, draw)
        state = self.weights(draw)
        state[f"{self.names[1]}.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        inputs = {
            f"a sequence shorter than the {self.limit}": self.tokens(draw),
            "one token": self.tokens(draw, n=1),
            "a batch of one": self.tokens(draw, b=1),
            "a transposed tensor": draw.normal(B, self.d_in, N).mT,
            f"a sequence as long as the {self.limit}": self.tokens(draw, n=9),
        }
        module = self.head(submission, state, context=9)
        outputs = [self.get(module, x) for x in inputs.values()]
        for (name, x), got in zip(inputs.items(), outputs, strict=True):
            close(got, self.right(x, state), f"the output for {name}")

    @check("arguments", points=0.5)
    @roomy
    def test_what_is_refused(self, submission: Submission, draw: Draw) -> None:
        """A sequence longer than the context is a `ValueError` that holds both numbers; so is an input without a
        batch."""
        self.looks(submission, draw)
        module, shortest = (self.head(submission, self.weights(draw), context=most) for most in (13, 1))
        too_long, two = module.error(self.tokens(draw, 1, 17)), shortest.error(self.tokens(draw, B, 2))
        flat, deep = module.error(draw.normal(N, self.d_in)), module.error(draw.normal(1, B, N, self.d_in))
        refuses(too_long, f"a sequence of 17 tokens with a {self.limit} of 13", 17, 13)
        refuses(two, f"a sequence of 2 tokens with a {self.limit} of 1", 2, 1)
        refuses(flat, f"an input of shape {self.one_sequence}")
        refuses(deep, "an input with four dimensions")

    @check("gradients", points=0.5)
    @roomy
    def test_gradients(self, submission: Submission, draw: Draw) -> None:
        """The input and each of the three matrices get their right gradients, in train mode."""
        self.right_gradients(submission, draw)

    def right_gradients(self, submission: Submission, draw: Draw, padding: torch.Tensor | None = None) -> None:
        """Raises CheckFailed unless the gradients of the input and the weights are those of the reference."""
        state, x, upstream = self.weights(draw), self.tokens(draw, grad=True), draw.normal(B, N, D_OUT)
        leaves = [x.detach().double().requires_grad_(), *(w.double().requires_grad_() for w in state.values())]
        output = self.right(leaves[0], dict(zip(state, leaves[1:], strict=True)), padding)
        expected = qkv.gradients([output], [upstream.double()], leaves)
        backward = self.head(submission, state).train().gradients
        got = self.get(backward, x, *([] if padding is None else [padding]), upstream=upstream)
        gradient(got.inputs[0], expected[0], "the input")
        for name, one in zip(self.names, expected[1:], strict=True):
            gradient(got.parameters.get(f"{name}.weight"), one, f"the weight of {name}")

    @check("numerics", points=0.5)
    @roomy
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of ±10,000 give no NaN, infinity or leak: all extreme, one row among mild ones, all very negative."""
        self.looks(submission, draw)
        query, key, _ = (f"{name}.weight" for name in self.names)
        mixed, one_huge = self.tokens(draw), self.tokens(draw)
        one_huge[0, 2] *= 100
        cases = []
        for x in (mixed, one_huge):
            state = self.weights(draw)
            state[query] *= HUGE / qkv.largest_score(x, state, self.names)
            cases.append((x, state))
        cases.append(self.very_negative(draw))
        cases.append(hidden.low_then_high(self.tokens(draw), self.weights(draw), D_OUT, *self.names[:2]))
        outputs = [self.get(self.head(submission, state), x) for x, state in cases]
        for (x, state), got in zip(cases, outputs, strict=True):
            close(got, self.right(x, state), tolerance=HUGE_TOLERANCE)

    def very_negative(self, draw: Draw) -> tuple[torch.Tensor, Weights]:
        """An input and weights that give only scores of about -10,000: they depend on the first feature alone."""
        query, key, _ = (f"{name}.weight" for name in self.names)
        x, state = self.tokens(draw), self.weights(draw)
        x[:, :, 0] = 1 + 2e-5 * x[:, :, 0]
        state[query][:, 1:] = 0
        state[key] = -state[query]
        state[query] *= HUGE / qkv.largest_score(x, state, self.names)
        return x, state

    @check("numerics", points=0.5)
    @roomy
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """Any float dtype in, from bfloat16 to float64, the same out, as accurate as each of them allows."""
        self.looks(submission, draw)
        cases = []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state = self.weights(draw, d_out=self.d_out_of_dtypes, dtype=dtype)
            state[f"{self.names[0]}.weight"] *= digits.CALM
            x = self.tokens(draw, dtype=dtype)
            cases.append((self.get(self.head(submission, state, dtype=dtype), x), self.right(x, state), dtype))
        for got, expected, dtype in cases:
            close(got, expected, dtype=dtype, tolerance=EXACT if dtype is torch.float64 else None)

    @check("device", points=0.5)
    @roomy
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
        module = self.looking(submission, draw)
        on_a_device = functools.partial(later_calls.moved(module, self.tokens(draw)).on, "meta")
        outputs = [self.get(on_a_device, self.tokens(draw))]
        outputs += [self.get(on_a_device, self.tokens(draw), mask) for mask in self.masks[:1]]
        for got in outputs:
            on_meta(got, (B, N, D_OUT))

    @check("mode", points=0.5)
    @roomy
    def test_dropout(self, submission: Submission, draw: Draw) -> None:
        """In train mode dropout acts on the weights: each is 0 or divided by 1 - p, and other ones in each call."""
        self.undropped(submission, draw)
        b, n, features = 4, 16, 3
        state = self.weights(draw, features, 2 * n)
        # The values are one-hot labels of the tokens, given twice, so the output is the weights, twice.
        state = {name: torch.cat([w, torch.zeros(2 * n, n)], dim=1) for name, w in state.items()}
        value = torch.cat([torch.zeros(2 * n, features), torch.eye(n).repeat(2, 1)], dim=1)
        state[f"{self.names[2]}.weight"] = value
        x = torch.cat([draw.normal(1, n, features), torch.eye(n)[None]], dim=2).repeat(b, 1, 1)
        expected = causal.head(x, state, self.names)[1]
        module = self.head(submission, state, n, dropout=P).train()
        first, second = (self.get(functools.partial(module.seeded, seed), x) for seed in (1, 2))
        for got in (first, second):
            shape(got, (b, n, 2 * n))
            dropped(got[..., :n], expected, P, got[..., n:])
        if torch.equal(first, second):
            raise CheckFailed("Two calls dropped the same weights.")

    def undropped(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless train mode alone changes nothing, and a single weight is dropped or kept."""
        state, x, pairs = self.weights(draw), self.tokens(draw), self.tokens(draw, b=96, n=2)
        still = self.get(self.head(submission, state).train(), x)
        got = self.get(functools.partial(self.head(submission, state, 2, dropout=0.8).train().seeded, 1), pairs)
        close(still, self.right(x, state), "the output in train mode with a dropout of 0")
        shape(got, (*pairs.shape[:2], D_OUT))
        dropped_or_kept(got[:, 0], self.right(pairs, state)[:, 0], 0.8)  # the first token sees itself alone

    @check("mode", points=0.5, witnessed=True)
    @roomy
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """In eval mode nothing is dropped: a call depends on its input and the weights. The input stays as it was."""
        module = self.looking(submission, draw, dropout=0.5)
        x, other, state = self.tokens(draw), self.tokens(draw, B + 1), self.weights(draw)
        first = self.get(module, x)
        unchanged(submission)
        for mask in self.masks[:1]:
            self.get(module, x, mask)
            unchanged(submission)
        larger, second = self.get(module, other), self.get(module, x)
        self.load(module, state)
        new = self.head(submission, state)
        relearned, afresh = self.get(module, x), self.get(new, x)
        masked = [(self.get(module, x, mask), self.get(new, x, mask)) for mask in self.masks[1:]]
        for output in (first, afresh, *(alone for _, alone in masked)):
            shape(output, (B, N, D_OUT))
        shape(larger, (B + 1, N, D_OUT), "the output for a larger batch")
        close(second, first, "the output of the second call")
        close(relearned, afresh, "the output after a call with other weights")
        for after_another, alone in masked:
            close(after_another, alone, "the output with a mask after a call with another one")
        states, x, other = (self.weights(draw), self.weights(draw)), self.tokens(draw), self.tokens(draw)

        def call(module: Proxy, given: later_calls.Inputs) -> dict[str, Any]:
            return {"the output": self.get(module, *given)}

        new = functools.partial(self.head, submission)
        later_calls.nothing_is_kept(new, self.load, states, ([x], [other]), [x[:, :1]], call)

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the output has the same values, in float32 and in float16."""
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, x = self.weights(draw, dtype=dtype), self.tokens(draw, dtype=dtype)
            got = self.head(submission, state, dtype=dtype).to(device="cuda").on("cuda", x)
            stayed_on_cuda(submission)
            close(got, self.right(x, state), dtype=dtype)
