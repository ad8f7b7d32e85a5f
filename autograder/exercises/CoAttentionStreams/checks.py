"""Checks of `CoAttentionStreams(d, num_heads)`: (b, n, d), (b, t, d) and two masks -> the new v and the new q.

It uses the student's own `MultiHeadCrossAttention`. Checks that are not about the values of the whole formula start
with `finding`, an easy case. Code that does not attend gets no points there, while a missing scale does not cost the
points for, say, the device.
"""

from dataclasses import dataclass, replace

import torch

from ...checks.api import (
    HUGE,
    HUGE_TOLERANCE,
    CheckFailed,
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
    unchanged,
)
from ...checks.proxies import StudentError
from ..families import easy_cases
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


def shapes(d):
    """The shapes of all parameters by name."""
    layers = {f"{way}.{name}": d for way in WAYS for name in reference.NAMES.values()}
    found = {f"{layer}.weight": (d, d) for layer in layers}
    return {**found, **{f"{way}.out_proj.bias": (d,) for way in WAYS}}


def weights(draw, sizes=USUAL, dtype=torch.float32):
    """Different random weights for all layers; queries are larger, so that attention weights are far from equal."""
    state = draw.state(shapes(sizes.d), dtype)
    for way in WAYS:
        state[f"{way}.W_query.weight"] *= 2
    return state


def without_values(state):
    """The same weights, but with values of 0, so that the output is the bias of `out_proj` alone."""
    return {name: w * ("W_value" not in name) for name, w in state.items()}


def inputs(draw, sizes=USUAL, **how):
    """v (b, n, d) and q (b, t, d)."""
    return draw.normal(sizes.b, sizes.n, sizes.d, **how), draw.normal(sizes.b, sizes.t, sizes.d, **how)


def masks(draw, sizes=USUAL, nothing=False):
    """(b, n) and (b, t), each of which hides a token or more; if `nothing`, those of the last pair hide all."""
    both = draw.mask(sizes.b, sizes.n), draw.mask(sizes.b, sizes.t)
    if nothing:
        for mask in both:
            mask[-1] = False
    return both


def module(submission, state, sizes=USUAL, dtype=None):
    """A module with these weights loaded."""
    built = submission.build("CoAttentionStreams", sizes.d, sizes.heads)
    if dtype:
        built.to(dtype=dtype)
    built.load(state)
    return built


def both(value):
    """The two streams. Raises CheckFailed for anything else."""
    return pair(value, "`(new v, new q)`")


def both_close(value, right, what="", **how):
    """Raises CheckFailed unless both streams are the reference's."""
    for got, expected, name in zip(both(value), right, ("v", "q"), strict=True):
        close(got, expected, f"the new {name}{what}", **how)


def are_biases(value, v, q, state, what):
    """Raises CheckFailed unless each new vector is the bias of its `out_proj`."""
    biases = (state[f"{way}.out_proj.bias"].double() for way in WAYS)
    both_close(value, [bias.expand(x.shape) for bias, x in zip(biases, (v, q), strict=True)], what)


