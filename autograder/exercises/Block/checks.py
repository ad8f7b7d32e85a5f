"""Checks of `Block(d_model, num_heads, num_kv_heads, hidden, rope_base=10000.0)`: (b, t, d_model) -> (b, t, d_model).

It uses the student's own `RMSNorm`, `GroupedQueryAttention` and `SwiGLU`. Checks that are not about the values of the
whole formula start with `adding`, an easy case, and use sizes in which usual slips fit: as many key heads as query
heads and a hidden width of 4 · d_model. Where norms are not the point, they have weights of 1, and a block may lack
them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from ...checks import steps
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
    parameters,
    reacts,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, StudentError, Submission
from ...checks.steps import Weights
from ...sandbox.inside import wire
from ..families import later_calls
from ..families.many_heads.checks import first_of
from ..families.refusals import refusals
from ..reference import modern as reference
from ..reference import qkv

NORMS = ("attention_norm.weight", "mlp_norm.weight")
ATTENTION, MLP = "attention.out_proj.weight", "mlp.W_down.weight"  # with these at 0, a half of the block does nothing
IN_FLOAT32 = reference.IN_FLOAT32


@dataclass(frozen=True)
class Sizes:
    """The sizes of a block, and its usual input: b sequences of t tokens. `options` are those beyond the sizes."""

    d: int
    heads: int
    kv_heads: int
    hidden: int
    b: int = 2
    t: int = 5
    options: tuple[float | None, ...] = ()

    @property
    def rope_base(self) -> float | None:
        return self.options[0] if self.options else 10000.0


USUAL = Sizes(d=12, heads=6, kv_heads=3, hidden=10)
PLAIN = Sizes(d=8, heads=2, kv_heads=2, hidden=32)
SQUARE = Sizes(d=8, heads=4, kv_heads=2, hidden=8, b=8, t=8)
LARGE = Sizes(d=32, heads=8, kv_heads=2, hidden=48, b=3, t=40)


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters by name."""
    d, shared = sizes.d, sizes.d // sizes.heads * sizes.kv_heads
    found = {"attention_norm": (d,), "mlp_norm": (d,), "mlp.W_gate": (sizes.hidden, d), "mlp.W_up": (sizes.hidden, d)}
    found |= {"mlp.W_down": (d, sizes.hidden), "attention.W_query": (d, d), "attention.out_proj": (d, d)}
    found |= {"attention.W_key": (shared, d), "attention.W_value": (shared, d)}
    return {f"{name}.weight": shape for name, shape in found.items()}


