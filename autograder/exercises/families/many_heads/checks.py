"""Checks that all modules with heads share.

An exercise subclasses `HeadChecks`; its `layout` says how the module is built and what its layers are called.

Weights are drawn in the form of `reference.heads` and renamed for the module. Checks that are not about the values of
the whole formula start with `averages`, an easy case. Code that does not attend gets no points there, while a wrong
scale does not cost the points for, say, the device. Where the output projection does nothing (`plain`), a module may
lack it: that mistake has checks of its own. Modules are in eval mode, except in the checks of gradients and of other
sizes, which try train mode without dropout. A sequence is as long as the context, except where lengths are the point.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
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
    parameters,
    plausible,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Proxy, StudentError, Submission
from ....checks.steps import Weights
from ...reference import heads as reference
from ...reference import qkv
from .. import digits, easy_cases, later_calls

PARTS = reference.PARTS
FINE = 1e-10  # of float64, which a constant of 1e-9 in a denominator exceeds


@dataclass(frozen=True)
class Sizes:
    """Widths of input, head and output, the number of heads, and the usual input: b sequences of n tokens.

    Without `projected` there is no output projection; without `out_bias` it has no bias.
    """

    d_in: int
    width: int
    heads: int
    d_out: int
    b: int = 2
    n: int = 5
    context: int = 5
    projected: bool = True
    out_bias: bool = True

    def made_of(self, part: str) -> int:
        """The width of the tokens that queries, keys or values (`part`) are computed from."""
        return self.d_in

    def rows(self, part: str) -> int:
        """The width of the queries, keys or values of all heads together."""
        return self.heads * self.width


@dataclass(frozen=True)
class Layout:
    """A module with heads: its exercise, its layers for query, key, value and output, and its usual sizes.

    `build(submission, sizes, dropout, bias)` builds it. `per_head` is true if every head has layers of its own; names
    then hold `{}` for the head's number. `sizes` are all different; in `plain_sizes` the heads together are as wide as
    the output or as the input, and there are as many as by default; in `square` as many sizes as possible are equal.
    `large` are sizes beyond those that students try by hand.
    """

    exercise: str
    names: tuple[str, ...]
    build: Callable[..., Proxy]
    sizes: Sizes
    plain_sizes: Sizes
    square: Sizes
    large: tuple[Sizes, ...] = ()
    is_causal: bool = False
    per_head: bool = False
    unbatched: bool = False

    @property
    def one_head(self) -> Sizes:
        """Sizes of a single head that is as wide as input and output."""
        return replace(self.sizes, d_in=4, width=4, heads=1, d_out=4, n=3, context=3)

    def rename(self, state: Weights, heads: int) -> Weights:
        """The weights under the module's own names."""
        renamed = {}
        for name, weight in state.items():
            part, kind = name.split(".")
            own = self.names[(*PARTS, "out").index(part)]
            if self.per_head and part != "out":
                for head, rows in enumerate(weight.chunk(heads)):
                    renamed[f"{own.format(head)}.{kind}"] = rows
            else:
                renamed[f"{own}.{kind}"] = weight
        return renamed

    def gather(self, found: Mapping[str, torch.Tensor | None], name: str, heads: int) -> torch.Tensor | None:
        """The gradient that `reference.heads` calls `name`, from `found` by the module's own names; None if missing."""
        part, kind = name.split(".")
        own = self.names[(*PARTS, "out").index(part)]
        if not self.per_head or part == "out":
            return found.get(f"{own}.{kind}")
        parts = [found.get(f"{own.format(head)}.{kind}") for head in range(heads)]
        there = [part for part in parts if part is not None]
        return torch.cat(there) if len(there) == heads else None

    def right(self, x: torch.Tensor, state: Weights, sizes: Sizes) -> torch.Tensor:
        return reference.multi_head(x, state, sizes.heads, self.is_causal)

    def largest_score(self, x: torch.Tensor, state: Weights, sizes: Sizes) -> float:
        return reference.largest_score(x, state, sizes.heads)

    def module(
        self,
        submission: Submission,
        state: Weights,
        sizes: Sizes,
        dtype: torch.dtype | None = None,
        dropout: float = 0.0,
    ) -> Proxy:
        """A module with these weights loaded, built with biases only if there are any."""
        module = self.build(submission, sizes, dropout, "query.bias" in state)
        if dtype:
            module.to(dtype=dtype)
        self.load(module, state, sizes)
        return module

    def load(self, module: Proxy, state: Weights, sizes: Sizes) -> None:
        """Load these weights into a module, which may lack a part of the output projection that does nothing."""
        weight, bias, optional = state.get("out.weight"), state.get("out.bias"), []
        if weight is not None and torch.equal(weight, torch.eye(sizes.d_out, dtype=weight.dtype)):
            optional.append(f"{self.names[3]}.weight")
        if bias is not None and not bias.any():
            optional.append(f"{self.names[3]}.bias")
        module.load(self.rename(state, sizes.heads), optional)


