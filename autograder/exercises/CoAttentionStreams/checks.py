"""Checks of `CoAttentionStreams(d, num_heads)`: (b, n, d), (b, t, d) and two masks -> the new v and the new q.

It uses the student's own `MultiHeadCrossAttention`. Checks that are not about the values of the whole formula start
with `finding`, an easy case. Code that does not attend gets no points there, while a missing scale does not cost the
points for, say, the device. Where biases are not the point, `out_proj` may lack its own; where it is not the point how
the module is called, masks that hide nothing may stand in for none, see `streams_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

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
    pair,
    parameters,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ..families import easy_cases, later_calls
from ..families.hidden import high_where_hidden
from ..families.in_parts import with_masks_if_needed
from ..families.refusals import refusals
from ..reference import co as reference
from ..reference import heads as multi_head
from ..reference import qkv

WAYS = ("v_to_q", "q_to_v")


@dataclass(frozen=True)
class Sizes:
    """b pairs of n and t tokens with d features each, and the number of heads."""

    b: int = 2
    n: int = 5
    t: int = 3
    d: int = 8
    heads: int = 4


USUAL = Sizes()  # all different
AS_MANY = Sizes(n=4, t=4, d=6, heads=2)  # as many tokens in the image as in the question
SQUARE = Sizes(b=4, n=4, t=4, d=4, heads=4)
# Beyond the sizes that students try by hand, each in one respect: all at once would cost as much as all other checks.
MANY_PAIRS = Sizes(b=9, n=4, t=4, d=32, heads=16)
MANY_TOKENS = Sizes(n=70, t=66, d=36, heads=9)
MORE_TOKENS = Sizes(n=33, t=130, d=20, heads=2)


def shapes(d: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters by name."""
    layers = {f"{way}.{name}": d for way in WAYS for name in reference.NAMES.values()}
    found = {f"{layer}.weight": (d, d) for layer in layers}
    return {**found, **{f"{way}.out_proj.bias": (d,) for way in WAYS}}


def weights(draw: Draw, sizes: Sizes = USUAL, dtype: torch.dtype = torch.float32) -> Weights:
    """Different random weights for all layers; queries are larger, so that attention weights are far from equal."""
    state = draw.state(shapes(sizes.d), dtype)
    for way in WAYS:
        state[f"{way}.W_query.weight"] *= 2
    return state


def plain(draw: Draw, sizes: Sizes = USUAL, dtype: torch.dtype = torch.float32) -> Weights:
    """The same with biases of 0, for checks of what is not about them."""
    return {name: w * (not name.endswith("bias")) for name, w in weights(draw, sizes, dtype).items()}


def alike(state: Weights) -> Weights:
    """The same weights, but with keys of 0, so that all tokens of the context count the same."""
    return {name: w * ("W_key" not in name) for name, w in state.items()}