def finding(submission, draw, sizes=USUAL):
    """A module with random weights, after at least one stream of its class has passed an easy case.

    There a stream finds averages in the other, of all tokens or of one kind. Both streams hold the same tokens, so it
    does not matter which of them is read; but reading the other stream's result and not its input gives other values.
    """
    state, usual = weights(draw, sizes), weights(draw, sizes)
    for way in WAYS:
        state[f"{way}.out_proj.bias"].zero_()
        easy_cases.find_alike(state, sizes.d // sizes.heads, f"{way}.W_query.weight", f"{way}.W_key.weight")
    v = easy_cases.kinds(draw, sizes.n, sizes.d)
    q = v.clone()
    each = v[:3].reshape(-1, 1, sizes.d)
    alone = (z.reshape(3, sizes.n, -1) for z in reference.streams(each, each, state, sizes.heads))
    alone = dict(zip("vq", alone, strict=True))  # the output for each token alone
    built, wrong = module(submission, state, sizes), []
    for got, right, x, name in zip(
        both(built(v, q)), reference.streams(v, q, state, sizes.heads), (v, q), "vq", strict=True
    ):
        shape(got, x.shape, f"the new {name}")
        try:
            close(got[3], right[3], f"the new {name}, for queries that fit some keys alike,")
            easy_cases.mixes(got[:3], easy_cases.scores_of(v[:3]), alone[name], f"the new {name} of mild scores")
        except CheckFailed as found:
            wrong.append(found)
    if len(wrong) == len(WAYS):
        raise wrong[0]
    built.load(usual)
    return built


@check("shape", points=0.5)
def test_parameters(submission, draw):
    """The parameters are those of two `MultiHeadCrossAttention`s, `v_to_q` and `q_to_v`, a bias in `out_proj` alone."""
    finding(submission, draw)
    parameters(submission.build("CoAttentionStreams", d=6, num_heads=3).parameters(), shapes(6))


@check("values", points=0.5)
def test_new_image(submission, draw):
    """The new v is what `v_to_q` finds: queries from v, keys and values from q, and nothing added to it."""
    state, (v, q) = weights(draw), inputs(draw)
    got, _ = both(module(submission, state)(v, q))
    close(got, reference.streams(v, q, state, USUAL.heads)[0], "the new v")


@check("values", points=0.5)
def test_new_question(submission, draw):
    """The new q is what `q_to_v` finds: queries from q, keys and values from v as it came in, and nothing added."""
    state, (v, q) = weights(draw), inputs(draw)
    _, got = both(module(submission, state)(v, q))
    close(got, reference.streams(v, q, state, USUAL.heads)[1], "the new q")


@check("values", points=0.5)
def test_sizes_that_are_equal(submission, draw):
    """The values are right also for n = t, and when sizes are equal, where a mix-up need not crash, masks included."""
    for sizes, what in [(AS_MANY, " for n = t"), (SQUARE, " when all sizes are equal")]:
        state, (v, q), hidden = weights(draw, sizes), inputs(draw, sizes), masks(draw, sizes)
        built = module(submission, state, sizes)
        plain, masked = built(v, q), built(v, q, *hidden)
        both_close(plain, reference.streams(v, q, state, sizes.heads), what)
        both_close(masked, reference.streams(v, q, state, sizes.heads, *hidden), f"{what}, with masks,")


@check("masking", points=0.5)
def test_masks(submission, draw):
    """`q_mask` hides words from the image, `v_mask` cells from the question; each works alone, and in its own call."""
    finding(submission, draw, AS_MANY)
    built = module(submission, weights(draw, AS_MANY), AS_MANY)
    (v, q), (v_mask, q_mask) = inputs(draw, AS_MANY), masks(draw, AS_MANY)
    v_mask, q_mask = v_mask.sort(1).values, q_mask.sort(1, descending=True).values  # not the same tokens
    new_v, new_q = inputs(draw, AS_MANY)
    hidden_q, hidden_v = torch.where(q_mask[..., None], q, new_q), torch.where(v_mask[..., None], v, new_v)
    seen_q, seen_v = torch.where(q_mask[..., None], new_q, q), torch.where(v_mask[..., None], new_v, v)
    plain = both(built(v, q))
    by_q = [both(built(v, given, q_mask=q_mask))[0] for given in (q, hidden_q, seen_q)]
    by_v = [both(built(given, q, v_mask=v_mask))[1] for given in (v, hidden_v, seen_v)]
    again = both(built(v, q))
    for (first, hidden, seen), x, name, mask in [(by_q, v, "v", "q_mask"), (by_v, q, "q", "v_mask")]:
        for got in (first, hidden, seen):
            shape(got, x.shape, f"the new {name}")
        close(hidden, first.double(), f"the new {name}, after a change of what `{mask}` hides,")
        if (seen - first).abs().max() < 1e-6:
            raise CheckFailed(f"The new {name} stays the same when something changes that `{mask}` lets through.")
    both_close(again, [x.double() for x in plain], " without masks, after calls with masks")


@check("masking", points=0.5)
def test_nothing_left(submission, draw):
    """Where a mask leaves a pair nothing to attend to, the heads find 0, never NaN, and `out_proj` adds its bias."""
    finding(submission, draw)
    state, (v, q), hidden = weights(draw), inputs(draw), masks(draw, nothing=True)
    got = both(module(submission, state)(v, q, *hidden))
    for stream, x, way, name in zip(got, (v, q), WAYS, "vq", strict=True):
        shape(stream, x.shape, f"the new {name}")
        bias = state[f"{way}.out_proj.bias"].double().expand(x.shape[1:])
        close(stream[-1], bias, f"the new {name}, where nothing is left to attend to,")
        if not stream.isfinite().all():
            raise CheckFailed(f"There is NaN in the new {name} of other pairs.")


@check("gradients", points=0.5)
def test_gradients(submission, draw):
    """The gradients of v, q and all weights are right, without masks and with some that leave a pair nothing."""
    state, (v, q) = weights(draw, dtype=torch.float64), inputs(draw, dtype=torch.float64, grad=True)
    upstream = [draw.normal(*x.shape, dtype=torch.float64) for x in (v, q)]
    built = module(submission, state, dtype=torch.float64)
    for hidden in ((), masks(draw, nothing=True)):
        leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
        right = reference.streams(v, q, leaves, USUAL.heads, *hidden)
        expected = qkv.gradients(right, upstream, [v, q, *leaves.values()])
        got = built.gradients(v, q, *hidden, upstream=upstream)
        what = " with masks" if hidden else ""
        for found, wanted, name in zip(got.inputs, expected[:2], "vq", strict=True):
            gradient(found, wanted, f"{name}{what}", torch.float64)
        for name, wanted in zip(leaves, expected[2:], strict=True):
            gradient(got.parameters.get(name), wanted, f"`{name}`{what}", torch.float64)


@check("numerics", points=0.5)
def test_extreme_scores(submission, draw):
    """Scores of ±10,000, or all about -10,000, give no NaN and no infinity; what masks hide gets nothing."""
    cases, hidden = [], masks(draw)
    for negative in (False, True):
        state, (v, q) = weights(draw), inputs(draw)
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
            cases.append((built(v, q, *given), reference.streams(v, q, state, USUAL.heads, *given)))
    for got, expected in cases:
        both_close(got, expected, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.5)
def test_dtypes(submission, draw):
    """float64, float16 and bfloat16 in, the same out, as accurate as each of them allows, with masks and without."""
    cases, hidden = [], masks(draw)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        state, (v, q) = weights(draw, dtype=dtype), inputs(draw, dtype=dtype, scale=0.5)
        built = module(submission, state, dtype=dtype)
        for given in ((), hidden):
            cases.append((built(v, q, *given), reference.streams(v, q, state, USUAL.heads, *given), dtype))
    for got, expected, dtype in cases:
        both_close(got, expected, dtype=dtype)


@check("device", points=0.5)
def test_device(submission, draw):
    """Both streams lie on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    built = finding(submission, draw)
    built.to(device="meta")
    v, q = inputs(draw)
    for value in (built.on("meta", v, q), built.on("meta", v, q, *masks(draw))):
        for got, x, name in zip(both(value), (v, q), "vq", strict=True):
            on_meta(got, x.shape, f"the new {name}")


@check("arguments", points=0.5)
def test_arguments(submission, draw):
    """Heads that don't divide d, and a v or q that is not three-dimensional, are refused with a `ValueError`."""
    built, (v, q) = finding(submission, draw), inputs(draw)
    wrong = {"a v without a batch": (v[0], q), "a q without a batch": (v, q[0]), "four dimensions": (v[None], q[None])}
    errors = [built.error(*given) for given in wrong.values()]
    for width, heads in [(15, 4), (6, 8)]:
        error = None
        try:
            submission.build("CoAttentionStreams", width, heads)
            submission.settle()
        except StudentError as raised:
            error = raised
        refuses(error, f"a width of {width} with {heads} heads", width, heads)
    for what, error in zip(wrong, errors, strict=True):
        refuses(error, what)


@check("mode", points=0.5, witnessed=True)
def test_again(submission, draw):
    """Inputs of any size work, they stay as they were, and a second call depends on nothing but its own inputs."""
    built, state = finding(submission, draw), without_values(weights(draw))
    built.load(state)
    sizes = {
        "a larger batch of longer sequences": replace(USUAL, b=3, n=7, t=9),
        "a batch of one": replace(USUAL, b=1),
        "one token on each side": replace(USUAL, n=1, t=1),
    }
    cases = {what: inputs(draw, s) for what, s in sizes.items()}
    cases["transposed tensors"] = draw.normal(2, 8, 5).mT, draw.normal(2, 8, 3).mT
    for (v, q), value, what in zip(cases.values(), [built(*given) for given in cases.values()], cases, strict=True):
        are_biases(value, v, q, state, f" for {what} and values that are 0")
    built, (v, q), hidden = module(submission, weights(draw)), inputs(draw), masks(draw)
    for given in ((), hidden):
        first = [x.double() for x in both(built(v, q, *given))]
        unchanged(submission)
        built(*inputs(draw, sizes["a larger batch of longer sequences"]))
        both_close(built(v, q, *given), first, " of the second call" + (" with masks" if given else ""))


@check("device", points=0)
def test_cuda(submission, draw):
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