def weights(draw: Draw, sizes: Sizes, bias: bool = False, dtype: torch.dtype = torch.float32) -> Weights:
    """Different random weights for all layers."""
    shapes: dict[str, tuple[int, ...]] = {f"{part}.weight": (sizes.rows(part), sizes.made_of(part)) for part in PARTS}
    if bias:
        shapes.update({f"{part}.bias": (sizes.rows(part),) for part in PARTS})
    if sizes.projected:
        shapes["out.weight"] = (sizes.d_out, sizes.rows("query"))
        if sizes.out_bias:
            shapes["out.bias"] = (sizes.d_out,)
    return draw.state(shapes, dtype)


def plain(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """Random weights and an output projection that changes nothing; for wide heads it averages the heads."""
    state = weights(draw, sizes, dtype=dtype)
    if not sizes.projected:
        return state
    times = sizes.heads * sizes.width // sizes.d_out
    state["out.weight"] = (torch.eye(sizes.d_out).repeat(1, times) / times).to(dtype)
    if sizes.out_bias:
        state["out.bias"] = torch.zeros(sizes.d_out, dtype=dtype)
    return state


def tokens(draw: Draw, sizes: Sizes, **how: Any) -> torch.Tensor:
    """An input (b, n, d_in)."""
    return draw.normal(sizes.b, sizes.n, sizes.d_in, **how)


DROPPED, MOSTLY_DROPPED = 0.25, 0.8


def first_of(value: Any) -> Any:
    """A value, or the first of several: who returns more than was asked for loses the checks of values alone."""
    return value[0] if isinstance(value, (tuple, list)) and value else value


def dropped_in_heads(
    still: Any, first: Any, second: Any, sizes: Sizes, kinds: torch.Tensor, p: float = DROPPED
) -> None:
    """Raises CheckFailed unless two calls in train mode dropped weights at random, in each head by itself.

    `still` (eval mode), `first` and `second` (train mode with dropout `p`) are outputs (b, n, h·w) for values that are
    all 1 and weights that are equal for all tokens of the query's own kind. `kinds` is (b, n), half of each. With
    b·h·n/2·(n/2+1) = 576 weights the share that is kept tells p (`plausible`). It is far less likely still that two
    calls or two heads drop
    the same weights, that each token keeps all or none, or, for a `p` of 0.8, that none of the 2·b·h tokens that see
    but one of their kind loses it.
    """
    close(still, torch.ones(sizes.b, sizes.n, sizes.d_out), "the output in eval mode")
    alike = kinds[:, :, None] == kinds[:, None, :]
    seen = alike.tril().sum(-1)[:, :, None, None]  # how many tokens of its kind each token sees
    kept = []
    for got in (first, second):
        shape(got, still.shape)
        if torch.equal(got, still):
            raise CheckFailed("In train mode nothing is dropped.")
        if not torch.isfinite(got).all():
            raise CheckFailed("In train mode there is NaN or infinity in the output.")
        count = (got * seen[..., 0] * (1 - p)).reshape(sizes.b, sizes.n, sizes.heads, sizes.width)
        whole = count.round()
        if (count - whole).abs().max() > 1e-3 or (whole < 0).any() or (whole > seen).any():
            raise CheckFailed(
                "In train mode the output is not what a sum over the kept weights, each divided by 1 - p, would give."
            )
        if ((whole == 0) | (whole == seen)).all():
            raise CheckFailed("In train mode each token keeps all of its weights or none, not some.")
        if (whole != whole[..., :1]).any():
            raise CheckFailed("Within a head, features of one token differ: dropout should act on the weights alone.")
        if p > 0.5 and (whole[..., 0] == 1)[(seen[..., 0] == 1).expand(whole.shape[:-1])].all():
            raise CheckFailed("In train mode a token that sees a single one always keeps its weight.")
        kept.append(whole[..., 0])
    if torch.equal(*kept) or torch.equal(kept[0][..., 0], kept[0][..., 1]):
        raise CheckFailed("Two calls, or two heads, drop exactly the same weights.")
    many, all_weights = int(kept[0].sum()), sizes.heads * int(seen.sum())
    if not plausible(many, all_weights, 1 - p):
        raise CheckFailed(f"With dropout = {p} a share of {many / all_weights:.2f} of the weights is kept.")


def refuses_to_divide(submission: Submission, layout: Layout, sizes: Callable[..., Sizes]) -> None:
    """Raises CheckFailed unless building refuses widths that heads don't divide; `sizes` is a subclass of Sizes."""
    cases = [(15, 4), (6, 8)]
    for width, heads in cases:
        error = None
        try:
            layout.build(submission, sizes(width, width // heads, heads, width), 0.0, False)
            submission.settle()
        except StudentError as raised:
            error = raised
        refuses(error, f"a width of {width} with {heads} heads", width, heads)


def parameters_of(layout: Layout, built: Proxy, sizes: Sizes, bias: bool = False) -> None:
    """Raises CheckFailed unless a built module has exactly the parameters of these sizes."""
    inner = sizes.heads * sizes.width
    expected = {}
    for own, part in zip(layout.names[:3], PARTS, strict=True):
        for number in range(sizes.heads) if layout.per_head else [0]:
            rows = sizes.width if layout.per_head else inner
            expected[f"{own.format(number)}.weight"] = (rows, sizes.made_of(part))
            if bias:
                expected[f"{own.format(number)}.bias"] = (rows,)
    if sizes.projected:
        expected[f"{layout.names[3]}.weight"] = (sizes.d_out, inner)
        expected[f"{layout.names[3]}.bias"] = (sizes.d_out,)
    parameters(built.parameters(), expected)


# --- the checks -----------------------------------------------------------------------------------


class HeadChecks:
    """The checks of any module with heads."""

    layout: Layout

    def before_values(self, submission: Submission, draw: Draw) -> None:
        """Judge the student's code that the module uses, if any, before the module itself."""

    def module(self, submission: Submission, state: Weights, sizes: Sizes, dtype: torch.dtype | None = None) -> Proxy:
        """A module in eval mode with these weights."""
        return self.layout.module(submission, state, sizes, dtype).eval()

    def output(self, call: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
        """What a call gives for a batch, or the first of several things, in the checks that are not about that."""
        return first_of(call(x))

    def wrong_step(self, submission: Submission, draw: Draw) -> steps.Step | None:
        """The first step at which a module goes wrong, in small cases."""
        layout, one = self.layout, self.layout.one_head

        def case(state: Weights, sizes: Sizes = one) -> steps.Case:
            x = tokens(draw, sizes)
            got = self.output(self.module(submission, state, sizes), x)
            return steps.Case(got, layout.right(x, state, sizes), qkv.project(x, state["value.weight"]))

        several = replace(layout.plain_sizes, n=3, context=3)
        return steps.first_wrong_of_layers(
            case,
            lambda: plain(draw, one),
            "key.weight",
            ("heads", lambda: case(plain(draw, several), several)),
            ("projection", lambda: case(weights(draw, one))),
        )

    def averages(self, submission: Submission, draw: Draw, sizes: Sizes | None = None) -> Proxy:
        """A module with random weights, after its class has passed an easy case."""
        self.averaging(submission, draw)
        sizes = sizes or self.layout.plain_sizes
        return self.module(submission, plain(draw, sizes), sizes)

    @easy_case
    def averaging(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless a module passes an easy case, be it only up to a matrix that follows.

        Heads in another order, and values that are wrong, do not cost the points for, say, the device.
        """
        easy_cases.either(
            lambda: self.averages_kinds(submission, draw), lambda: self.weighs_by_scores(submission, draw)
        )

    def averages_kinds(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless each token gets the average of all tokens or of those of its kind.

        For a causal module only the last token, which sees all, is looked at: masks have their own checks.
        """
        layout, sizes = self.layout, self.layout.plain_sizes
        state, x = plain(draw, sizes), easy_cases.kinds(draw, sizes.n, sizes.d_in)
        easy_cases.find_alike(state, sizes.width)
        module = self.module(submission, state, sizes)
        got, expected = self.output(module, x), layout.right(x, state, sizes)
        what = "the output for queries that fit some keys alike"
        shape(got, expected.shape)
        rows = slice(-1, None) if layout.is_causal else slice(None)
        close(got[3, rows], expected[3, rows], f"{what}, at the last token," if layout.is_causal else what)
        scores, alone = easy_cases.scores_of(x[:3]), layout.right(x[:3].reshape(-1, 1, sizes.d_in), state, sizes)
        alone = alone.reshape(3, sizes.n, -1)  # the output for each token alone
        easy_cases.mixes(got[:3], scores, alone, "the output of mild scores", rows)

    def weighs_by_scores(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless a module mixes tokens by a softmax of their scores, whatever it makes of these."""
        layout, sizes = self.layout, self.layout.plain_sizes
        state, x = plain(draw, sizes), easy_cases.many_kinds(draw, sizes.n, sizes.d_in)
        easy_cases.find_alike(state, sizes.width)
        got = self.output(self.module(submission, state, sizes), x)
        easy_cases.mixes_somehow(got, easy_cases.scores_of(x), x, layout.is_causal)

    @check("values", points=0.5)
    def test_output(self, submission: Submission, draw: Draw) -> None:
        """The output is what all heads find, side by side, head 0 first, through the output projection and its bias."""
        layout, sizes = self.layout, replace(self.layout.sizes, context=self.layout.sizes.n + 2)
        self.before_values(submission, draw)
        state, x = weights(draw, sizes), tokens(draw, sizes)
        close(self.module(submission, state, sizes)(x), layout.right(x, state, sizes))

    @check("values", points=0.5)
    def test_sizes_that_are_equal(self, submission: Submission, draw: Draw) -> None:
        """The values are right also when many sizes are equal, where a mix-up of dimensions does not crash, when sizes
        are large, and for a single head."""
        self.before_values(submission, draw)
        self.right_values(submission, draw, self.layout.square, *self.layout.large, self.layout.one_head)

    def right_values(self, submission: Submission, draw: Draw, *many_sizes: Sizes) -> None:
        """Raises CheckFailed unless the values are right for these sizes, in train mode without dropout."""
        layout, cases = self.layout, []
        for sizes in many_sizes:
            state, x = plain(draw, sizes), tokens(draw, sizes)
            # an average would hide which head is which, and the identity whether a single one is projected
            if sizes.projected and (sizes.d_out < sizes.heads * sizes.width or sizes.heads == 1):
                state["out.weight"] = weights(draw, sizes)["out.weight"]
            cases.append((layout.module(submission, state, sizes).train()(x), layout.right(x, state, sizes)))
        for got, expected in cases:
            close(got, expected, f"the output for an input of shape {tuple(expected.shape[:2])} and its width")

    @check("gradients", points=0.5)
    def test_gradients(self, submission: Submission, draw: Draw) -> None:
        """The gradients of the input and of the weights of all layers are right, so that each of them can learn."""
        layout, sizes = self.layout, self.layout.sizes
        self.before_values(submission, draw)
        state = weights(draw, sizes, dtype=torch.float64)
        x, upstream = tokens(draw, sizes, dtype=torch.float64, grad=True), draw.normal(sizes.b, sizes.n, sizes.d_out)
        upstream = upstream.double()
        leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
        expected = qkv.gradients([layout.right(x, leaves, sizes)], [upstream], [x, *leaves.values()])
        got = layout.module(submission, state, sizes, torch.float64).train().gradients(x, upstream=upstream)
        gradient(got.inputs[0], expected[0], "the input", torch.float64, FINE)
        for name, right in zip(leaves, expected[1:], strict=True):
            found, part = layout.gather(got.parameters, name, sizes.heads), name.split(".")
            own = layout.names[(*PARTS, "out").index(part[0])].format("i")
            gradient(found, right, f"the {part[1]} of {own}", torch.float64, FINE)

    @check("numerics", points=0.5)
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all
        very negative."""
        self.averaging(submission, draw)
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        # Scores that are far apart, whatever the scale. The first token looks for the second kind, which comes later.
        first, others = torch.ones(1), torch.tensor([-1.0, -0.8, 0.6, 0.8])
        all_extreme = torch.stack([torch.cat([first, easy_cases.shuffled(draw, others)]) for _ in range(sizes.b)])
        one_row = torch.eye(sizes.n)[draw.integer(1, sizes.n - 1)]
        for feature, sign in ((all_extreme, -1), (one_row, 1), (torch.ones(sizes.n), -1)):
            state, x = plain(draw, sizes), tokens(draw, sizes)
            x[..., 0] = feature
            easy_cases.find_alike(state, sizes.width, sign=sign)
            state["query.weight"] *= HUGE / layout.largest_score(x, state, sizes)
            cases.append((self.output(self.module(submission, state, sizes), x), layout.right(x, state, sizes)))
        for got, expected in cases:
            close(got, expected, tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, x = plain(draw, sizes, dtype=dtype), tokens(draw, sizes, dtype=dtype)
            state["query.weight"] *= digits.CALM
            got = self.output(self.module(submission, state, sizes, dtype), x)
            cases.append((got, layout.right(x, state, sizes), dtype))
        for got, expected, dtype in cases:
            close(got, expected, dtype=dtype, tolerance=FINE if dtype is torch.float64 else None)

    @check("device", points=0.5)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
        module, sizes = self.averages(submission, draw), self.layout.plain_sizes
        x = tokens(draw, sizes)
        got = self.output(partial(later_calls.moved(module, x).on, "meta"), x)
        on_meta(got, (sizes.b, sizes.n, sizes.d_out))

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """An input of another rank than the exercise asks for is refused with a `ValueError`."""
        layout = self.layout
        module, sizes = self.averages(submission, draw), layout.plain_sizes
        small = draw.normal(sizes.d_in) if layout.unbatched else draw.normal(sizes.n, sizes.d_in)
        too_few, too_many = module.error(small), module.error(draw.normal(1, sizes.b, sizes.n, sizes.d_in))
        refuses(too_few, f"an input with {'one dimension' if layout.unbatched else 'two dimensions'}")
        refuses(too_many, "an input with four dimensions")

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """A batch of one, a sequence of one token, and a tensor that is not contiguous work like any other."""
        layout, sizes = self.layout, self.layout.plain_sizes
        self.averaging(submission, draw)
        state = plain(draw, sizes)
        state["key.weight"].zero_()  # equal scores: the rest of the formula has its own checks
        inputs = {
            "a batch of one": draw.normal(1, sizes.n, sizes.d_in),
            "one token": draw.normal(sizes.b, 1, sizes.d_in),
            "a batch of one token": draw.normal(1, 1, sizes.d_in),
            "a transposed tensor": draw.normal(sizes.b, sizes.d_in, sizes.n).mT,
        }
        module = self.module(submission, state, sizes)
        outputs = [module(x) for x in inputs.values()]
        for (name, x), got in zip(inputs.items(), outputs, strict=True):
            close(got, layout.right(x, state, sizes), f"the output for {name}")

    @check("mode", points=0.5, witnessed=True)
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """The input stays as it was, and a call depends on nothing but its own input and the weights of that moment."""
        layout, sizes = self.layout, replace(self.layout.plain_sizes, context=self.layout.plain_sizes.n + 2)
        other_way = self.averages(submission, draw, sizes)  # a module that gets the calls from the last to the first
        state, new = plain(draw, sizes), plain(draw, sizes)
        x, larger = tokens(draw, sizes), tokens(draw, replace(sizes, b=sizes.b + 1, n=sizes.n + 2))
        calls = {"the same input": (state, x), "new weights": (new, x), "a larger input": (state, larger)}
        self.output(other_way, x)  # with weights of its own, which it must not keep
        module, there, back = self.module(submission, state, sizes), {}, {}
        for what, (held, given) in calls.items():
            layout.load(module, held, sizes)
            there[what] = self.output(module, given)
            unchanged(submission)
        for what, (held, given) in reversed(calls.items()):
            layout.load(other_way, held, sizes)
            back[what] = self.output(other_way, given)
        for what, (_, given) in calls.items():
            shape(there[what], (*given.shape[:2], sizes.d_out))
        for what, got in back.items():
            close(got, there[what].double(), f"the output of a later call, for {what},")
        other = tokens(draw, sizes)
        later_calls.nothing_is_kept(
            lambda state: self.module(submission, state, sizes),
            lambda module, state: layout.load(module, state, sizes),
            (state, new),
            ([x], [other]),
            [x[:, :1]],
            lambda module, given: {"the output": self.output(module, *given)},
        )

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the output has the same values, in float32 and in float16."""
        layout = self.layout
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, x = weights(draw, layout.sizes, dtype=dtype), tokens(draw, layout.sizes, dtype=dtype)
            got = layout.module(submission, state, layout.sizes, dtype).to(device="cuda").on("cuda", x)
            stayed_on_cuda(submission)
            close(got, layout.right(x, state, layout.sizes), dtype=dtype)


class CausalHeadChecks(HeadChecks):
    """Checks of causal modules: no token sees a later one, train mode drops weights, a sequence can be too long."""

    @check("masking", points=0.5)
    def test_no_looking_ahead(self, submission: Submission, draw: Draw) -> None:
        """No token's output depends on a later token, and each depends on all tokens before it."""
        sizes = self.layout.plain_sizes
        self.averaging(submission, draw)
        state, x, new = plain(draw, sizes), tokens(draw, sizes), tokens(draw, sizes)
        module, others = self.module(submission, state, sizes), []
        for position in range(sizes.n):
            others.append(x.clone())
            others[-1][:, position] = new[:, position]
        changed = [self.output(module, other) for other in others]
        output, expected = tensor(self.output(module, x)), self.layout.right(x, state, sizes)
        shape(output, expected.shape)
        for position, (got, other) in enumerate(zip(changed, others, strict=True)):
            shape(got, expected.shape)
            close(got[:, :position], output[:, :position].double(), "the output of tokens before the one that changed")
            says = "There is a token whose output stays the same when it or a token before it changes."
            since, right = slice(position, None), self.layout.right(other, state, sizes)
            reacts(output[:, since], got[:, since], expected[:, since], right[:, since], says)

    @check("mode", points=0.5)
    def test_dropout(self, submission: Submission, draw: Draw) -> None:
        """In train mode each head's weights are dropped by chance and the kept ones scaled up; in eval mode none is.

        All values are 1 and weights are equal for all tokens of a kind, so that the output tells how many were kept.
        """
        self.averaging(submission, draw)
        sizes = Sizes(d_in=6, width=3, heads=2, d_out=6, b=4, n=16, context=16)
        state, x = plain(draw, sizes), tokens(draw, sizes)
        kinds = torch.stack([easy_cases.shuffled(draw, torch.arange(sizes.n) % 2) for _ in x])
        x[..., 0], x[..., -1] = 1.0 - 2 * kinds, 1.0
        easy_cases.find_alike(state, sizes.width)
        state["value.weight"].zero_()[:, -1] = 1.0
        module = self.layout.module(submission, state, sizes, dropout=MOSTLY_DROPPED)
        still = self.output(module.eval(), x)
        module.train()
        first, second = (self.output(partial(module.seeded, seed), x) for seed in (1, 2))
        dropped_in_heads(still, first, second, sizes, kinds, MOSTLY_DROPPED)

    @check("arguments", points=0.5)
    def test_too_long(self, submission: Submission, draw: Draw) -> None:
        """More tokens than the context holds are refused with a `ValueError` whose message holds both numbers."""
        layout = self.layout
        module, sizes = self.averages(submission, draw), layout.plain_sizes
        full = self.output(module, draw.normal(1, sizes.context, sizes.d_in))
        too_long = module.error(draw.normal(1, 11, sizes.d_in))
        shape(full, (1, sizes.context, sizes.d_out), "the output for as many tokens as the context holds")
        refuses(too_long, f"a sequence of 11 tokens, where the context holds {sizes.context},", 11, sizes.context)


class NarrowHeadChecks(HeadChecks):
    """Checks of modules whose heads share the width, which has to be divisible by their number."""

    @check("arguments", points=0.5)
    def test_heads_that_do_not_divide(self, submission: Submission, draw: Draw) -> None:
        """A width that the heads don't divide is refused with a `ValueError` whose message holds both numbers."""
        self.averaging(submission, draw)
        refuses_to_divide(submission, self.layout, Sizes)