def inputs(draw: Draw, sizes: Sizes = USUAL, **how: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """v (b, n, d) and q (b, t, d)."""
    return draw.normal(sizes.b, sizes.n, sizes.d, **how), draw.normal(sizes.b, sizes.t, sizes.d, **how)


def masks(draw: Draw, sizes: Sizes = USUAL, nothing: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """(b, n) and (b, t), each of which hides a token or more; if `nothing`, those of the last pair hide all."""
    both = draw.mask(sizes.b, sizes.n), draw.mask(sizes.b, sizes.t)
    if nothing:
        for mask in both:
            mask[-1] = False
    return both


def module(
    submission: Submission, state: Weights, sizes: Sizes = USUAL, dtype: torch.dtype | None = None, train: bool = False
) -> Proxy:
    """A module with these weights loaded, in eval mode unless `train`: nothing is random here."""
    built = submission.build("CoAttentionStreams", sizes.d, sizes.heads)
    if dtype:
        built.to(dtype=dtype)
    load(built, state)
    return built.train(train)


def load(built: Proxy, state: Weights) -> None:
    """Load these weights into a module, which may lack biases that are 0."""
    built.load(state, [name for name, w in state.items() if name.endswith("bias") and not w.any()])


def both(value: Any) -> Sequence[Any]:
    """The two streams. Raises CheckFailed for anything else."""
    return pair(value, "`(new v, new q)`")


def streams_of(
    built: Proxy,
    v: torch.Tensor,
    q: torch.Tensor,
    *hidden: torch.Tensor,
    device: str | None = None,
    upstream: Sequence[torch.Tensor] | None = None,
) -> Any:
    """The two streams, where it is not the point how the module is called; with `upstream`, Gradients.

    A module that stops without masks is given masks that hide nothing. That costs points in `test_new_image` and
    `test_new_question`.
    """

    def call(*given: torch.Tensor) -> Any:
        if upstream is not None:
            return built.gradients(*given, upstream=upstream)
        return both(built(*given) if device is None else built.on(device, *given))

    return call(v, q, *hidden) if hidden else with_masks_if_needed(call, (v, q), (v, q))


def both_close(value: Any, right: Sequence[torch.Tensor], what: str = "", **how: Any) -> None:
    """Raises CheckFailed unless both streams are the reference's."""
    for got, expected, name in zip(both(value), right, ("v", "q"), strict=True):
        close(got, expected, f"the new {name}{what}", **how)


def finding(submission: Submission, draw: Draw, sizes: Sizes = USUAL) -> Proxy:
    """A module with random weights, after at least one stream of its class has passed an easy case."""
    finds(submission, draw, sizes=sizes)
    return module(submission, plain(draw, sizes), sizes)


@easy_case
def finds(submission: Submission, draw: Draw, sizes: Sizes = USUAL) -> None:
    """Raises CheckFailed unless at least one stream passes an easy case.

    There a stream finds averages in the other, of all tokens or of one kind. Both streams hold the same tokens, so it
    does not matter which of them is read; but reading the other stream's result and not its input gives other values.
    """
    state = plain(draw, sizes)
    for way in WAYS:
        easy_cases.find_alike(state, sizes.d // sizes.heads, f"{way}.W_query.weight", f"{way}.W_key.weight")
    v = easy_cases.kinds(draw, sizes.n, sizes.d)
    q = v.clone()
    each = v[:3].reshape(-1, 1, sizes.d)
    alone = (z.reshape(3, sizes.n, -1) for z in reference.streams(each, each, state, sizes.heads))
    alone = dict(zip("vq", alone, strict=True))  # the output for each token alone
    built, wrong = module(submission, state, sizes), []
    for got, right, x, name in zip(
        streams_of(built, v, q), reference.streams(v, q, state, sizes.heads), (v, q), "vq", strict=True
    ):
        shape(got, x.shape, f"the new {name}")
        try:
            close(got[3], right[3], f"the new {name}, for queries that fit some keys alike,")
            easy_cases.mixes(got[:3], easy_cases.scores_of(v[:3]), alone[name], f"the new {name} of mild scores")
        except CheckFailed as found:
            wrong.append(found)
    if len(wrong) == len(WAYS):
        raise wrong[0]


@check("shape", points=0.5)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are those of two `MultiHeadCrossAttention`s, `v_to_q` and `q_to_v`, a bias in `out_proj` alone."""
    finds(submission, draw, sizes=USUAL)
    parameters(submission.build("CoAttentionStreams", d=6, num_heads=3).parameters(), shapes(6))


@check("values", points=0.5)
def test_new_image(submission: Submission, draw: Draw) -> None:
    """The new v is what `v_to_q` finds: queries from v, keys and values from q, and nothing added to it."""
    new_stream(submission, draw, 0, "the new v")


@check("values", points=0.5)
def test_new_question(submission: Submission, draw: Draw) -> None:
    """The new q is what `q_to_v` finds: queries from q, keys and values from v as it came in, and nothing added."""
    new_stream(submission, draw, 1, "the new q")


def new_stream(submission: Submission, draw: Draw, number: int, what: str) -> None:
    """Raises CheckFailed unless one of the streams is the reference's, for few tokens and for many."""
    cases = []
    for sizes in (USUAL, MANY_TOKENS):
        state, (v, q) = weights(draw, sizes), inputs(draw, sizes)
        got = both(module(submission, state, sizes, train=True)(v, q))[number]
        cases.append((got, reference.streams(v, q, state, sizes.heads)[number]))
    for (got, right), size in zip(cases, ("", " of many tokens"), strict=True):
        close(got, right, what + size)


@check("values", points=0.5)
def test_sizes_that_are_equal(submission: Submission, draw: Draw) -> None:
    """The values are right also for n = t, when sizes are equal and a mix-up need not crash, and for many tokens,
    masks included."""
    names = {MANY_PAIRS: " for n = t", SQUARE: " when all sizes are equal", MORE_TOKENS: " for many tokens"}
    for sizes, what in names.items():
        state, (v, q), hidden = plain(draw, sizes), inputs(draw, sizes), masks(draw, sizes)
        built = module(submission, state, sizes)
        unmasked, masked = streams_of(built, v, q), streams_of(built, v, q, *hidden)
        both_close(unmasked, reference.streams(v, q, state, sizes.heads), what)
        both_close(masked, reference.streams(v, q, state, sizes.heads, *hidden), f"{what}, with masks,")


@check("masking", points=0.5)
def test_masks(submission: Submission, draw: Draw) -> None:
    """`q_mask` hides words from the image, `v_mask` cells from the question; each works alone, and in its own call."""
    finds(submission, draw, sizes=AS_MANY)
    built = module(submission, plain(draw, AS_MANY), AS_MANY)
    (v, q), (v_mask, q_mask) = inputs(draw, AS_MANY), masks(draw, AS_MANY)
    v_mask, q_mask = v_mask.sort(1).values, q_mask.sort(1, descending=True).values  # not the same tokens
    new_v, new_q = inputs(draw, AS_MANY)
    hidden_q, hidden_v = torch.where(q_mask[..., None], q, new_q), torch.where(v_mask[..., None], v, new_v)
    seen_q, seen_v = torch.where(q_mask[..., None], new_q, q), torch.where(v_mask[..., None], new_v, v)
    unmasked = streams_of(built, v, q)
    by_q = [both(built(v, given, q_mask=q_mask))[0] for given in (q, hidden_q, seen_q)]
    by_v = [both(built(given, q, v_mask=v_mask))[1] for given in (v, hidden_v, seen_v)]
    again = streams_of(built, v, q)
    for (first, hidden, seen), x, name, mask in [(by_q, v, "v", "q_mask"), (by_v, q, "q", "v_mask")]:
        for got in (first, hidden, seen):
            shape(got, x.shape, f"the new {name}")
        close(hidden, first.double(), f"the new {name}, after a change of what `{mask}` hides,")
        if (seen - first).abs().max() < 1e-6:
            raise CheckFailed(f"The new {name} stays the same when something changes that `{mask}` lets through.")
    both_close(again, [x.double() for x in unmasked], " without masks, after calls with masks")


@check("masking", points=0.5)
def test_nothing_left(submission: Submission, draw: Draw) -> None:
    """Where a mask leaves a pair nothing to attend to, the heads find 0, never NaN, and `out_proj` adds its bias."""
    finds(submission, draw, sizes=USUAL)
    state, (v, q), hidden = weights(draw), inputs(draw), masks(draw, nothing=True)
    got = both(module(submission, state)(v, q, *hidden))
    for stream, x, way, name in zip(got, (v, q), WAYS, "vq", strict=True):
        shape(stream, x.shape, f"the new {name}")
        bias = state[f"{way}.out_proj.bias"].double().expand(x.shape[1:])
        close(stream[-1], bias, f"the new {name}, where nothing is left to attend to,")
        if not stream.isfinite().all():
            raise CheckFailed(f"There is NaN in the new {name} of other pairs.")


@check("gradients", points=0.5)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of v, q and all weights are right, without masks and with some that leave a pair nothing."""
    state, (v, q) = weights(draw, dtype=torch.float64), inputs(draw, dtype=torch.float64, grad=True)
    upstream = [draw.normal(*x.shape, dtype=torch.float64) for x in (v, q)]
    built = module(submission, state, dtype=torch.float64, train=True)
    for hidden in ((), masks(draw, nothing=True)):
        leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
        right = reference.streams(v, q, leaves, USUAL.heads, *hidden)
        expected = qkv.gradients(right, upstream, [v, q, *leaves.values()])
        got = streams_of(built, v, q, *hidden, upstream=upstream)
        what = " with masks" if hidden else ""
        for found, wanted, name in zip(got.inputs, expected[:2], "vq", strict=True):
            gradient(found, wanted, f"{name}{what}", torch.float64)
        for name, wanted in zip(leaves, expected[2:], strict=True):
            gradient(got.parameters.get(name), wanted, f"`{name}`{what}", torch.float64)


@check("numerics", points=0.5)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000, or all about -10,000, give no NaN and no infinity; what masks hide gets nothing."""
    cases, hidden = [], masks(draw, nothing=True)
    for negative in (False, True):
        state, (v, q) = plain(draw), inputs(draw)
        if negative:  # all scores of a head are the same
            v[..., 0] = q[..., 0] = 1.0
        for way, x, context in [("v_to_q", v, q), ("q_to_v", q, v)]:
            query, key = state[f"{way}.W_query.weight"], state[f"{way}.W_key.weight"]
            if negative:
                query[:, 1:], key[:, 1:] = 0, 0
                key[:, 0] = -query[:, 0]
            query *= HUGE / multi_head.largest_score(x, reference.of_way(state, way), USUAL.heads, context)
        built = module(submission, state)
        for given in ((), hidden):
            cases.append((streams_of(built, v, q, *given), reference.streams(v, q, state, USUAL.heads, *given)))
    state, (v, q), (v_mask, q_mask) = plain(draw), inputs(draw), masks(draw)
    for way, mask, x, context in (("v_to_q", q_mask, v, q), ("q_to_v", v_mask, q, v)):
        query, key = f"{way}.W_query.weight", f"{way}.W_key.weight"
        made = high_where_hidden(mask, x, context, state[query], state[key], USUAL.heads)
        state[query], state[key] = made[2:]
    v[..., 0] = q[..., 0] = 1.0
    v[..., 1], q[..., 1] = (torch.where(mask, -1.0, 1.0) for mask in (v_mask, q_mask))
    given = v_mask, q_mask
    right = reference.streams(v, q, state, USUAL.heads, *given)
    cases.append((streams_of(module(submission, state), v, q, *given), right))
    for got, expected in cases:
        both_close(got, expected, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """Each float dtype in, the same out, as accurate as it allows, with masks and without."""
    cases, hidden = [], masks(draw, nothing=True)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        state, (v, q) = plain(draw, dtype=dtype), inputs(draw, dtype=dtype, scale=0.5)
        built = module(submission, state, dtype=dtype)
        for given in ((), hidden):
            right = reference.streams(v, q, state, USUAL.heads, *given)
            cases.append((streams_of(built, v, q, *given), right, dtype))
    for got, expected, dtype in cases:
        both_close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission: Submission, draw: Draw) -> None:
    """Both streams lie on the device of the inputs, and nothing is made or left elsewhere (tried on `meta`)."""
    v, q = inputs(draw, AS_MANY)
    built = later_calls.moved(finding(submission, draw, AS_MANY), v, q)
    for hidden in ((), masks(draw, AS_MANY)):
        value = streams_of(built, v, q, *hidden, device="meta")
        for got, x, name in zip(value, (v, q), "vq", strict=True):
            on_meta(got, x.shape, f"the new {name}")


@check("arguments", points=0.5)
def test_arguments(submission: Submission, draw: Draw) -> None:
    """Heads that don't divide d, and a v or q that is not three-dimensional, are refused with a `ValueError`."""
    built, (v, q) = finding(submission, draw), inputs(draw)
    wrong = {"a v without a batch": (v[0], q), "a q without a batch": (v, q[0]), "four dimensions": (v[None], q[None])}
    wrong |= {"a v with four dimensions": (v[None], q), "a q with four dimensions": (v, q[None])}
    errors = refusals(submission, built, wrong)
    for width, heads in [(15, 4), (6, 8)]:
        error = None
        try:
            submission.build("CoAttentionStreams", width, heads)
            submission.settle()
        except StudentError as raised:
            error = raised
        refuses(error, f"a width of {width} with {heads} heads", width, heads)
    for what, error in errors.items():
        refuses(error, what)


@check("mode", points=0.5, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """Inputs of any size work and stay as they were; a call depends on nothing but its inputs and weights."""
    other_way = finding(submission, draw, AS_MANY)  # a module that gets the same calls from the last to the first
    usual, others = plain(draw, AS_MANY), plain(draw, AS_MANY)
    (v, q), larger = inputs(draw, AS_MANY), replace(AS_MANY, b=3, n=9, t=9)
    calls = {
        "": (usual, (v, q), ()),
        " with masks": (usual, (v, q), masks(draw, AS_MANY)),
        " with other masks": (usual, (v, q), masks(draw, AS_MANY, nothing=True)),
        " with other weights": (others, (v, q), ()),
        " for a larger batch of longer sequences": (usual, inputs(draw, larger), ()),
    }
    small = {
        "a batch of one": replace(AS_MANY, b=1),
        "one token on each side": replace(AS_MANY, n=1, t=1),
        "one token in the image": replace(AS_MANY, n=1),
        "one token in the question": replace(AS_MANY, t=1),
    }
    cases = {what: inputs(draw, sizes) for what, sizes in small.items()}
    cases["transposed tensors"] = draw.normal(2, AS_MANY.d, 5).mT, draw.normal(2, AS_MANY.d, 3).mT
    same = alike(usual)  # the rest of the formula is judged elsewhere
    built = module(submission, same, AS_MANY)
    for what, given in cases.items():
        both_close(streams_of(built, *given), reference.streams(*given, same, AS_MANY.heads), f" for {what}")
    streams_of(other_way, v, q)  # with weights of its own, which it must not keep
    built, there, back = module(submission, usual, AS_MANY, train=True), {}, {}
    for what, (state, given, hidden) in calls.items():
        load(built, state)
        there[what] = [tensor(x).double() for x in streams_of(built, *given, *hidden)]
        unchanged(submission)
    for what, (state, given, hidden) in reversed(calls.items()):
        load(other_way, state)
        back[what] = streams_of(other_way, *given, *hidden)
    load(built.eval(), usual)
    after_all = streams_of(built, v, q)
    for what, value in back.items():
        both_close(value, there[what], f" of a later call{what}, in eval mode,")
    both_close(after_all, there[""], " of a later call in eval mode")
    later_calls.nothing_is_kept(
        lambda state: module(submission, state, AS_MANY),
        load,
        (usual, others),
        ((v, q), inputs(draw, AS_MANY)),
        call=lambda one, given: dict(zip(("the new v", "the new q"), streams_of(one, *given), strict=True)),
    )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU both streams have the same values, in float32 and in float16, with masks and without."""
    on_cuda(submission)
    hidden = masks(draw)
    for dtype in (torch.float32, torch.float16):
        state, (v, q) = weights(draw, dtype=dtype), inputs(draw, dtype=dtype, scale=0.5)
        built = module(submission, state, dtype=dtype).to(device="cuda")
        for given in ((), hidden):
            got = built.on("cuda", v, q, *given)
            stayed_on_cuda(submission, where="where the inputs are")
            both_close(got, reference.streams(v, q, state, USUAL.heads, *given), dtype=dtype)
