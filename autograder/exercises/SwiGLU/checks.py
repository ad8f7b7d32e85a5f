"""Checks of `SwiGLU(d, hidden)`: (…, d) -> (…, d).

Most checks that are not about the formula use an `opened` gate: what goes into the SiLU is so large that it comes out
as it went in, as it would of a GELU or a ReLU, and on either side. What else a single slip makes of it passes them as
well (`SLIPS`), so that a wrong gate does not cost the points for, say, the dtype.
"""

from typing import Any

import torch

from ...checks.api import (
    HUGE,
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    parameters,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ...checks.steps import Weights
from ..families import digits, later_calls
from ..reference import modern, qkv

B, T, D, HIDDEN = 2, 5, 4, 6


def shapes(d: int = D, hidden: int = HIDDEN) -> dict[str, tuple[int, int]]:
    return {"W_gate.weight": (hidden, d), "W_up.weight": (hidden, d), "W_down.weight": (d, hidden)}


def network(submission: Submission, state: Weights) -> Proxy:
    """A module in eval mode with these weights, in their dtype."""
    hidden, d = state["W_gate.weight"].shape
    module = submission.build("SwiGLU", d, hidden).to(dtype=state["W_gate.weight"].dtype).eval()
    module.load(state)
    return module


def opened(draw: Draw, dtype: torch.dtype = torch.float32) -> Weights:
    """Weights that take `tokens` to gates above 40."""
    state = draw.state(shapes(), torch.float64)
    for name in ("W_gate.weight", "W_up.weight"):
        state[name] = 12 + state[name].clamp(-1, 1)
    state["W_down.weight"] /= 100
    return {name: weight.to(dtype) for name, weight in state.items()}


def tokens(draw: Draw, *leading: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Tokens (…, d) of numbers from 1 to 2."""
    return (1 + torch.rand(*leading, D, generator=draw.generator, dtype=torch.float64)).to(dtype)


def alone(z: torch.Tensor) -> tuple[Weights, torch.Tensor]:
    """Weights of one hidden number, and tokens (n, 2), for which W_gate(x) is z, and W_up(x) and W_down are 1."""
    state = {
        "W_gate.weight": torch.tensor([[1.0, 0.0]]),
        "W_up.weight": torch.tensor([[0.0, 1.0]]),
        "W_down.weight": torch.tensor([[1.0], [0.0]]),
    }
    return state, torch.stack([z, torch.ones_like(z)], dim=-1)


# What goes into `W_down` where the gate is wide open: as it should, and by a single slip.
SLIPS = (
    lambda gate, up: gate * up,
    lambda gate, up: up,  # a sigmoid, or no gate
    lambda gate, up: gate + up,
    lambda gate, up: gate,
    lambda gate, up: gate * gate,
    lambda gate, up: up * up,
)


def passed_on(
    got: Any,
    x: torch.Tensor,
    state: Weights,
    what: str = "the output where the gate is wide open",
    **options: Any,
) -> None:
    """Raises CheckFailed unless the output for an open gate is right but for `SLIPS`, or an input added to it."""
    gate, up = (qkv.project(x, state[f"{name}.weight"]) for name in ("W_gate", "W_up"))
    failures = []
    for added in (0, x.double()):
        for slip in SLIPS:
            try:
                return close(got, qkv.project(slip(gate, up), state["W_down.weight"]) + added, what, **options)
            except CheckFailed as failure:
                failures.append(failure)
    raise failures[0]


@easy_case
def passes_on(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module passes on what it should where its gate is wide open, but for `SLIPS`."""
    state, x = opened(draw), tokens(draw, B, T)
    passed_on(network(submission, state)(x), x, state)


@check("shape", points=0.25)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """The parameters are the weights of `W_gate` and `W_up`, d → hidden, and of `W_down`, hidden → d, without bias."""
    passes_on(submission, draw)
    parameters(submission.build("SwiGLU", D, HIDDEN).parameters(), shapes())


@check("values", points=0.5)
def test_values(submission: Submission, draw: Draw) -> None:
    """The output is W_down(silu(W_gate(x)) · W_up(x)), for few and for many features, and where all sizes are equal."""
    cases = []
    for d, hidden, leading in ((D, HIDDEN, (B, T)), (4, 4, (4, 4)), (24, 70, (3, 9))):
        cases.append((draw.state(shapes(d, hidden)), draw.normal(*leading, d, scale=2)))
    got = [network(submission, state)(x) for state, x in cases]
    for output, (state, x) in zip(got, cases, strict=True):
        close(output, modern.swiglu(x, state))


@check("values", points=0.75)
def test_gate(submission: Submission, draw: Draw) -> None:
    """The gate is silu(z) = z · σ(z) of what `W_gate` gives, and what `W_up` gives passes through it unchanged."""
    state, x = alone(torch.linspace(-8, 8, 33))
    close(network(submission, state)(x), modern.swiglu(x, state), "the gate for numbers from -8 to 8")


@check("shape", points=0.25)
def test_any_shape(submission: Submission, draw: Draw) -> None:
    """Each token is computed for itself, whatever dimensions stand before the last one."""
    state = opened(draw)
    inputs = {
        "one token": tokens(draw),
        "a sequence": tokens(draw, T),
        "a batch of one token": tokens(draw, 1, 1),
        "a batch": tokens(draw, B, T),
        "four dimensions": tokens(draw, B, 3, T),
        "a transposed tensor": tokens(draw, T, B).transpose(0, 1),
    }
    module = network(submission, state)
    got = [module(x) for x in inputs.values()]
    for (what, x), output in zip(inputs.items(), got, strict=True):
        passed_on(output, x, state, f"the output for {what}")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of the input and of all three weights are right."""
    state, x = opened(draw, torch.float64), tokens(draw, B, T, dtype=torch.float64).requires_grad_()
    upstream = draw.normal(B, T, D, dtype=torch.float64)
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    expected = qkv.gradients([modern.swiglu(x, leaves)], [upstream], [x, *leaves.values()])
    got = network(submission, state).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", tolerance=1e-6)
    for name, right in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), right, f"`{name}`", tolerance=1e-6)


@check("numerics", points=0.25)
def test_extreme_gates(submission: Submission, draw: Draw) -> None:
    """Gates of ±10,000 give no NaN and no infinity, and neither do their gradients."""
    passes_on(submission, draw)
    z = torch.tensor([-HUGE, -200.0, -100.0, 100.0, HUGE])
    state, x = alone(z)
    x.requires_grad_()
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    right = modern.swiglu(x, leaves)
    upstream = torch.ones(5, 2)
    expected = qkv.gradients([right], [upstream.double()], [x, *leaves.values()])
    got = network(submission, state).gradients(x, upstream=upstream)
    close(got.value, right, "the output for extreme gates")
    gradient(got.inputs[0], expected[0], "the input, for extreme gates,")
    for name, one in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), one, f"`{name}`, for extreme gates,")


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    passes_on(submission, draw)
    state, x = opened(draw, torch.float64), tokens(draw, B, T, dtype=torch.float64)
    found = network(submission, state).sample(x)
    digits.of_float64(submission, found, lambda got, **how: passed_on(got, x, state, **how))
    cases = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        narrow, given = opened(draw, dtype), tokens(draw, B, T, dtype=dtype)
        cases.append((network(submission, narrow)(given), given, narrow))
    for got, given, narrow in cases:
        passed_on(got, given, narrow, dtype=given.dtype)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    passes_on(submission, draw)
    x = tokens(draw, B, T)
    on_meta(later_calls.moved(network(submission, opened(draw)), x).on("meta", x), (B, T, D))


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, and in either mode a call depends on nothing but its own input and the weights."""
    passes_on(submission, draw)
    module, x = network(submission, opened(draw)), tokens(draw, B, T)
    first = module(x)
    unchanged(submission)
    module(tokens(draw, B + 1, T + 2))
    again = module(x)
    trained = module.train().seeded(1, x)
    shape(first, (B, T, D))
    for got, when in ((again, "of the second call"), (trained, "in train mode")):
        close(got, first.double(), f"the output {when}")
    states, other = (opened(draw), opened(draw)), tokens(draw, B, T)
    later_calls.nothing_is_kept(
        lambda state: network(submission, state), Proxy.load, states, ([x], [other]), [x[:, :1]]
    )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = draw.state(shapes(), dtype), draw.normal(B, T, D, dtype=dtype)
        got = network(submission, state).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, modern.swiglu(x, state), dtype=dtype)
