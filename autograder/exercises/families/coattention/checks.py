"""Checks that the co-attention modules with two maps share.

An exercise subclasses `TwoMapChecks`; its `layout` names the module's layers and holds the reference.

Such a module is built with (d, k) and takes v (b, n, d) and q (b, t, d), and masks of both if there are any, to
`(v_hat, q_hat, a_v, a_q)`. Checks that are not about the values of the whole formula start with `pooling`, an easy
case. Code that does not attend gets no points there, while a missing tanh or a wrong summary does not cost the points
for, say, the device or masks: what masks hide is compared with what is cut off. Nor does another order of the outputs,
see `arranged`, or that a module stops without masks, see `called`: these have their price in the checks of the
summaries and of each side's weights, the order in that of equal sizes as well.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ....checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    kind_of,
    on_cuda,
    on_meta,
    parameters,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ....checks.gates import easy_case
from ....checks.proxies import Gradients, Proxy, StudentError, Submission
from ....checks.steps import Weights
from ...reference import qkv
from .. import easy_cases, later_calls
from ..in_parts import with_masks_if_needed
from ..refusals import refusals

OUTPUTS: tuple[str, ...] = ("v_hat", "q_hat", "a_v", "a_q")


@dataclass(frozen=True)
class Sizes:
    """b pairs of n image tokens and t question tokens, with d features each, and k hidden features."""

    b: int = 2
    n: int = 5
    t: int = 3
    d: int = 4
    k: int = 6


USUAL = Sizes()  # all different
AS_MANY = Sizes(b=9, n=4, t=4, d=3, k=5)  # as many tokens in the image as in the question, in many pairs
ALIKE = Sizes(n=4, t=4)
SQUARE = Sizes(b=4, n=4, t=4, d=4, k=4)
LARGE = Sizes(n=130, t=33, d=20, k=40)
# The pairs of which nothing is left on v's side, and on q's: none of both, one of each alone, one of both.
EMPTY = torch.tensor([False, True, False, True]), torch.tensor([False, False, True, True])


@dataclass(frozen=True)
class Layout:
    """A module with two maps.

    `first` are the layers that read tokens, `cross` those that bring in the other side, `last` those that make the
    logits. None has a bias. Weights have shape (k, d), except (d, d) for the layers in `square` and (1, k) for `last`.
    `optional` are parameters that the module may lack. `right(v, q, state, v_mask, q_mask)` is the reference.
    """

    exercise: str
    right: Callable[..., tuple[torch.Tensor, ...]]
    first: tuple[str, ...]
    cross: tuple[str, ...]
    last: tuple[str, ...]
    square: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def shapes(self, sizes: Sizes) -> dict[str, tuple[int, int]]:
        """The shapes of all parameters by name."""
        shapes = {name: (sizes.k, sizes.d) for name in dict.fromkeys(self.first + self.cross)}
        shapes.update({name: (sizes.d, sizes.d) for name in self.square})
        shapes.update({name: (1, sizes.k) for name in self.last})
        return {f"{name}.weight": size for name, size in shapes.items()}

    def weights(
        self, draw: Draw, sizes: Sizes = USUAL, dtype: torch.dtype = torch.float32, without: Sequence[str] = ()
    ) -> Weights:
        """Different random weights for all layers, 0 for those in `without`.

        Those of the logits are larger, so that the attention weights of tokens are far from equal.
        """
        state = draw.state(self.shapes(sizes), dtype)
        for name in self.last:
            state[f"{name}.weight"] *= 3
        for name in without:
            state[f"{name}.weight"] *= 0
        return state

    def module(
        self,
        submission: Submission,
        state: Weights,
        dtype: torch.dtype | None = None,
        train: bool = False,
    ) -> Proxy:
        """A module with these weights loaded, in eval mode unless `train`.

        Nothing is random here. Code that drops something in train mode all the same loses points where values,
        gradients and later calls are the point.
        """
        k, d = state[f"{self.first[0]}.weight"].shape
        module = submission.build(self.exercise, d, k)
        if dtype:
            module.to(dtype=dtype)
        module.load(state, self.optional)
        return module.train(train)


def pair_of_inputs(draw: Draw, sizes: Sizes = USUAL, **how: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """v (b, n, d) and q (b, t, d)."""
    return draw.normal(sizes.b, sizes.n, sizes.d, **how), draw.normal(sizes.b, sizes.t, sizes.d, **how)


def outputs(value: Any) -> dict[str, Any]:
    """The four outputs by name. Raises CheckFailed for anything else."""
    if not isinstance(value, (tuple, list)) or len(value) != len(OUTPUTS):
        raise CheckFailed(f"It should return `({', '.join(OUTPUTS)})`, but it returned {kind_of(value)}.")
    return dict(zip(OUTPUTS, value, strict=True))


def arranged(value: Any, v: torch.Tensor, q: torch.Tensor) -> dict[str, torch.Tensor]:
    """The four outputs by name, where neither their order nor a dimension of size 1 too many is the point."""
    return named(value, order_of(value, v, q))


def named(value: Any, order: Sequence[str]) -> dict[str, torch.Tensor]:
    """The outputs by name, as they come in this order; where a dimension of size 1 too many is not the point."""
    return {name: _flat(one) for name, one in zip(order, outputs(value).values(), strict=True)}


def order_of(value: Any, v: torch.Tensor, q: torch.Tensor) -> list[str]:
    """The names of the four outputs in the order in which they come, for v (b, n, d) and q (b, t, d).

    If n, t and d differ, shapes tell them apart, and the weights tell which summary is v's. Otherwise the order is
    taken to be right. Raises CheckFailed for anything but four outputs.
    """
    given = [_flat(one) for one in outputs(value).values()]
    (b, n, d), t = v.shape, q.shape[1]
    kinds: dict[tuple[int, ...], str] = {(b, n): "a_v", (b, t): "a_q", (b, d): "hat"}
    found = [kinds.get(tuple(one.shape), "") if isinstance(one, torch.Tensor) else "" for one in given]
    if len(kinds) < 3 or sorted(found) != ["a_q", "a_v", "hat", "hat"]:
        return list(OUTPUTS)
    names = ["v_hat", "q_hat"]
    if given[0].device.type != "meta":
        first, second = (one.double() for one, kind in zip(given, found, strict=True) if kind == "hat")
        by_v, by_q = (given[found.index(name)].double() for name in ("a_v", "a_q"))
        own_v, own_q = (by_v[:, :, None] * v.detach()).sum(1), (by_q[:, :, None] * q.detach()).sum(1)
        if (first - own_q).abs().sum() + (second - own_v).abs().sum() < (
            (first - own_v).abs().sum() + (second - own_q).abs().sum()
        ):
            names.reverse()
    hats = iter(names)
    return [next(hats) if kind == "hat" else kind for kind in found]


def _flat(one: Any) -> Any:
    """An output without a dimension of size 1 behind the batch: (b, n, 1) or (b, 1, d) becomes (b, n) or (b, d)."""
    if not isinstance(one, torch.Tensor) or one.dim() != 3 or 1 not in one.shape[1:]:
        return one
    return one.flatten(1)


def called(
    module: Any,
    v: torch.Tensor,
    q: torch.Tensor,
    *hidden: torch.Tensor,
    device: str | None = None,
    upstream: Sequence[Any] | None = None,
) -> Any:
    """What a call gives, where it is not the point how the module is called; with `upstream`, Gradients.

    A module that stops without masks is given masks that hide nothing.
    """

    def call(*given: torch.Tensor) -> Any:
        if upstream is not None:
            return module.gradients(*given, upstream=upstream)
        return module(*given) if device is None else module.on(device, *given)

    return call(v, q, *hidden) if hidden else with_masks_if_needed(call, (v, q), (v, q))


def unless_also_without(
    module: Any, v: torch.Tensor, q: torch.Tensor, *masks: torch.Tensor, device: str | None = None
) -> Any:
    """What a call with masks gives; None if it stops, and stops without them as well, which has its price elsewhere."""
    try:
        return called(module, v, q, *masks, device=device)
    except StudentError:
        try:
            called(module, v, q, device=device)
        except StudentError:
            return None
        raise


def masks_of(draw: Draw, sizes: Sizes) -> tuple[torch.Tensor, torch.Tensor]:
    """(b, n) and (b, t), for n = t: all rows are the same pattern, shifted, and hide as many tokens.

    A pair's two masks differ, and neither is the other's opposite; nor do two pairs have the same.
    """
    first = draw.integer(0, sizes.n - 1)

    def rows(*shifts: int) -> torch.Tensor:
        return torch.stack([(torch.arange(sizes.n) - first - shift) % sizes.n < sizes.n // 2 for shift in shifts])

    return rows(0, 3), rows(1, 2)


def far_from_what_is_seen(
    draw: Draw, layout: Layout, masks: Sequence[torch.Tensor]
) -> tuple[Weights, torch.Tensor, torch.Tensor]:
    """Weights, v and q, for which the logits of what masks hide are 10,000, and all others -10,000, or nearly so."""
    state, given = layout.weights(draw, without=layout.cross), pair_of_inputs(draw, ALIKE)
    for x, mask in zip(given, masks, strict=True):
        x[..., 0] = torch.where(mask, -10.0, 10.0)
    for name in layout.first:
        state[f"{name}.weight"][0] = torch.eye(ALIKE.d)[0]
    for name in layout.last:
        state[f"{name}.weight"][0, 0] = HUGE
    return state, *given


def weighs_what_is_seen(got: dict[str, Any], masks: Sequence[torch.Tensor], what: str) -> None:
    """Raises CheckFailed unless the weights of what masks hide are 0, and those of what is left of a pair sum to 1."""
    for name, mask in zip(OUTPUTS[2:], masks, strict=True):
        shape(got[name], mask.shape, f"`{name}`{what}")
        close(got[name].double().sum(1), torch.ones(len(mask)), f"the sum of `{name}`{what}", tolerance=HUGE_TOLERANCE)
        hidden_have_none(got[name], mask, f"`{name}`{what}")


def hidden_have_none(weights: torch.Tensor, mask: torch.Tensor, what: str) -> None:
    """Raises CheckFailed unless the weights of what a mask hides are 0."""
    if not weights[~mask].isfinite().all():
        raise CheckFailed(f"There is NaN or infinity in {what}, where a mask hides tokens: they should have weight 0.")
    if weights[~mask].count_nonzero():
        raise CheckFailed(f"Tokens that a mask hides have weight in {what}.")


def as_if_cut_off(got: dict[str, Any], cut: dict[str, Any], masks: Sequence[torch.Tensor], what: str) -> None:
    """Raises CheckFailed unless outputs with masks are those `cut` for what is left, whose weights may be fewer."""
    for name, mask in zip(OUTPUTS[2:], masks, strict=True):
        shape(got[name], mask.shape, f"`{name}`{what}")
        if tensor(cut[name], f"`{name}`").shape != got[name].shape:
            hidden_have_none(got[name], mask, f"`{name}`{what}")
            got = got | {name: left(got[name], mask)}
    right = [tensor(cut[name], f"`{name}`").double() for name in OUTPUTS]
    all_close(got, right, f"{what}, compared to what hidden tokens cut off give,")


def left(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The tokens that a mask (b, s) lets through, as many in each row: (b, s, d) or (b, s) -> (b, left, …)."""
    return x[mask].unflatten(0, (len(x), -1))


