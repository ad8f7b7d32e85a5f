"""Checks of `GatedAttention(d_model, num_heads)`: causal, (b, t, d_model) -> (b, t, d_model).

All but one start with `attends`, an easy case in which the gate is the same throughout: only the direction of what
comes out counts there. Where the gate is not the point its weights are 0, so that it is ½.
"""

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
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ...checks.steps import Weights
from ..families import digits, easy_cases, hidden, later_calls
from ..reference import qkv
from ..reference.gated import gated_attention as right

B, T, D, H = 2, 7, 12, 3  # batch, tokens, d_model, heads: all different, and heads that are 4 wide
NAME = "GatedAttention"
LAYERS = ("W_query", "W_key", "W_value", "W_gate", "out_proj")


def weights(draw: Draw, d: int = D, dtype: torch.dtype = torch.float32, gate: float = 3.0) -> Weights:
    """Random weights of all layers; those of the gate times `gate`, so that it is open here and closed there."""
    state = draw.state({f"{name}.weight": (d, d) for name in LAYERS}, dtype)
    state["W_query.weight"] *= 2
    state["W_gate.weight"] *= gate
    return state


def build(
    submission: Submission, state: Weights, d: int = D, heads: int = H, dtype: torch.dtype | None = None
) -> Proxy:
    """A module with these weights, in eval mode."""
    module = submission.build(NAME, d, heads)
    if dtype:
        module.to(dtype=dtype)
    module.load(state)
    return module.eval()


