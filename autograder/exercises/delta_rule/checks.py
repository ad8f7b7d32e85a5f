"""Checks of `delta_rule` and `delta_rule_at_once`: (b, h, t, d) twice, (b, h, t, dv), (b, h, t) -> output and state.

Both are compared with the definition, so neither costs what the other does wrong. All checks start with `writes`, an
easy case of the first, and those of the second with one of that as well.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    gradient,
    on_cuda,
    on_meta,
    pair,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..reference import linear, qkv

B, H, T, D, DV = 2, 3, 9, 5, 4  # all different
STEPS, AT_ONCE = "delta_rule", "delta_rule_at_once"
PARTS = ("query", "key", "value", "beta")


def inputs(
    draw: Draw,
    t: int = T,
    d: int = D,
    dv: int = DV,
    b: int = B,
    h: int = H,
    dtype: torch.dtype = torch.float32,
    grad: bool = False,
) -> list[torch.Tensor]:
    """Queries, keys that are at most 1 long, values, and betas between 0 and 1."""
    query, key, value = draw.normal(b, h, t, d), draw.normal(b, h, t, d), draw.normal(b, h, t, dv)
    key = key / key.norm(dim=-1, keepdim=True) * (1 - 0.3 * draw.normal(b, h, t, 1).sigmoid())
    beta = 0.05 + 0.9 * draw.normal(b, h, t).sigmoid()
    given = [x.to(dtype) for x in (query, key, value, beta)]
    return [x.requires_grad_() for x in given] if grad else given


def output_of(value: Any) -> Any:
    """The output; of a pair the first part, where the state is not the point."""
    return value[0] if isinstance(value, (tuple, list)) and value else value


def is_right(got: Any, given: Sequence[torch.Tensor], what: str = "", **how: Any) -> None:
    close(output_of(got), linear.delta_rule(*given)[0], f"the output{what}", **how)


@easy_case
def writes(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a note that is written twice is found by its own key, in `delta_rule`."""
    finds(submission.function(STEPS), draw)