def shapes_of(sizes: Sizes) -> dict[str, tuple[int, int]]:
    """The shapes of the four outputs by name."""
    return dict(
        zip(OUTPUTS, [(sizes.b, sizes.d), (sizes.b, sizes.d), (sizes.b, sizes.n), (sizes.b, sizes.t)], strict=True)
    )


def all_close(
    got: Mapping[str, Any], right: Sequence[torch.Tensor], what: str = "", only: Sequence[str] = OUTPUTS, **how: Any
) -> None:
    """Raises CheckFailed unless the outputs by name, those in `only`, equal the reference's."""
    expected = dict(zip(OUTPUTS, right, strict=True))
    for name in sorted(only):  # the weights first: where they are wrong, so is the summary
        close(got[name], expected[name], f"`{name}`{what}", **how)


def differentiated(
    draw: Draw, layout: Layout
) -> tuple[
    Weights, tuple[torch.Tensor, torch.Tensor], dict[str, torch.Tensor], Sequence[torch.Tensor], dict[str, torch.Tensor]
]:
    """Weights, inputs, upstream gradients, and the gradients of inputs and of weights by name, in float64."""
    state, (v, q) = layout.weights(draw, dtype=torch.float64), pair_of_inputs(draw, dtype=torch.float64, grad=True)
    upstream = [draw.normal(*size, dtype=torch.float64) for size in shapes_of(USUAL).values()]
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    found = qkv.gradients(layout.right(v, q, leaves), upstream, [v, q, *leaves.values()])
    return (
        state,
        (v, q),
        dict(zip(OUTPUTS, upstream, strict=True)),
        found[:2],
        dict(zip(leaves, found[2:], strict=True)),
    )


