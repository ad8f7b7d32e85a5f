"""Checks that `CrossAttention` and `MultiHeadCrossAttention` share: two sequences in, (b, t, d_out) out.

They follow the rules of the family `many_heads`, whose `Layout` and `Sizes` are extended by a context. Checks that are
not about the values of the whole formula start with `lookup`, an easy case. Code that does not attend gets no points
there, while a single mistake does not cost all points: where widths, a mask or what is returned are not the point, all
widths are the same, and `output_of` makes allowances.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from ....checks import steps
from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
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
from ....checks.steps import Weights
from ...reference import heads as reference
from ...reference import qkv
from .. import digits, easy_cases, hidden, later_calls
from ..in_parts import with_masks_if_needed
from ..many_heads import checks
from ..many_heads.checks import PARTS, parameters_of
from ..refusals import refusals

AT_THE_END = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0]]).bool()
BETWEEN = torch.tensor([[0, 1, 0, 0, 1, 1, 1], [1, 1, 0, 1, 0, 1, 0]]).bool()
NOTHING = torch.tensor([[1, 0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]]).bool()


@dataclass(frozen=True)
class Sizes(checks.Sizes):
    """The sizes of self-attention, with d_in as the width of x, and a context of s tokens of width d_context."""

    d_context: int = 3
    s: int = 7

    def made_of(self, part: str) -> int:
        return self.d_in if part == "query" else self.d_context


@dataclass(frozen=True)
class Layout(checks.Layout):
    """A module with heads and a context.

    In `plain_sizes` all widths are the same, and in `square` all lengths as well, so that one wrong width, or a mask
    with its new dimension in the wrong place, stops no check that is about something else.
    """

    sizes: Sizes
    plain_sizes: Sizes
    square: Sizes
    long: tuple[Sizes, ...] = ()  # without a mask, and with one
    many: tuple[Sizes, ...] = ()  # large in other respects, for both

    def module(
        self,
        submission: Submission,
        state: Weights,
        sizes: Sizes,
        dtype: torch.dtype | None = None,
        dropout: float = 0.0,
        train: bool = False,
    ) -> Proxy:
        """A module with these weights, in eval mode unless `train`.

        Nothing is random here. Code that drops something in train mode all the same loses points where values, masks,
        gradients and later calls are the point.
        """
        return super().module(submission, state, sizes, dtype, dropout).train(train)

    def right(
        self,
        x: torch.Tensor,
        context: torch.Tensor,
        state: Weights,
        sizes: Sizes,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return reference.multi_head(x, state, sizes.heads, context=context, context_mask=mask)


def both(draw: Draw, sizes: Sizes, **how: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """An input (b, n, d_in) and a context (b, s, d_context)."""
    return checks.tokens(draw, sizes, **how), draw.normal(sizes.b, sizes.s, sizes.d_context, **how)


def extreme(
    draw: Draw, sizes: Sizes, one_row: bool = False, negative: bool = False
) -> tuple[torch.Tensor, torch.Tensor, Weights]:
    """An input, a context and weights with scores of up to 1e4: for all queries, for one, or all scores about -1e4."""
    (x, context), state = both(draw, sizes), checks.plain(draw, sizes)
    if one_row:
        x[0, 2] *= 100
    if negative:
        context[..., 0] = 1 + 2e-5 * context[..., 0]
        x[..., 0] = 1 + 2e-5 * x[..., 0]
        for part in ("query", "key"):  # both depend on the first feature alone
            state[f"{part}.weight"][:, 1:] = 0
        state["key.weight"][:, 0] = -state["query.weight"][:, 0]
    state["query.weight"] *= HUGE / reference.largest_score(x, state, sizes.heads, context)
    return x, context, state


def output_of(
    module: Proxy, x: torch.Tensor, context: torch.Tensor, mask: torch.Tensor | None = None, device: str | None = None
) -> Any:
    """The output, where it is not the point how the module is called and what else it returns.

    A module that stops without a mask is given one that hides nothing, and of a pair the first is taken. That neither
    is right costs points where it is the point, in `test_output`.
    """

    def call(*given: torch.Tensor) -> Any:
        return module(*given) if device is None else module.on(device, *given)

    value = with_masks_if_needed(call, (x, context), (context,)) if mask is None else call(x, context, mask)
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 2 else value


# --- the checks -----------------------------------------------------------------------------------


class CrossChecks:
    """The checks of a module that attends from one sequence to another."""

    layout: Layout

    def wrong_step(self, submission: Submission, draw: Draw) -> steps.Step | None:
        """The first step at which a module goes wrong, in small cases."""
        layout = self.layout
        one = replace(layout.sizes, d_in=4, width=4, heads=1, d_out=4, n=5, d_context=4, s=3)

        def case(state: Weights, sizes: Sizes = one, mask: torch.Tensor | None = None) -> steps.Case:
            x, context = both(draw, sizes)
            got = output_of(layout.module(submission, state, sizes), x, context, mask)
            right = layout.right(x, context, state, sizes, mask)
            return steps.Case(got, right, qkv.project(context, state["value.weight"]))

        return steps.first_wrong_of_layers(
            case,
            lambda: checks.plain(draw, one),
            "key.weight",
            ("heads", lambda: case(checks.plain(draw, layout.plain_sizes), layout.plain_sizes)),
            ("mask", lambda: case(checks.plain(draw, one), mask=draw.mask(one.b, one.s))),
            ("projection", lambda: case(checks.weights(draw, one))),
        )

    def lookup(self, submission: Submission, draw: Draw) -> Proxy:
        """A module with random weights, after its class has passed an easy case."""
        self.looks_up(submission, draw)
        sizes = self.layout.plain_sizes
        return self.layout.module(submission, checks.plain(draw, sizes), sizes)

    @easy_case
    def looks_up(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless a module passes an easy case, be it only up to a matrix that follows.

        Heads in another order, and values that are wrong, do not cost the points for, say, the device.
        """
        easy_cases.either(lambda: self.finds_kinds(submission, draw), lambda: self.weighs_by_scores(submission, draw))

    def weighs_by_scores(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless a module mixes tokens by a softmax of their scores, whatever it makes of these."""
        layout, sizes = self.layout, self.layout.plain_sizes
        x, context = (easy_cases.many_kinds(draw, n, d) for n, d in ((5, sizes.d_in), (7, sizes.d_context)))
        state = checks.plain(draw, sizes)
        easy_cases.find_alike(state, sizes.width)
        got = output_of(layout.module(submission, state, sizes), x, context)
        easy_cases.mixes_somehow(got, easy_cases.scores_of(x, context), context)

    def finds_kinds(self, submission: Submission, draw: Draw) -> None:
        """Raises CheckFailed unless each query finds one of two kinds of tokens, or both.

        The first query is not looked at, so neither a wrong scale nor a causal mask costs the points for, say, the
        device.
        """
        layout, sizes = self.layout, self.layout.plain_sizes
        state = checks.plain(draw, sizes)
        given = easy_cases.lookups(draw, sizes.d_in, sizes.d_context)
        easy_cases.find_alike(state, sizes.width)
        module = layout.module(submission, state, sizes)
        got, expected = output_of(module, *given), layout.right(*given, state, sizes)
        shape(got, expected.shape)
        close(got[:2, 1:], expected[:2, 1:], "the output for queries that fit some tokens of the context alike")
        x, context = (z[2:] for z in given)
        each = context.reshape(-1, 1, sizes.d_context)
        alone = layout.right(torch.zeros(len(each), 1, sizes.d_in), each, state, sizes)  # what each token alone gives
        alone = alone.reshape(*context.shape[:2], -1)
        easy_cases.mixes(got[2:], easy_cases.scores_of(x, context), alone, "the output of mild scores", any_mask=True)

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters have the names and shapes that the exercise gives; the first three a bias only
        if `qkv_bias`."""
        layout, sizes = self.layout, self.layout.sizes
        given = {"d_query": sizes.d_in, "d_context": sizes.d_context, "d_out": sizes.d_out}
        if sizes.projected:
            given["num_heads"] = sizes.heads
        parameters_of(layout, submission.build(layout.exercise, **given), sizes)
        parameters_of(layout, submission.build(layout.exercise, **given, qkv_bias=True), sizes, bias=True)
        self.looks_up(submission, draw)

    @check("values", points=0.5)
    def test_output(self, submission: Submission, draw: Draw) -> None:
        """Without a mask, the values of the context are mixed by how well its keys fit the queries of x."""
        layout, cases = self.layout, []
        for sizes in (layout.sizes, layout.long[0], *layout.many):
            state, given = checks.weights(draw, sizes), both(draw, sizes)
            module = layout.module(submission, state, sizes, train=True)
            cases.append((module(*given), layout.right(*given, state, sizes)))
        for number, (got, expected) in enumerate(cases):
            close(got, expected, "the output for many long sequences" if number else "the output")

    @check("values", points=0.5)
    def test_sizes_that_are_equal(self, submission: Submission, draw: Draw) -> None:
        """The values are right also when x and the context are equally long and wide, where a mix-up does not crash."""
        layout = self.layout
        state, given = checks.weights(draw, layout.square), both(draw, layout.square)
        got = output_of(layout.module(submission, state, layout.square, train=True), *given)
        close(got, layout.right(*given, state, layout.square))

    @check("values", points=0.5)
    def test_biases(self, submission: Submission, draw: Draw) -> None:
        """With `qkv_bias=True`, queries, keys and values each get their bias added."""
        layout = self.layout
        state, given = checks.weights(draw, layout.sizes, bias=True), both(draw, layout.sizes)
        got = output_of(layout.module(submission, state, layout.sizes), *given)
        close(got, layout.right(*given, state, layout.sizes))

    @check("masking", points=0.5)
    def test_every_token_is_seen(self, submission: Submission, draw: Draw) -> None:
        """Each token of the context reaches each query, the last one the first; the batch's items stay apart."""
        self.looks_up(submission, draw)
        sizes = self.layout.square
        state = checks.plain(draw, sizes)
        module = self.layout.module(submission, state, sizes)
        x, context = both(draw, sizes)
        new, other = draw.normal(sizes.b, sizes.s, sizes.d_context), context.clone()
        other[1] = new[1]
        plain, beside, moved = output_of(module, x, context), output_of(module, x, other), []
        for token in range(sizes.s):
            moved.append(context.clone())
            moved[-1][:, token] = new[:, token]
        reached = [output_of(module, x, one) for one in moved]
        for got in (plain, beside, *reached):
            shape(got, (sizes.b, sizes.n, sizes.d_out))
        close(beside[0], plain[0].double(), "the output after a change of another item's context")
        right = self.layout.right(x, context, state, sizes)
        for token, (got, one) in enumerate(zip(reached, moved, strict=True)):
            says = f"Some output stays the same when token {token + 1} of the context changes."
            reacts(plain, got, right, self.layout.right(x, one, state, sizes), says)

    @check("masking", points=0.5)
    def test_mask(self, submission: Submission, draw: Draw) -> None:
        """The mask hides tokens of the context, at its end or anywhere, for each item by itself, and in each
        call anew."""
        layout, sizes, large = self.layout, self.layout.sizes, (self.layout.long[1], *self.layout.many)
        state, (x, context) = checks.weights(draw, sizes), both(draw, sizes)
        module = layout.module(submission, state, sizes, train=True)
        masks = {
            "with a mask that hides nothing": torch.ones(sizes.b, sizes.s, dtype=torch.bool),
            "with a mask that hides the end": AT_THE_END.mT.contiguous().mT,
            "with a mask that hides some": BETWEEN,
        }
        got = [module(x, context, context_mask=mask) for mask in masks.values()]
        plain, alone = output_of(module, x, context), module(x[1:], context[1:], BETWEEN[1:])
        much = []
        for many in large:
            other, inputs, mask = checks.weights(draw, many), both(draw, many), draw.mask(many.b, many.s)
            value = layout.module(submission, other, many)(*inputs, mask)
            much.append((value, layout.right(*inputs, other, many, mask)))
        for one, (what, mask) in zip(got, masks.items(), strict=True):
            close(one, layout.right(x, context, state, sizes, mask), f"the output {what}")
        close(plain, layout.right(x, context, state, sizes), "the output without a mask, after calls with masks,")
        close(alone, layout.right(x[1:], context[1:], state, sizes, BETWEEN[1:]), "the output for a batch of one")
        for one, right in much:
            close(one, right, "the output for many long sequences with a mask")

    @check("masking", points=0.5)
    def test_mask_of_a_square(self, submission: Submission, draw: Draw) -> None:
        """The mask hides tokens of the context, not queries, also when there are as many of the one as of the other."""
        layout, sizes = self.layout, self.layout.square
        self.looks_up(submission, draw)
        state, (x, context) = checks.plain(draw, sizes), both(draw, sizes)
        state["key.weight"].zero_()  # equal scores: the rest of the formula is judged elsewhere
        mask = draw.mask(sizes.b, sizes.s)
        module = layout.module(submission, state, sizes)
        noise = context + 100 * draw.normal(sizes.b, sizes.s, sizes.d_context) * ~mask[:, :, None]
        before, after = module(x, context, mask), module(x, noise, mask)
        close(before, layout.right(x, context, state, sizes, mask))
        close(after, before.double(), "the output after a change of hidden tokens")

    @check("masking", points=0.5)
    def test_nothing_left(self, submission: Submission, draw: Draw) -> None:
        """Where the mask leaves nothing of an item's context, attention finds 0, not NaN, and the others are
        as always."""
        layout, sizes = self.layout, self.layout.plain_sizes
        self.looks_up(submission, draw)
        cases = []
        for state in (checks.plain(draw, sizes), checks.weights(draw, sizes, bias=True)):
            state["key.weight"].zero_()  # equal scores: the rest of the formula is judged elsewhere
            given = (*both(draw, sizes), NOTHING)
            got = layout.module(submission, state, sizes)(*given)
            cases.append((got, layout.right(*given[:2], state, sizes, NOTHING)))
        for got, expected in cases:
            shape(got, expected.shape)
            close(got[1], expected[1], "the output where nothing is left to attend to")
            close(got, expected)

    @check("gradients", points=0.5)
    def test_gradients(self, submission: Submission, draw: Draw) -> None:
        """The gradients of x, of the context and of the weights of all layers are right, so that each of them
        can learn."""
        self.right_gradients(submission, draw, None)

    @check("gradients", points=0.5)
    def test_gradients_with_a_mask(self, submission: Submission, draw: Draw) -> None:
        """With a mask all gradients are right as well, and finite where it leaves nothing; what is hidden gets none."""
        self.right_gradients(submission, draw, None)
        for mask in (BETWEEN, NOTHING):
            self.right_gradients(submission, draw, mask)

    def right_gradients(self, submission: Submission, draw: Draw, mask: torch.Tensor | None) -> None:
        """Raises CheckFailed unless the gradients of x, the context and all parameters are those of the reference."""
        layout, sizes = self.layout, self.layout.sizes
        state = checks.weights(draw, sizes, dtype=torch.float64)
        given = both(draw, sizes, dtype=torch.float64, grad=True)
        upstream = draw.normal(sizes.b, sizes.n, sizes.d_out, dtype=torch.float64)
        leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
        expected = qkv.gradients([layout.right(*given, leaves, sizes, mask)], [upstream], [*given, *leaves.values()])
        module = layout.module(submission, state, sizes, torch.float64, train=True)

        def call(*given: torch.Tensor) -> Any:
            return module.gradients(*given, upstream=upstream)

        got = with_masks_if_needed(call, given, (given[1],)) if mask is None else call(*given, mask)
        for what, one, right in zip(("x", "the context"), got.inputs, expected[:2], strict=True):
            gradient(one, right, what, torch.float64)
        for name, right in zip(leaves, expected[2:], strict=True):
            part, kind = name.split(".")
            own = layout.names[(*PARTS, "out").index(part)]
            gradient(layout.gather(got.parameters, name, sizes.heads), right, f"the {kind} of {own}", torch.float64)

    @check("numerics", points=0.5)
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Scores of ±10,000 give no NaN and no infinity: all rows extreme, one row among mild ones, all
        very negative."""
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        for how in ({}, {"one_row": True}, {"negative": True}):
            x, context, state = extreme(draw, sizes, **how)
            got = output_of(layout.module(submission, state, sizes), x, context)
            cases.append((got, layout.right(x, context, state, sizes)))
        for got, expected in cases:
            close(got, expected, tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_extreme_scores_with_a_mask(self, submission: Submission, draw: Draw) -> None:
        """What is hidden gets exactly nothing also where all scores are around -10,000 or some are 10,000."""
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        self.looks_up(submission, draw)
        for how in ({}, {"negative": True}):
            x, context, state = extreme(draw, sizes, **how)
            module = layout.module(submission, state, sizes)
            cases.append((output_of(module, x, context), layout.right(x, context, state, sizes)))
            for mask in (BETWEEN, NOTHING):
                got = output_of(module, x, context, mask)
                cases.append((got, layout.right(x, context, state, sizes, mask)))
        (x, context), state = both(draw, sizes), checks.plain(draw, sizes)
        query, key = state["query.weight"], state["key.weight"]
        made = hidden.high_where_hidden(BETWEEN, x, context, query, key, sizes.heads)
        x, context, state["query.weight"], state["key.weight"] = made
        got = output_of(layout.module(submission, state, sizes), x, context, BETWEEN)
        cases.append((got, layout.right(x, context, state, sizes, BETWEEN)))
        for got, expected in cases:
            close(got, expected, tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """Each float dtype in, the same out, as accurate as it allows, with a mask and without."""
        layout, sizes, cases = self.layout, self.layout.plain_sizes, []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, given = checks.plain(draw, sizes, dtype=dtype), both(draw, sizes, dtype=dtype)
            state["query.weight"] *= digits.CALM
            module = layout.module(submission, state, sizes, dtype)
            for mask in (None, NOTHING):
                cases.append((output_of(module, *given, mask), layout.right(*given, state, sizes, mask), dtype))
        for got, expected, dtype in cases:
            close(got, expected, dtype=dtype)

    @check("device", points=0.5)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The output lies on the device of the inputs, and nothing is made or left elsewhere (tried on `meta`,
        with a mask too)."""
        self.looks_up(submission, draw)
        layout, sizes = self.layout, self.layout.square
        given, mask = both(draw, sizes), draw.mask(sizes.b, sizes.s)
        module = later_calls.moved(layout.module(submission, checks.plain(draw, sizes), sizes), *given)
        for got in (output_of(module, *given, device="meta"), output_of(module, *given, mask, device="meta")):
            on_meta(got, (sizes.b, sizes.n, sizes.d_out))

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """An x or a context that is not three-dimensional, or a mask that is not (b, s), is refused by
        a `ValueError`."""
        module = self.lookup(submission, draw)
        sizes = self.layout.plain_sizes
        x, context = both(draw, sizes)
        wrong = {
            "an x of shape (t, d_query)": (x[0], context),
            "a context of shape (s, d_context)": (x, context[0]),
            "an x with four dimensions": (x[None], context),
            "a context with four dimensions": (x, context[None]),
            "a mask of shape (s,)": (x, context, AT_THE_END[0]),
            "a mask of shape (b, 1, s)": (x, context, AT_THE_END[:, None]),
        }
        for what, error in refusals(submission, module, wrong, right=(x, context, AT_THE_END)).items():
            refuses(error, what)

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """One query, a context of one token, a batch of one, and tensors that are not contiguous work like
        any others."""
        layout, sizes = self.layout, self.layout.plain_sizes
        self.looks_up(submission, draw)
        state = checks.plain(draw, sizes)
        state["key.weight"].zero_()  # equal scores: the rest of the formula is judged elsewhere
        x, context = both(draw, sizes)
        cases = {
            "one query": (x[:, :1], context),
            "a context of one token": (x, context[:, :1]),
            "a batch of one": (x[:1], context[:1]),
            "one query, one token of context and a batch of one": (x[:1, :1], context[:1, :1]),
            "transposed tensors": (x.mT.contiguous().mT, context.mT.contiguous().mT),
            "a context shorter than x": (x, context[:, :2]),
        }
        module = layout.module(submission, state, sizes)
        outputs = [output_of(module, *given) for given in cases.values()]
        for (name, given), got in zip(cases.items(), outputs, strict=True):
            close(got, layout.right(*given, state, sizes), f"the output for {name}")

    @check("mode", points=0.5, witnessed=True)
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """Inputs and mask stay as they were, and a call depends on nothing but its inputs and weights, in
        either mode."""
        self.looks_up(submission, draw)
        layout, sizes = self.layout, self.layout.square
        larger = replace(sizes, b=sizes.b + 1, n=sizes.n + 2, s=sizes.s + 2)
        usual, others = checks.plain(draw, sizes), checks.plain(draw, sizes)
        given, masks = both(draw, sizes), [draw.mask(sizes.b, sizes.s) for _ in range(2)]
        given_after, mask_after = both(draw, larger), draw.mask(larger.b, larger.s)
        masks[1][0] = False
        calls = {
            " with a mask": (usual, given, masks[0]),
            " with another mask, which leaves an item nothing": (usual, given, masks[1]),
            "": (usual, given, None),
            " for a larger batch of longer sequences, with a mask": (usual, given_after, mask_after),
            " for a larger batch of longer sequences": (usual, given_after, None),
            " with other weights": (others, given_after, None),
        }
        module, there = layout.module(submission, usual, sizes, train=True), {}
        for what, (state, inputs, mask) in calls.items():
            layout.load(module, state, sizes)
            there[what] = output_of(module, *inputs, mask=mask)
            unchanged(submission)
        other_way, back = layout.module(submission, usual, sizes), {}  # gets the calls from the last to the first
        for what, (state, inputs, mask) in reversed(calls.items()):
            layout.load(other_way, state, sizes)
            back[what] = output_of(other_way, *inputs, mask=mask)
        layout.load(module.eval(), usual, sizes)
        after_all = output_of(module, *given)
        for what, (_, inputs, _) in calls.items():
            shape(there[what], (*inputs[0].shape[:2], sizes.d_out))
        for what, got in back.items():
            close(got, there[what].double(), f"the output of a later call{what}, in eval mode,")
        close(after_all, there[""].double(), "the output of a later call in eval mode")
        (x, context), other = given, both(draw, sizes)
        later_calls.nothing_is_kept(
            lambda state: layout.module(submission, state, sizes),
            lambda module, state: layout.load(module, state, sizes),
            (usual, others),
            (given, other),
            (x[:, :1], context),
            lambda module, inputs: {"the output": output_of(module, inputs[0], inputs[1])},
        )

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the output has the same values, in float32 and in float16, with a mask and without."""
        layout, sizes = self.layout, self.layout.sizes
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, given = checks.weights(draw, sizes, dtype=dtype), both(draw, sizes, dtype=dtype)
            module = layout.module(submission, state, sizes, dtype).to(device="cuda")
            plain = module.on("cuda", *given)
            stayed_on_cuda(submission, where="where the inputs are")
            masked = module.on("cuda", *given, BETWEEN)
            close(plain, layout.right(*given, state, sizes), dtype=dtype)
            close(masked, layout.right(*given, state, sizes, BETWEEN), dtype=dtype)