def weights(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """Different random weights for all layers; queries are larger, so that attention weights are far from equal."""
    state = draw.state(shapes(sizes))
    state["attention.W_query.weight"] *= 3
    for norm in NORMS:
        state[norm] = 1 + draw.normal(sizes.d, scale=0.5)
    return {name: w.to(dtype) for name, w in state.items()}


def plain(draw: Draw, sizes: Sizes, dtype: torch.dtype = torch.float32) -> Weights:
    """The same with norms that bring tokens to their length and no more."""
    return {name: torch.ones_like(w) if name in NORMS else w for name, w in weights(draw, sizes, dtype).items()}


def without(state: Weights, name: str) -> Weights:
    """The same with a layer that gives 0."""
    return {**state, name: torch.zeros_like(state[name])}


def tokens(draw: Draw, sizes: Sizes, **how: Any) -> torch.Tensor:
    """An input (b, t, d) whose tokens are not of the length that a norm gives them."""
    return draw.normal(sizes.b, sizes.t, sizes.d, scale=2.0, **how)


def output(call: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    """What a call gives, or the first of several things, in the checks that are not about that."""
    return first_of(call(x))


def right(x: torch.Tensor, state: Weights, sizes: Sizes) -> torch.Tensor:
    return reference.block(x, state, sizes.heads, sizes.kv_heads, sizes.rope_base)


def block(
    submission: Submission, state: Weights, sizes: Sizes, dtype: torch.dtype | None = None, train: bool = False
) -> Proxy:
    """A block with these weights, in eval mode unless `train`: nothing is random here."""
    built = submission.build("Block", sizes.d, sizes.heads, sizes.kv_heads, sizes.hidden, *sizes.options)
    if dtype:
        built.to(dtype=dtype)
    load(built, state)
    return built.train(train)


def load(built: Proxy, state: Weights) -> None:
    """Load these weights into a block, which may lack norms that do no more than bring tokens to their length."""
    built.load(state, [norm for norm in NORMS if (state[norm] == 1).all()])


def of_length(x: torch.Tensor) -> torch.Tensor:
    """The tokens centred and brought to the length that a norm gives them: no norm of any kind changes them."""
    x = x - x.mean(-1, keepdim=True)
    return x / x.square().mean(-1, keepdim=True).sqrt()


def halves(submission: Submission, draw: Draw) -> tuple[torch.Tensor, dict[str, tuple[torch.Tensor, torch.Tensor]]]:
    """What comes out of equal tokens x, which no norm changes, and of what: `(x, {case: (output, found)})`.

    `found` is what the attention finds in x where the network gives 0, what the network makes of x where the attention
    gives 0, and what the network makes of the former in a block without sums.
    """
    state, x = plain(draw, PLAIN), of_length(draw.normal(3, 1, PLAIN.d)).repeat(1, 2, 1)
    no_mlp, no_attention = without(state, MLP), without(state, ATTENTION)

    def added(half: Weights, x: torch.Tensor) -> torch.Tensor:
        return right(x, half, PLAIN) - x

    found = added(no_mlp, x.double())
    cases = {"attention": (no_mlp, found), "mlp": (no_attention, added(no_attention, x.double()))}
    cases["both"] = (state, added(no_attention, found))
    return x, {name: (output(block(submission, held, PLAIN), x), found) for name, (held, found) in cases.items()}


@easy_case
def adds(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a block passes an easy case, with its attention, with its network, or with both.

    Equal tokens, which a norm does not change, have to come out as themselves and what the one half of the block makes
    of them, each times some number, while the other half gives 0. So it does not matter where the norm stands, of what
    kind it is, and what is added to what. A block without sums may show what both make of them, one after the other.
    """
    x, cases = halves(submission, draw)
    for got, _ in cases.values():
        shape(got, x.shape)
    numbers = [factors(got, found, x) for got, found in cases.values()]
    if not any(one is not None and (one[..., 0] > 0.01).all() for one in numbers):
        has_norms(submission, draw)
        raise CheckFailed("For equal tokens the output holds neither what attention finds nor what the network makes.")


def has_norms(submission: Submission, draw: Draw) -> None:
    """Raises StudentError if a block has no norms of the right names.

    Under other names their weights become 0 (`Proxy.load`), so that they hand on nothing.
    """
    built = submission.build("Block", PLAIN.d, PLAIN.heads, PLAIN.kv_heads, PLAIN.hidden)
    built.load(plain(draw, PLAIN))
    submission.settle()


def factors(got: torch.Tensor, found: torch.Tensor, x: torch.Tensor) -> torch.Tensor | None:
    """By what numbers (b, t, 2) `found` and x of each token have to be multiplied to add up to `got`; None if by none.

    All three are (b, t, d).
    """
    got, both = got.double().nan_to_num(), torch.stack([found, x.double()], dim=-1)  # (b, t, d, 2)
    numbers = torch.linalg.lstsq(both, got[..., None]).solution
    return numbers[..., 0] if torch.allclose((both @ numbers)[..., 0], got, atol=1e-3) else None


HALVES = {"attention": ("network", "what the attention finds"), "mlp": ("attention", "what the network makes of it")}


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first half that is wrong for equal tokens, which no norm changes, and the sum that comes out there.

    It is not known where a half gets nothing because its norm has another name.
    """
    try:
        x, cases = halves(submission, draw)
    except (StudentError, wire.WireError):
        return None
    for name, (other, what) in HALVES.items():
        got, found = cases[name]
        if not isinstance(got, torch.Tensor) or got.shape != x.shape:
            return None
        numbers = factors(got, found, x)
        if numbers is None or (numbers - numbers[0, 0]).abs().max() > 1e-2:  # another sum for each token
            says = f"Where the {other} gives 0, the output is no sum of x and {what}: look at that half."
            return steps.Step(name, says)
        if (numbers - 1).abs().max() > 1e-2:
            of_found, of_x = (round(number, 4) + 0.0 for number in numbers[0, 0].tolist())  # and no -0
            try:
                has_norms(submission, draw)
            except StudentError:
                if of_found == 0:
                    return None
            says = "Where the {} gives 0, the output is {:.2g} times x and {:.2g} times {}: it should be once each."
            return steps.Step(name, says.format(other, of_x, of_found, what))
    return None


def adding(submission: Submission, draw: Draw, sizes: Sizes = PLAIN) -> Proxy:
    """A block with random weights, after its class has passed the easy case."""
    adds(submission, draw)
    return block(submission, plain(draw, sizes), sizes)


def right_values(
    submission: Submission,
    draw: Draw,
    state_of: Callable[[Sizes], Weights],
    *many_sizes: Sizes,
    what: str = "the output",
) -> None:
    """Raises CheckFailed unless the values are right for these sizes, with weights from `state_of(sizes)`."""
    cases = []
    for sizes in many_sizes:
        state, x = state_of(sizes), tokens(draw, sizes)
        cases.append((block(submission, state, sizes, train=True)(x), right(x, state, sizes)))
    for got, expected in cases:
        close(got, expected, what)


# --- the checks -----------------------------------------------------------------------------------


@check("shape", points=0.25)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are those of `attention_norm`, `attention`, `mlp_norm` and `mlp`, each of its own size."""
    adds(submission, draw)
    built = submission.build("Block", d_model=12, num_heads=6, num_kv_heads=3, hidden=10, rope_base=100.0)
    parameters(built.parameters(), shapes(USUAL))


@check("values", points=0.75)
def test_attention_half(submission: Submission, draw: Draw) -> None:
    """Where the network gives 0, the output is x and what the attention finds in the normalised x."""
    right_values(submission, draw, lambda sizes: without(weights(draw, sizes), MLP), PLAIN)


@check("values", points=0.75)
def test_mlp_half(submission: Submission, draw: Draw) -> None:
    """Where the attention gives 0, the output is x and what the network makes of the normalised x."""
    right_values(submission, draw, lambda sizes: without(weights(draw, sizes), ATTENTION), PLAIN)


@check("values", points=0.75)
def test_output(submission: Submission, draw: Draw) -> None:
    """The values are right for both halves, one after the other, in blocks of any size."""
    right_values(submission, draw, partial(weights, draw), USUAL, SQUARE, LARGE)


@check("values", points=0.5)
def test_rope_base(submission: Submission, draw: Draw) -> None:
    """The attention gets `rope_base`: 10000 unless given, another one, or None, with which nothing is rotated."""
    cases = []
    for options, name in (((), "10000, unless another one is given"), ((100.0,), "100"), ((None,), "None")):
        sizes = replace(PLAIN, t=9, options=options)
        state, x = without(plain(draw, sizes), MLP), of_length(tokens(draw, sizes))
        cases.append((name, output(block(submission, state, sizes), x), right(x, state, sizes)))
    for name, got, expected in cases:
        close(got, expected, f"the output for a `rope_base` of {name},")


@check("masking", points=0.25)
def test_no_looking_ahead(submission: Submission, draw: Draw) -> None:
    """No token's output depends on a later token, and each depends on all tokens before it."""
    adds(submission, draw)
    state, x, new = plain(draw, PLAIN), tokens(draw, PLAIN), tokens(draw, PLAIN)
    built, others = block(submission, state, PLAIN), []
    for position in range(PLAIN.t):
        others.append(x.clone())
        others[-1][:, position] = new[:, position]
    changed = [output(built, other) for other in others]
    usual = tensor(output(built, x))
    expected = right(x, state, PLAIN)
    shape(usual, x.shape)
    for position, (got, other) in enumerate(zip(changed, others, strict=True)):
        shape(got, x.shape)
        close(got[:, :position], usual[:, :position].double(), "the output of tokens before the one that changed")
        says = "There is a token whose output stays the same when it or a token before it changes."
        since = slice(position, None)
        reacts(usual[:, since], got[:, since], expected[:, since], right(other, state, PLAIN)[:, since], says)


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of the input and of the weights of all layers are right, so that each of them can learn."""
    state = weights(draw, USUAL, torch.float64)
    x, upstream = (tokens(draw, USUAL, dtype=torch.float64, grad=grad) for grad in (True, False))
    leaves = {name: w.clone().requires_grad_() for name, w in state.items()}
    expected = qkv.gradients([right(x, leaves, USUAL)], [upstream], [x, *leaves.values()])
    got = block(submission, state, USUAL, torch.float64, train=True).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64, IN_FLOAT32)
    for name, grad in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), grad, f"`{name}`", torch.float64, IN_FLOAT32)


@check("numerics", points=0.25)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000, tokens of length 10,000 and tokens that are nearly 0 give no NaN and no infinity."""
    adds(submission, draw)
    cases = []
    for size, sharpness in ((1.0, HUGE / 10), (HUGE, 1.0), (1e-4, 1.0)):  # usual scores go up to about 10
        state, x = plain(draw, PLAIN), tokens(draw, PLAIN) * size
        state["attention.W_query.weight"] *= sharpness
        cases.append((output(block(submission, state, PLAIN), x), right(x, state, PLAIN)))
    for got, expected in cases:
        close(got, expected, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    adds(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        state, x = plain(draw, PLAIN, dtype), tokens(draw, PLAIN, dtype=dtype)
        cases.append((output(block(submission, state, PLAIN, dtype), x), right(x, state, PLAIN), dtype))
    for got, expected, dtype in cases:
        close(got, expected, dtype=dtype, tolerance=IN_FLOAT32 if dtype is torch.float64 else None)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    x = tokens(draw, PLAIN)
    built = later_calls.moved(adding(submission, draw), x)
    on_meta(output(partial(built.on, "meta"), x), (PLAIN.b, PLAIN.t, PLAIN.d))


@check("arguments", points=0.25)
def test_wrong_rank(submission: Submission, draw: Draw) -> None:
    """An input that is not three-dimensional is refused with a `ValueError`."""
    built, x = adding(submission, draw), tokens(draw, PLAIN)
    wrong = {"an input with two dimensions": (x[0],), "an input with four dimensions": (x[None],)}
    for what, error in refusals(submission, built, wrong, right=(x,)).items():
        refuses(error, what)


@check("shape", points=0.25)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """A batch of one, a sequence of one token, and a tensor that is not contiguous work like any other."""
    adds(submission, draw)
    state, x = without(plain(draw, PLAIN), MLP), of_length(tokens(draw, PLAIN))
    inputs = {
        "a batch of one": x[:1],
        "one token": x[:, :1],
        "a batch of one token": x[:1, :1],
        "a transposed tensor": x.mT.contiguous().mT,
    }
    built = block(submission, state, PLAIN)
    outputs = [output(built, x) for x in inputs.values()]
    for (name, x), got in zip(inputs.items(), outputs, strict=True):
        close(got, right(x, state, PLAIN), f"the output for {name}")


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, and a call depends on nothing but its own input and the weights of that moment."""
    other_way = adding(submission, draw)  # a block that gets the calls from the last to the first
    state, new = plain(draw, PLAIN), plain(draw, PLAIN)
    x, larger = tokens(draw, PLAIN), tokens(draw, replace(PLAIN, b=3, t=9))
    calls = {"the same input": (state, x), "new weights": (new, x), "a larger input": (state, larger)}
    output(other_way, x)  # with weights of its own, which it must not keep
    built, there, back = block(submission, state, PLAIN), {}, {}
    for what, (held, given) in calls.items():
        load(built, held)
        there[what] = output(built, given)
        unchanged(submission)
    for what, (held, given) in reversed(calls.items()):
        load(other_way, held)
        back[what] = output(other_way, given)
    for what, (_, given) in calls.items():
        shape(there[what], given.shape)
        close(back[what], there[what].double(), f"the output of a later call, for {what},")
    later_calls.nothing_is_kept(
        lambda weights: block(submission, weights, PLAIN),
        load,
        (state, new),
        ([x], [tokens(draw, PLAIN)]),
        [x[:, :1]],
        lambda one, inputs: {"the output": output(one, *inputs)},
    )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, USUAL, dtype), tokens(draw, USUAL, dtype=dtype)
        got = block(submission, state, USUAL, dtype).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, right(x, state, USUAL), dtype=dtype)