def gradients_of(
    module: Proxy,
    v: torch.Tensor,
    q: torch.Tensor,
    upstream: dict[str, torch.Tensor],
    *hidden: torch.Tensor,
    order: Sequence[str] | None = None,
) -> Gradients:
    """The Gradients of a module's outputs for `upstream`, tensors by the outputs' names, which come in this `order`."""
    value = called(module, v.detach(), q.detach(), *hidden)
    order = order_of(value, v, q) if order is None else order
    fitting = [
        upstream[name].reshape(one.shape)
        if isinstance(one, torch.Tensor) and one.numel() == upstream[name].numel()
        else upstream[name]
        for name, one in zip(order, value, strict=True)
    ]
    return called(module, v, q, *hidden, upstream=fitting)


# --- the checks -----------------------------------------------------------------------------------


class TwoMapChecks:
    """The checks of a co-attention module with two maps."""

    layout: Layout

    def pooling(self, submission: Submission, draw: Draw) -> tuple[Proxy, Sizes]:
        """A module of the class that has passed an easy case, and the sizes at which it did."""
        sizes = self.sizes_that_pool(submission, draw)
        return self.layout.module(submission, self.layout.weights(draw)), sizes

    @easy_case
    def sizes_that_pool(self, submission: Submission, draw: Draw) -> Sizes:
        """The sizes at which the class passes an easy case.

        These are the usual ones, or, if it stops with an error there, those with n = t: a C in place of Cᵀ does not
        cost the points for, say, the device.
        """
        try:
            self.pools(submission, draw, USUAL)
            return USUAL
        except StudentError as error:
            try:
                self.pools(submission, draw, ALIKE)
                return ALIKE
            except StudentError:
                raise error from None

    def order(self, submission: Submission, draw: Draw) -> tuple[list[str], Sizes]:
        """The names of the outputs in the order in which they come, and the sizes at which `pooling` has passed."""
        module, sizes = self.pooling(submission, draw)
        v, q = pair_of_inputs(draw, sizes)
        return order_of(called(module, v, q), v, q), sizes

    def pools(self, submission: Submission, draw: Draw, sizes: Sizes) -> None:
        """Raises CheckFailed unless a module prefers tokens of a side by their content, and equal ones alike.

        The first feature decides which tokens are preferred. By how much is not checked, since that depends on every
        step of the formula; nor is what the weights sum to, and what is made of them. In the first pair of the batch
        this feature is nearly 0. The other features of v and q do not overlap.
        """
        layout = self.layout
        (v, q), state = pair_of_inputs(draw, sizes), {name: torch.zeros(z) for name, z in layout.shapes(sizes).items()}
        ends, preferred = torch.tensor([True]), []  # both ends are preferred, so position alone cannot tell
        for count in (sizes.n, sizes.t):
            preferred.append(torch.cat([ends, easy_cases.shuffled(draw, torch.arange(count - 2) % 2 == 1), ends]))
        for x, which in zip((v, q), preferred, strict=True):
            x[..., 0] = torch.stack([easy_cases.TIE * torch.arange(len(which)), which.float()])
        v[..., 2:], q[..., 1] = 0.0, 0.0
        for x, feature in ((v, 1), (q, 2)):  # of one sign, so that no mean is so near to 0 that rounding counts
            x[..., feature] = 1 + x[..., feature].abs()
        for name in layout.first + layout.cross:
            state[f"{name}.weight"][:, 0] = 0.5
        for name in layout.square:
            state[f"{name}.weight"] = 0.1 * torch.eye(sizes.d)
        for name in layout.last:
            state[f"{name}.weight"] += 3 / sizes.k
        module = layout.module(submission, state)
        got = arranged(called(module, v, q), v, q)
        wrong = []
        for weights, which in zip(OUTPUTS[2:], preferred, strict=True):
            try:
                shape(got[weights], shapes_of(sizes)[weights], f"`{weights}`")
                self.prefers(got[weights], which, weights)
            except CheckFailed as found:
                wrong.append(found)
        if len(wrong) == len(preferred):
            raise wrong[0]

    def prefers(self, weights: torch.Tensor, which: torch.Tensor, name: str) -> None:
        """Raises CheckFailed unless `weights` (2, s) are alike at first, then larger for the tokens in `which` (s,)."""
        shares = weights.detach().double() / weights.detach().double().sum(1, keepdim=True)
        close(shares[0], torch.full_like(which, 1 / len(which), dtype=torch.float64), f"`{name}` for logits of 0")
        if not shares[1, which].min() > 1.02 * shares[1, ~which].max():
            raise CheckFailed(f"`{name}` does not prefer the tokens whose logits are larger than those of others.")

    def judge(
        self,
        submission: Submission,
        draw: Draw,
        sizes: Sizes = USUAL,
        without: Sequence[str] = (),
        only: Sequence[str] = OUTPUTS,
        what: str = "",
        strictly: bool = True,
        scale: float = 1.0,
    ) -> None:
        """Raises CheckFailed unless the outputs in `only` are the reference's. Layers in `without` get weights of 0.

        Their order counts if `strictly`, and train mode is tried.
        """
        layout = self.layout
        state, (v, q) = layout.weights(draw, sizes, without=without), pair_of_inputs(draw, sizes, scale=scale)
        module = layout.module(submission, state, train=strictly)
        value = module(v, q) if strictly else called(module, v, q)
        all_close(outputs(value) if strictly else arranged(value, v, q), layout.right(v, q, state), what, only)

    @check("shape", points=0.5)
    def test_parameters(self, submission: Submission, draw: Draw) -> None:
        """The parameters are the weights of the layers that the exercise names, without biases, and no others."""
        layout = self.layout
        self.sizes_that_pool(submission, draw)
        got, expected = submission.build(layout.exercise, 7, 2).parameters(), layout.shapes(Sizes(d=7, k=2))
        for name in layout.optional:
            if name not in got:
                del expected[name]
        parameters(got, expected)

    @check("values", points=0.5)
    def test_summaries(self, submission: Submission, draw: Draw) -> None:
        """`v_hat` is the sum of v's tokens, each times its weight in `a_v`, and `q_hat` that of q's tokens by `a_q`."""
        self.sizes_that_pool(submission, draw)
        module, (v, q) = self.layout.module(submission, self.layout.weights(draw)), pair_of_inputs(draw)
        got = outputs(module(v, q))
        for name, size in shapes_of(USUAL).items():
            shape(got[name], size, f"`{name}`")
        for summary, weights, x in [("v_hat", "a_v", v), ("q_hat", "a_q", q)]:
            close(got[weights].sum(1), torch.ones(USUAL.b), f"the sum of `{weights}`")
            mixed = (got[weights].double().unsqueeze(-1) * x).sum(1)
            close(got[summary], mixed, f"`{summary}`, given your `{weights}`,")

    @check("values", points=0.5)
    def test_image_weights(self, submission: Submission, draw: Draw) -> None:
        """The weights of the image's tokens are right: `a_v` is what the formula gives."""
        self.judge(submission, draw, only=("a_v",))

    @check("values", points=0.5)
    def test_question_weights(self, submission: Submission, draw: Draw) -> None:
        """The weights of the question's tokens are right: `a_q` is what the formula gives."""
        self.judge(submission, draw, only=("a_q",))

    @check("values", points=0.5)
    def test_sizes_that_are_equal(self, submission: Submission, draw: Draw) -> None:
        """The values are right also for n = t, when all sizes are equal and a mix-up need not crash, and for many
        tokens."""
        self.judge(submission, draw, AS_MANY, what=" for as many tokens in the image as in the question")
        self.judge(submission, draw, SQUARE, what=" when all sizes are equal")
        self.judge(submission, draw, LARGE, what=" for many tokens", scale=0.3)

    @check("gradients", points=0.5)
    def test_gradients(self, submission: Submission, draw: Draw) -> None:
        """The gradients of v, of q and of all layers' weights are right, so that each of them can learn."""
        state, (v, q), upstream, of_inputs, of_weights = differentiated(draw, self.layout)
        got = gradients_of(self.layout.module(submission, state, torch.float64, train=True), v, q, upstream)
        for found, right, name in zip(got.inputs, of_inputs, "vq", strict=True):
            gradient(found, right, f"{name}", torch.float64)
        for name, right in of_weights.items():
            gradient(got.parameters.get(name), right, f"`{name}`", torch.float64)

    @check("numerics", points=0.5)
    def test_extreme_scores(self, submission: Submission, draw: Draw) -> None:
        """Inputs of ±1,000 and logits of ±10,000 give no NaN and no infinity: in all tokens, in one, or all alike."""
        layout = self.layout
        large, one_large = layout.weights(draw), layout.weights(draw)
        cases = [(large, *(1e3 * x for x in pair_of_inputs(draw))), (one_large, *pair_of_inputs(draw))]
        for x in cases[1][1:]:
            x[0, 1] *= 1e3
        far_apart, (v, q) = layout.weights(draw), pair_of_inputs(draw)
        for name in layout.last:
            far_apart[f"{name}.weight"] *= HUGE / far_apart[f"{name}.weight"].abs().sum()
        cases.append((far_apart, v, q))
        for sign in (1, -1):  # the first hidden feature is nearly 1 for all tokens and dominates the logits
            state, (v, q) = layout.weights(draw, without=layout.cross), pair_of_inputs(draw)
            v[..., 0] = q[..., 0] = 10.0
            for name in layout.first:
                state[f"{name}.weight"][0] = torch.eye(USUAL.d)[0]
            for name in layout.last:
                state[f"{name}.weight"][0, 0] = sign * HUGE
            cases.append((state, v, q))
        got = [called(layout.module(submission, state), v, q) for state, v, q in cases]
        for value, (state, v, q) in zip(got, cases, strict=True):
            all_close(arranged(value, v, q), layout.right(v, q, state), tolerance=HUGE_TOLERANCE)

    @check("numerics", points=0.5)
    def test_dtypes(self, submission: Submission, draw: Draw) -> None:
        """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
        layout, cases = self.layout, []
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            state, (v, q) = layout.weights(draw, dtype=dtype), pair_of_inputs(draw, dtype=dtype, scale=0.5)
            value = called(layout.module(submission, state, dtype), v, q)
            cases.append((arranged(value, v, q), layout.right(v, q, state), dtype))
        for got, expected, dtype in cases:
            all_close(got, expected, dtype=dtype)

    @check("device", points=0.5)
    def test_device(self, submission: Submission, draw: Draw) -> None:
        """The outputs lie on the device of the inputs, and nothing is made or left elsewhere (tried on `meta`)."""
        module, sizes = self.pooling(submission, draw)
        v, q = pair_of_inputs(draw, sizes)
        got = arranged(called(later_calls.moved(module, v, q), v, q, device="meta"), v, q)
        for name, size in shapes_of(sizes).items():
            on_meta(got[name], size, f"`{name}`")

    @check("arguments", points=0.5)
    def test_wrong_rank(self, submission: Submission, draw: Draw) -> None:
        """v and q have three dimensions each; if one of them has another number, that is a `ValueError`."""
        (module, _), (v, q) = self.pooling(submission, draw), pair_of_inputs(draw)
        wrong = {
            "a v without a batch": (v[0], q),
            "a q without a batch": (v, q[0]),
            "v and q without a batch": (v[0], q[0]),
            "v and q with four dimensions": (v[None], q[None]),
            "a v with four dimensions": (v[None], q),
            "a q with four dimensions": (v, q[None]),
        }
        for what, error in refusals(submission, module, wrong).items():
            refuses(error, what)

    @check("shape", points=0.5)
    def test_small_and_odd_inputs(self, submission: Submission, draw: Draw) -> None:
        """A batch of one, a single token on either side, and tensors that are not contiguous work like any other."""
        layout = self.layout
        self.sizes_that_pool(submission, draw)
        sizes = {
            "a batch of one": Sizes(b=1),
            "one token in the image": Sizes(n=1),
            "one token in the question": Sizes(t=1),
            "a batch of one with one token each": Sizes(b=1, n=1, t=1),
        }
        state = layout.weights(draw, without=layout.last)
        module, cases = layout.module(submission, state), {what: pair_of_inputs(draw, s) for what, s in sizes.items()}
        cases["transposed tensors"] = draw.normal(2, 4, 5).mT, draw.normal(2, 4, 3).mT
        got = [called(module, v, q) for v, q in cases.values()]
        for (what, (v, q)), value in zip(cases.items(), got, strict=True):
            all_close(arranged(value, v, q), layout.right(v, q, state), f" for {what}")

    @check("masking", points=0.5)
    def test_pairs_of_a_batch_are_apart(self, submission: Submission, draw: Draw) -> None:
        """A pair gets the same whatever else is in the batch; and v matters for `a_q`, as q does for `a_v`."""
        sizes = self.sizes_that_pool(submission, draw)
        state = self.layout.weights(draw)
        module = self.layout.module(submission, state)
        (v, q), (other_v, other_q) = pair_of_inputs(draw, sizes), pair_of_inputs(draw, sizes)
        both = torch.cat([v[:1], other_v[1:]]), torch.cat([q[:1], other_q[1:]])
        cases = ((v, q), both, (other_v, q), (v, other_q))
        before, beside_others, new_v, new_q = (arranged(called(module, *given), *given) for given in cases)
        for got in (before, beside_others, new_v, new_q):
            for name, size in shapes_of(sizes).items():
                shape(got[name], size, f"`{name}`")
        for name in OUTPUTS:
            close(beside_others[name][0], before[name][0].double(), f"the first pair's `{name}`, in another batch,")
        right, _, right_v, right_q = (self.layout.right(*given, state) for given in cases)
        for name, changed, expected, what in [("a_q", new_v, right_v, "v"), ("a_v", new_q, right_q, "q")]:
            one, other = (of[OUTPUTS.index(name)].flatten() for of in (right, expected))
            says = f"`{name}` stays the same when {what} changes."
            reacts(before[name].flatten(), changed[name].flatten(), one, other, says)

    @check("masking", points=0.5)
    def test_masks(self, submission: Submission, draw: Draw) -> None:
        """What `v_mask` and `q_mask` hide has weight 0 and no influence, as if it were cut off; each works
        alone."""
        layout, (order, _) = self.layout, self.order(submission, draw)
        state, (v, q), masks = layout.weights(draw), pair_of_inputs(draw, ALIKE), masks_of(draw, ALIKE)
        v_left, q_left = (left(x, mask) for x, mask in zip((v, q), masks, strict=True))
        module, other = layout.module(submission, state), layout.module(submission, state)
        cut = [called(other, *given) for given in ((v_left, q_left), (v_left, q), (v, q_left))]
        got = [module(v, q, *masks), module(v, q, v_mask=masks[0]), module(v, q, q_mask=masks[1])]
        far_apart, *loud = far_from_what_is_seen(draw, layout, masks)
        module.load(far_apart, layout.optional)
        apart = module(*loud, *masks)
        half = layout.module(submission, {name: w.half() for name, w in state.items()}, torch.float16)
        halved = unless_also_without(half, v.half(), q.half(), *masks)
        elsewhere = unless_also_without(module.to(device="meta"), v, q, *masks, device="meta")
        for value, wanted, given in zip(got, cut, ("both masks", "`v_mask` alone", "`q_mask` alone"), strict=True):
            as_if_cut_off(named(value, order), named(wanted, order), masks, f" with {given}")
        weighs_what_is_seen(named(apart, order), masks, " for logits of ±10,000 with masks")
        if halved is not None:
            weighs_what_is_seen(named(halved, order), masks, " in float16 with masks")
        if elsewhere is not None:
            for name, size in shapes_of(ALIKE).items():
                on_meta(named(elsewhere, order)[name], size, f"`{name}` with masks")

    @check("masking", points=0.5)
    def test_nothing_left(self, submission: Submission, draw: Draw) -> None:
        """Where a mask leaves nothing of a side, its weights and its summary are 0, and the other side hears nothing;
        gradients are finite."""
        layout, (order, sizes) = self.layout, self.order(submission, draw)
        sizes, double = replace(sizes, b=len(EMPTY[0])), torch.float64
        state, (v, q) = layout.weights(draw, dtype=double), pair_of_inputs(draw, sizes, dtype=double, grad=True)
        upstream = {name: draw.normal(*size, dtype=double) for name, size in shapes_of(sizes).items()}
        some = [draw.mask(*x.shape[:2]) for x in (v, q)]
        masks = [mask & ~rows[:, None] for mask, rows in zip(some, EMPTY, strict=True)]
        # Nobody hears tokens of 0, since no layer has a bias: to the other side they are as good as nothing.
        unheard = [x.detach() * ~rows[:, None, None] for x, rows in zip((v, q), EMPTY, strict=True)]
        module = layout.module(submission, state, double, train=True)
        expected = module(*unheard, *some)
        found = gradients_of(module, v, q, upstream, *masks, order=order)
        got, expected = named(found.value, order), named(expected, order)
        for name, rows in zip(OUTPUTS, EMPTY * 2, strict=True):
            shape(got[name], shapes_of(sizes)[name], f"`{name}`")
            close(got[name][rows], torch.zeros(got[name][rows].shape), f"`{name}`, where nothing is left,")
            shape(expected[name], shapes_of(sizes)[name], f"`{name}`")
            right = expected[name].double() * ~rows[:, None]
            close(got[name], right, f"`{name}`, where nothing is left of some pairs,")
        for name, gradients in {**dict(zip("vq", found.inputs, strict=True)), **found.parameters}.items():
            if gradients is not None and not gradients.isfinite().all():
                raise CheckFailed(f"There is NaN in the gradient of `{name}`, where nothing is left of some pairs.")
        for name, gradients, mask in zip("vq", found.inputs, masks, strict=True):
            if gradients is not None:
                of_hidden = gradients * ~mask[..., None]
                close(of_hidden, torch.zeros(of_hidden.shape), f"the gradient of {name}'s hidden tokens")

    @check("mode", points=0.5, witnessed=True)
    def test_again(self, submission: Submission, draw: Draw) -> None:
        """The inputs stay as they were, and a call depends on nothing but its inputs and weights, in either mode."""
        other_way, sizes = self.pooling(submission, draw)  # a module that gets the calls from the last to the first
        layout, larger = self.layout, replace(sizes, b=3, n=sizes.n + 4, t=sizes.t + 4)
        usual, others = layout.weights(draw), layout.weights(draw)
        given, many = pair_of_inputs(draw, sizes), pair_of_inputs(draw, larger)
        calls = {
            "": (usual, given, sizes),
            " with other inputs": (usual, pair_of_inputs(draw, sizes), sizes),
            " with other weights": (others, given, sizes),
            " for a larger batch of longer sequences": (usual, many, larger),
        }
        arranged(called(other_way, *given), *given)  # with weights of its own, which it must not keep
        module, there, back = layout.module(submission, usual, train=True), {}, {}
        for what, (state, inputs, _) in calls.items():
            module.load(state, layout.optional)
            there[what] = arranged(called(module, *inputs), *inputs)
            unchanged(submission)
        for what, (state, inputs, _) in reversed(calls.items()):
            other_way.load(state, layout.optional)
            back[what] = arranged(called(other_way, *inputs), *inputs)
        module.eval().load(usual, layout.optional)
        with contextlib.suppress(StudentError):  # that masks are not taken has its price elsewhere
            module(*given, *(draw.mask(*x.shape[:2]) for x in given))
            unchanged(submission)
        after_all = arranged(called(module, *given), *given)
        for what, (_, _, size) in calls.items():
            for name in OUTPUTS:
                shape(there[what][name], shapes_of(size)[name], f"`{name}`")
        for name in OUTPUTS:
            for what, got in back.items():
                close(got[name], there[what][name].double(), f"`{name}` of a later call{what}, in eval mode,")
            close(after_all[name], there[""][name].double(), f"`{name}` of a later call in eval mode")
        later_calls.nothing_is_kept(
            lambda state: layout.module(submission, state),
            lambda module, state: module.load(state, layout.optional),
            (usual, others),
            (given, calls[" with other inputs"][1]),
            call=lambda one, inputs: arranged(called(one, *inputs), *inputs),
        )

    @check("device", points=0)
    def test_cuda(self, submission: Submission, draw: Draw) -> None:
        """On a GPU the outputs have the same values, in float32 and in float16, with masks and without."""
        layout = self.layout
        on_cuda(submission)
        for dtype in (torch.float32, torch.float16):
            state, (v, q) = layout.weights(draw, dtype=dtype), pair_of_inputs(draw, dtype=dtype, scale=0.5)
            module = layout.module(submission, state, dtype).to(device="cuda")
            for hidden in ((), (draw.mask(USUAL.b, USUAL.n), draw.mask(USUAL.b, USUAL.t))):
                got = module.on("cuda", v, q, *hidden)
                stayed_on_cuda(submission)
                all_close(outputs(got), layout.right(v, q, state, *hidden), dtype=dtype)