def attends(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a module attends, in easy cases."""
    finds_its_like(submission, draw)
    mixes_softly(submission, draw)


def same_gate(state: Weights) -> Weights:
    """These weights with a gate that is the same for all features, and made of the last feature alone."""
    d = len(state["W_query.weight"])
    state["W_gate.weight"] = torch.zeros(d, d)
    state["W_gate.weight"][:, -1] = 1.0
    return state


@easy_case
def mixes_softly(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the last token weighs all of mild scores by a softmax of these, with one head."""
    x = torch.stack([easy_cases.mild_tokens(draw, 5, 6) for _ in range(2)])
    x[:, :, -1] = 1.0
    state = same_gate({f"{name}.weight": torch.eye(6) for name in LAYERS})
    got = build(submission, state, 6, 1)(x)
    shape(got, x.shape)
    easy_cases.last_mixes_softly(got, x @ x.mT, x, "the weights of mild scores")


@easy_case
def finds_its_like(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless the last token finds its like, with one head and a gate that is the same throughout.

    Up to a factor: no scale changes that, nor whether a sigmoid or something else makes the gate.
    """
    x = 0.1 * draw.normal(2, 5, 6) + torch.eye(6)[torch.tensor([[0, 1, 2, 3, 1], [4, 0, 2, 4, 2]])]
    x[:, :, 5] = 1.0  # of which the gate is made
    state = same_gate({f"{name}.weight": torch.eye(6) for name in LAYERS})
    state |= {
        "W_query.weight": 60 * torch.eye(6),
        "W_key.weight": 60 * torch.eye(6),
        "W_value.weight": draw.normal(6, 6),
    }
    got = tensor(build(submission, state, 6, 1)(x))
    shape(got, x.shape)
    expected = right(x, state, 1)[:, -1]
    found = got[:, -1].detach().double()
    alike = torch.cosine_similarity(found, expected, dim=-1)
    if not ((alike > 0.98) & (found.norm(dim=-1) > 0.1 * expected.norm(dim=-1))).all():
        raise CheckFailed(
            "Even in an easy case, with the same gate for all features, the last token does not find its like."
        )


@check("values", points=1)
def test_gate(submission: Submission, draw: Draw) -> None:
    """What the heads find is multiplied, feature by feature, by a sigmoid of `W_gate(x)`, and then projected."""
    attends(submission, draw)
    cases = []
    for d, heads in ((D, H), (10, 2), (8, 8), (6, 1)):
        state, x = weights(draw, d), draw.normal(B, T, d)
        cases.append((build(submission, state, d, heads)(x), right(x, state, heads)))
    for got, expected in cases:
        close(got, expected)


@check("values", points=0.5)
def test_half(submission: Submission, draw: Draw) -> None:
    """A gate of ½ throughout gives half of what multi-head attention gives: heads, scale, softmax, average."""
    attends(submission, draw)
    cases = []
    for d, heads in ((D, H), (10, 5)):
        state, x = weights(draw, d, gate=0.0), draw.normal(B, T, d)
        cases.append((build(submission, state, d, heads)(x), right(x, state, heads)))
    for got, expected in cases:
        close(got, expected, "the output with a gate of ½")


@check("masking", points=0.25)
def test_causal(submission: Submission, draw: Draw) -> None:
    """A later token changes nothing for an earlier one, and each token sees itself and all before it."""
    attends(submission, draw)
    state, x, place = weights(draw, gate=0.0), draw.normal(B, T, D), draw.integer(2, T - 2)
    state["W_query.weight"] = torch.zeros(D, D)  # each finds all alike that it sees
    later = x.clone()
    later[:, place:] += 1
    module = build(submission, state)
    got = module(x), module(later)
    for one in got:
        shape(one, x.shape)
    close(got[1][:, :place], got[0][:, :place].double(), "what tokens get after a change of later ones")
    close(got[0], right(x, state, H), "the output where each token finds all alike")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of the input and of all five weights are right."""
    attends(submission, draw)
    state, x, upstream = weights(draw), draw.normal(B, T, D, grad=True), draw.normal(B, T, D)
    got = build(submission, state).train().gradients(x, upstream=upstream)
    leaves = {name: weight.clone().requires_grad_() for name, weight in state.items()}
    expected = qkv.gradients(right(x, leaves, H), upstream.double(), [x, *leaves.values()])
    gradient(got.inputs[0], expected[0], "the input")
    for name, one in zip(leaves, expected[1:], strict=True):
        gradient(got.parameters.get(name), one, f"`{name}`")


@check("shape", points=0.25)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """It has five layers, d_model to d_model, without biases, and nothing else that learns."""
    attends(submission, draw)
    parameters(submission.build(NAME, D, H).parameters(), {f"{name}.weight": (D, D) for name in LAYERS})


@check("shape", points=0.125)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, and tensors that are not contiguous in memory work like any others."""
    attends(submission, draw)
    state = weights(draw)
    module = build(submission, state)
    cases = {
        "one token": draw.normal(B, 1, D),
        "a batch of one": draw.normal(1, T, D),
        "a transposed tensor": draw.normal(B, D, T).mT,
    }
    got = [module(x) for x in cases.values()]
    for one, (what, x) in zip(got, cases.items(), strict=True):
        close(one, right(x, state, H), f"the output for {what}")


@check("numerics", points=0.125)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN, no infinity and no leak, and neither do such numbers in a gate."""
    attends(submission, draw)
    state, x = weights(draw), draw.normal(B, T, D)
    names = ("W_query", "W_key", "W_value")
    widest = max(
        qkv.largest_score(x, {f"{n}.weight": state[f"{n}.weight"][rows] for n in names}, names)
        for rows in torch.arange(D).chunk(H)
    )
    state["W_query.weight"] *= HUGE / widest
    state["W_gate.weight"] *= HUGE / qkv.project(x, state["W_gate.weight"]).abs().max().float()
    cases = [(x, state), hidden.low_then_high(x, weights(draw), D // H)]
    got = [build(submission, state)(x) for x, state in cases]
    for one, (x, state) in zip(got, cases, strict=True):
        close(one, right(x, state, H), tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.125)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    attends(submission, draw)
    cases = []
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        state, x = weights(draw, 10, dtype, 1.0), draw.normal(B, T, 10, dtype=dtype)  # heads whose root float32 has not
        state["W_query.weight"] *= digits.CALM
        cases.append((dtype, build(submission, state, 10, 2, dtype)(x), right(x, state, 2)))
    for dtype, got, expected in cases:
        close(got, expected, dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output is on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    attends(submission, draw)
    x = draw.normal(B, T, D)
    on_meta(later_calls.moved(build(submission, weights(draw)), x).on("meta", x), (B, T, D))


@check("arguments", points=0.125)
def test_arguments(submission: Submission, draw: Draw) -> None:
    """A width that the heads don't divide is refused with a `ValueError` that holds both numbers."""
    attends(submission, draw)
    refuses(submission.function(NAME).refused(10, 4), "4 heads for a width of 10", 10, 4)


@check("mode", points=0.125, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, and a call depends on nothing but its own input and the weights of that moment."""
    attends(submission, draw)
    states, x, other = (weights(draw), weights(draw)), draw.normal(B, T, D), draw.normal(B, T, D)
    build(submission, states[0])(x)
    unchanged(submission)
    later_calls.nothing_is_kept(lambda state: build(submission, state), Proxy.load, states, ([x], [other]), [x[:, :1]])


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        state, x = weights(draw, dtype=dtype, gate=1.0), draw.normal(B, T, D, dtype=dtype)
        state["W_query.weight"] *= digits.CALM
        got = build(submission, state, dtype=dtype).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, right(x, state, H), dtype=dtype)


def wrong_step(submission: Submission, draw: Draw) -> steps.Step | None:
    """The first step of plain attention that is wrong, with a gate of ½ and one head; then the causal mask."""

    def case(times: float) -> steps.Case:
        state, x = weights(draw, 4, gate=0.0), draw.normal(1, 3, 4)
        state["W_query.weight"] *= times
        state["out_proj.weight"] = 2 * torch.eye(4)
        got = build(submission, state, 4, 1)(x)
        return steps.Case(got, right(x, state, 1), qkv.project(x, state["W_value.weight"]))

    return steps.first_wrong(lambda: case(0), lambda: case(1))
