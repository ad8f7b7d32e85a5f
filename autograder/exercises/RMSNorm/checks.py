"""Checks of `RMSNorm(d, eps=1e-6)`: (…, d) -> (…, d).

Checks that are not about the formula give single tokens with a mean of 0 to a weight of 1, and leave a factor open.
There it makes no difference whether a mean is subtracted, which dimensions are averaged over, what becomes of the
weight, or whether a token is divided by its length, so that one of these does not cost the points for, say, the dtype.
"""

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
    parameters,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..families import digits, later_calls
from ..reference import modern, qkv

B, T, D = 2, 5, 6


def norm(submission: Submission, weight: torch.Tensor, *eps: float) -> Proxy:
    """A module with this weight, in its dtype."""
    module = submission.build("RMSNorm", len(weight), *eps).to(dtype=weight.dtype)
    module.load({"weight": weight})
    return module


def unweighted(submission: Submission, *eps: float, dtype: torch.dtype = torch.float32) -> Proxy:
    """A module with a weight of 1, if it has any."""
    module = submission.build("RMSNorm", D, *eps).to(dtype=dtype)
    module.load({"weight": torch.ones(D, dtype=dtype)}, optional=["weight"])
    return module


def balanced(draw: Draw, *leading: int) -> torch.Tensor:
    """Tokens (…, d), in float64: sizes from 1 to 4, each of them once with either sign, so that the mean is 0."""
    sizes = 1 + 3 * torch.rand(*leading, D // 2, generator=draw.generator, dtype=torch.float64)
    order = draw.normal(*leading, D).argsort(-1)
    return torch.cat([sizes, -sizes], dim=-1).gather(-1, order)


def token(draw: Draw, size: float = 1.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A token (1, 1, d) with a mean of 0, whose numbers are from 1 to 4 times `size`."""
    return (size * balanced(draw, 1, 1)).to(dtype)


def right(x: torch.Tensor, *eps: float) -> torch.Tensor:
    return modern.rms_norm(x, torch.ones(D), *eps)


def in_proportion(
    got: Any,
    expected: torch.Tensor,
    what: str = "the output",
    **options: Any,
) -> None:
    """Raises CheckFailed unless the values are right but for a factor that they have in common."""
    shape(got, expected.shape, what)
    factor = expected.norm().item() / max(got.double().norm().item(), 1e-9)
    close(got * factor if factor < 1e3 else got, expected, what, **options)


@easy_case
def brings_to_one_size(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a token keeps its direction, and does not grow when it is three times as long.

    Its numbers are of one size, so that it makes no difference if the mean is taken over a dimension of size 1.
    """
    x = token(draw).sign()
    small, large = (unweighted(submission)(times * x) for times in (1.0, 3.0))
    for got in (small, large):
        in_proportion(got, right(x), "the output, but for a factor,", tolerance=1e-2)
    if not 0.2 < (large.double().norm() / small.double().norm()).item() < 1.5:
        raise CheckFailed("A token that is three times as long should come out as long as before, and does not.")


@check("shape", points=0.25)
def test_parameters(submission: Submission, draw: Draw) -> None:
    """There is one parameter, `weight` of shape (d,), which is 1 everywhere at first; no bias."""
    brings_to_one_size(submission, draw)
    got = submission.build("RMSNorm", D, eps=1e-5).parameters(telling=True)
    parameters(got, {"weight": (D,)})
    close(got["weight"], torch.ones(D), "the weight of a new module")


@check("values", points=0.5)
def test_values(submission: Submission, draw: Draw) -> None:
    """Each token is divided by the root of the mean of its squares, then multiplied by the weight."""
    weight, x = draw.normal(D), draw.normal(B, T, D)
    wide, many = draw.normal(130), draw.normal(3, 130, scale=3) + 1
    got = norm(submission, weight)(x), norm(submission, wide)(many)
    for output, right in zip(got, (modern.rms_norm(x, weight), modern.rms_norm(many, wide)), strict=True):
        close(output, right)


@check("values", points=0.5)
def test_eps(submission: Submission, draw: Draw) -> None:
    """`eps`, 1e-6 unless given, is added to the mean under the root, so that a token of zeros stays 0."""
    brings_to_one_size(submission, draw)
    sizes = {(): (2e-4, 5e-4), (0.5,): (0.2, 0.5), (1e-8,): (1e-4,)}
    cases = [(eps, token(draw, size)) for eps, many in sizes.items() for size in many]
    cases.append(((), torch.zeros(1, 1, D)))
    got = [unweighted(submission, *eps)(x) for eps, x in cases]
    for output, (eps, x) in zip(got, cases, strict=True):
        what = f"numbers up to {x.abs().max():.1g}"
        close(output, right(x, *eps), f"the output for {what} with eps = {(*eps, 1e-6)[0]}")


@check("shape", points=0.25)
def test_any_shape(submission: Submission, draw: Draw) -> None:
    """Each token is normed for itself, over its last dimension, whatever dimensions stand before it."""
    brings_to_one_size(submission, draw)
    inputs = {
        "one token": balanced(draw),
        "a sequence": balanced(draw, T),
        "a batch": balanced(draw, B, T),
        "a batch of one token": balanced(draw, 1, 1),
        "heads": balanced(draw, B, 3, T),
        "as many tokens as features": balanced(draw, D, D),
        "a transposed tensor": balanced(draw, T, B).transpose(0, 1),
    }
    module = unweighted(submission)
    got = [module(x.float()) for x in inputs.values()]
    for (what, x), output in zip(inputs.items(), got, strict=True):
        in_proportion(output, right(x), f"the output for {what}")


@check("gradients", points=0.25)
def test_gradients(submission: Submission, draw: Draw) -> None:
    """The gradients of the input and of the weight are right: the root of the mean depends on the input, too."""
    # so large that eps makes no difference
    weight, x = draw.normal(D, dtype=torch.float64), draw.normal(B, T, D, dtype=torch.float64, scale=1e3, grad=True)
    upstream, leaf = draw.normal(B, T, D, dtype=torch.float64), weight.clone().requires_grad_()
    expected = qkv.gradients([modern.rms_norm(x, leaf)], [upstream], [x, leaf])
    got = norm(submission, weight).gradients(x, upstream=upstream)
    gradient(got.inputs[0], expected[0], "the input", torch.float64, 1e-5)
    gradient(got.parameters.get("weight"), expected[1], "the weight", torch.float64, 1e-5)


@check("numerics", points=0.5)
def test_half_precision(submission: Submission, draw: Draw) -> None:
    """The mean is taken in float32 or better: in float16, numbers such as 300 or 20,000 are no problem."""
    brings_to_one_size(submission, draw)
    module = unweighted(submission, dtype=torch.float16)
    given = [size * token(draw, dtype=torch.float16).sign() for size in (300, 20_000)]
    got = [module(x) for x in given]
    for output, x in zip(got, given, strict=True):
        what = f"the output for numbers of {x.abs().max():.0f} in float16"
        in_proportion(output, right(x), what, tolerance=1e-2)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 in, the same out, as accurate as each of them allows."""
    brings_to_one_size(submission, draw)
    x = token(draw, 1e3, torch.float64)
    found = unweighted(submission, dtype=torch.float64).sample(x)
    digits.of_float64(submission, found, lambda got, **how: in_proportion(got, right(x), **how))
    narrower = [token(draw, dtype=dtype) for dtype in (torch.float32, torch.float16, torch.bfloat16)]
    for got, x in [(unweighted(submission, dtype=x.dtype)(x), x) for x in narrower]:
        in_proportion(got, right(x), dtype=x.dtype)


@check("device", points=0.25)
def test_device(submission: Submission, draw: Draw) -> None:
    """The output lies on the device of the input, and nothing is made or left elsewhere (tried on `meta`)."""
    brings_to_one_size(submission, draw)
    x = token(draw)
    on_meta(later_calls.moved(unweighted(submission), x).on("meta", x), (1, 1, D))


@check("mode", points=0.25, witnessed=True)
def test_again(submission: Submission, draw: Draw) -> None:
    """The input stays as it was, and a call depends on nothing but its own input and the weight of that moment."""
    brings_to_one_size(submission, draw)
    module, x, other = unweighted(submission), token(draw), token(draw, 5.0)
    first = module(x)
    unchanged(submission)
    later, again, alone = module(other), module(x), unweighted(submission)(other)
    for got in (first, alone):
        shape(got, (1, 1, D))
    close(again, first.double(), "the output of the second call")
    close(later, alone.double(), "the output for another token")
    later_calls.nothing_is_kept(
        lambda state: norm(submission, state["weight"]),
        Proxy.load,
        ({"weight": draw.normal(D)}, {"weight": draw.normal(D)}),
        ([x], [other]),
    )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the output has the same values, in float32 and in float16."""
    on_cuda(submission)
    for dtype in (torch.float32, torch.float16):
        weight, x = draw.normal(D, dtype=dtype), draw.normal(B, T, D, dtype=dtype)
        got = norm(submission, weight).to(device="cuda").on("cuda", x)
        stayed_on_cuda(submission)
        close(got, modern.rms_norm(x, weight), dtype=dtype)