@easy_case
def writes_at_once(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is found in `delta_rule_at_once`."""
    finds(submission.function(AT_ONCE), draw)


def finds(rule: Proxy, draw: Draw) -> None:
    """Raises CheckFailed unless each of two keys, which are at right angles, finds what was written under it twice.

    Up to a factor: nothing that the exercise asks for in particular changes that, neither beta nor what is taken off.
    """
    two, values = draw.integer(0, 2), draw.normal(2, 4)
    key, value = torch.eye(4)[[two, two, two + 1, two + 1]], values[[0, 0, 1, 1]]
    given = [x.expand(1, 1, 4, 4).clone() for x in (2 * key, key, value)]
    output = tensor(output_of(rule(*given, torch.full((1, 1, 4), 0.5))))
    shape(output, (1, 1, 4, 4))
    found = output[0, 0, [1, 3]].detach().double()
    alike = torch.cosine_similarity(found, values.double(), dim=-1)
    if not ((alike > 0.99) & (found.norm(dim=-1) > 0.05 * values.double().norm(dim=-1))).all():
        raise CheckFailed("A value that is written twice under the same key is not what that key finds.")


def stepping(submission: Submission, draw: Draw) -> Proxy:
    """The function `delta_rule`, after its easy case."""
    writes(submission, draw)
    return submission.function(STEPS)


def solving(submission: Submission, draw: Draw) -> Proxy:
    """The function `delta_rule_at_once`, after the easy cases of both."""
    writes(submission, draw)
    writes_at_once(submission, draw)
    return submission.function(AT_ONCE)


def some(draw: Draw) -> list[list[torch.Tensor]]:
    """Inputs of several sizes."""
    return [inputs(draw), inputs(draw, t=12, d=3, dv=7, b=1), inputs(draw, 4, 4, 4, 4, 4)]


@check("values", points=1)
def test_steps(submission: Submission, draw: Draw) -> None:
    """Token by token: what the state says of a key is taken off its value before it is written, by a share of beta."""
    rule, cases = stepping(submission, draw), some(draw)
    got = [rule(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        is_right(one, given)


@check("values", points=0.5)
def test_overwriting(submission: Submission, draw: Draw) -> None:
    """With a beta of 1 a second value under the same key replaces the first; with 0 nothing is written."""
    rule = stepping(submission, draw)
    key = torch.eye(D)[torch.tensor([0, 1, 0, 2, 0])].expand(B, H, 5, D).clone()
    value, beta = draw.normal(B, H, 5, DV), torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0]).expand(B, H, 5).clone()
    output, state = (tensor(x) for x in pair(rule(key, key, value, beta), "`(output, state)`"))
    close(output[:, :, :4], value[:, :, :4].double(), "the output for keys that were just written")
    close(output[:, :, 4], value[:, :, 2].double(), "the output for a key whose second value counts")
    shape(state, (B, H, D, DV), "the state")
    expected = torch.zeros(B, H, D, DV)
    expected[:, :, 0], expected[:, :, 1], expected[:, :, 2] = value[:, :, 2], value[:, :, 1], value[:, :, 3]
    close(state, expected.double(), "the state")


@check("values", points=0.5)
def test_state(submission: Submission, draw: Draw) -> None:
    """The state after the last token is returned as well, (b, h, d, dv), by both."""
    cases, got = some(draw)[:2], []
    for rule in (stepping(submission, draw), submission.function(AT_ONCE)):
        got += [(given, pair(rule(*given), "`(output, state)`")[1]) for given in cases]
    for given, state in got:
        close(state, linear.delta_rule(*given)[1], "the state")


@check("values", points=1.5)
def test_at_once(submission: Submission, draw: Draw) -> None:
    """Solved at once it gives the same output."""
    rule, cases = solving(submission, draw), some(draw)
    got = [rule(*given) for given in cases]
    for one, given in zip(got, cases, strict=True):
        is_right(one, given)


@check("masking", points=0.5)
def test_nothing_of_what_comes_later(submission: Submission, draw: Draw) -> None:
    """A later token changes nothing for an earlier one, in either form."""
    given, place = inputs(draw), draw.integer(3, 6)
    later = [x.clone() for x in given]
    for x in later:
        x[:, :, place:] = x[:, :, place:] / 2
    for rule in (stepping(submission, draw), solving(submission, draw)):
        before, after = (tensor(output_of(rule(*each))) for each in (given, later))
        for one in (before, after):
            shape(one, (B, H, T, DV))
        close(after[:, :, :place], before[:, :, :place].double(), "what tokens get after a change of later ones")


def right_gradients(rule: Proxy, draw: Draw) -> None:
    """Raises CheckFailed unless the gradients of all four, by output and state, are those of the definition."""
    given, upstream = inputs(draw, grad=True), (draw.normal(B, H, T, DV), draw.normal(B, H, D, DV))
    got = rule.gradients(*given, upstream=upstream)
    expected = qkv.gradients(linear.delta_rule(*given), [x.double() for x in upstream], given)
    for name, one, wanted in zip(PARTS, got.inputs, expected, strict=True):
        gradient(one, wanted, f"`{name}`", tolerance=1e-3)


@check("gradients", points=0.5)
def test_gradients_of_steps(submission: Submission, draw: Draw) -> None:
    """Query, key, value and beta get the right gradients through all steps."""
    right_gradients(stepping(submission, draw), draw)


@check("gradients", points=0.25)
def test_gradients_at_once(submission: Submission, draw: Draw) -> None:
    """They get the right gradients when it is solved at once, too."""
    right_gradients(solving(submission, draw), draw)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows; both forms."""
    cases = []
    for rule in (stepping(submission, draw), solving(submission, draw)):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            given = inputs(draw, dtype=dtype)
            cases.append((given, dtype, output_of(rule(*given))))
    for given, dtype, got in cases:
        is_right(got, given, dtype=dtype)


@check("numerics", points=0.125)
def test_long(submission: Submission, draw: Draw) -> None:
    """A text of 400 tokens is no less exact, in float64."""
    given = inputs(draw, t=400, b=1, h=1, dtype=torch.float64)
    got = [rule(*given) for rule in (stepping(submission, draw), solving(submission, draw))]
    for one in got:
        is_right(one, given, tolerance=1e-10, dtype=torch.float64)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """Output and state are on the device of the inputs, and nothing is made elsewhere (tried on `meta`)."""
    got = [rule.on("meta", *inputs(draw)) for rule in (stepping(submission, draw), solving(submission, draw))]
    for one in got:
        output, state = pair(one, "`(output, state)`")
        on_meta(output, (B, H, T, DV))
        on_meta(state, (B, H, D, DV), "the state")


@check("shape", points=0.25)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """One token, a batch of one, one feature, and tensors that are not contiguous work like any others; both forms."""
    query, key, value, beta = inputs(draw)
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key, value, beta)]
    cases = {
        "one token": inputs(draw, t=1),
        "one token, one head, one feature": inputs(draw, 1, 1, 1, 1, 1),
        "one feature": inputs(draw, d=1, dv=1),
        "transposed tensors": turned,
    }
    rules = stepping(submission, draw), solving(submission, draw)
    got = [(what, rule(*given)) for rule in rules for what, given in cases.items()]
    for what, one in got:
        is_right(one, cases[what], f" for {what}")


@check("mode", points=0.5, witnessed=True)
def test_no_loop(submission: Submission, draw: Draw) -> None:
    """At once is without a loop: as many operations for 64 tokens as for 8. Inputs stay as they were, in both forms."""
    solving(submission, draw)
    counts = []
    for function, t in ((STEPS, 8), (AT_ONCE, 8), (AT_ONCE, 64)):
        given = inputs(draw, t=t, b=1)
        submission.function(function).counted(*given)
        unchanged(submission)
        counts.append(submission.last.products)
    submission.note(counts[2] > counts[1])
    if counts[2] > counts[1]:
        raise CheckFailed(
            f"`{AT_ONCE}` makes {counts[1]} products for 8 tokens and {counts[2]} for 64: it goes through them one by"
            " one, or part by part."
        )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU both have the same values, in float32 and in float16."""
    on_cuda(submission)
    for name in (STEPS, AT_ONCE):
        for dtype in (torch.float32, torch.float16):
            given = inputs(draw, dtype=dtype)
            got = submission.function(name).on("cuda", *given)
            stayed_on_cuda(submission)
            is_right(got, given, dtype=dtype)
