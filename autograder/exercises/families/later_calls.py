"""Asks a module, after other calls, for what a new one gives: with other inputs, weights and modes, and quietly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from ...checks.api import CheckFailed, close, gradient, shape, tensor
from ...checks.proxies import Proxy, StudentError
from ...checks.steps import Weights

Inputs: TypeAlias = Sequence[torch.Tensor]
Call: TypeAlias = Callable[[Proxy, Inputs], Mapping[str, Any]]  # what a call gives, by what each output is called
QUIET = "a later call under `torch.no_grad()`"
RELOADED = f"{QUIET}, after one in float64 and with other weights,"
LOUD = "a later call with gradients, after others under `torch.no_grad()`,"
UPDATED = f"{QUIET}, after an update of the weights as in training,"


def outputs_of(module: Proxy, given: Inputs) -> Mapping[str, Any]:
    """The only output, by its name."""
    return {"the output": module(*given)}


def moved(module: Proxy, *given: torch.Tensor, form: str = "") -> Proxy:
    """The module, moved to `meta` after a call on the CPU: what that call keeps must not stay behind.

    `form` is the method that is called, if it is not the module itself.
    """
    with contextlib.suppress(StudentError):  # which another check reports
        _form(module, form).do(*given)
    return module.to(device="meta")


def nothing_is_kept(
    new: Callable[[Weights], Proxy],
    load: Callable[[Proxy, Weights], object],
    states: tuple[Weights, Weights],
    given: tuple[Inputs, Inputs],
    short: Inputs = (),
    call: Call = outputs_of,
    form: str = "",
) -> None:
    """Raises CheckFailed unless later calls give what a new module with the weights of that moment gives.

    `new` builds a module with one of the `states`, without dropout; `load` writes another into one. The inputs `given`
    should have the same shapes, so that what is kept from a call would fit the next; `short` ones have a single token.
    `form` is the method that is called, if it is not the module itself.
    The weights change as they do in use: another dtype and other weights come in eval mode, an update in place comes in
    train mode. So what an answer keeps, and drops at each of these, is right.
    What a call gives a new module with gradients, in train mode, is what is right here, whether it is right or not.
    What ends a new module is not asked for: that has its price elsewhere.
    """
    (first, second), (before, other) = states, given
    module = new(first).eval().to(dtype=torch.float64)  # a change back to float32 loses nothing of buffers
    asked = _form(module, form)
    _asked(_whole, asked.quiet(), _in_float64(before))
    module.to(dtype=torch.float32)
    if short:
        _asked(_whole, asked.quiet(), short)
    made = _asked(_whole, asked.quiet(), before)  # the latest call before the weights change
    load(module, second)
    fresh = new(second).train()
    learnt = _form(fresh, form)  # which is never called without gradients
    _alike(call, learnt, asked.quiet(), other, RELOADED)
    module.train()
    if made is not None:
        _alike_in_gradients(learnt, asked, before, made)
    for one in (fresh, module):
        one.update()
    module.eval()
    _alike(call, learnt, asked.quiet(), short or before, UPDATED)


def _in_float64(given: Inputs) -> Inputs:
    """The same inputs, in float64; indices as they are."""
    return [one.double() if one.is_floating_point() else one for one in given]


def _whole(module: Proxy, given: Inputs) -> Any:
    """All that a call gives."""
    return module(*given)


def _form(module: Proxy, form: str) -> Proxy:
    return module.method(form) if form else module


def _asked(call: Callable[[Proxy, Inputs], Any], module: Proxy, given: Inputs) -> Any:
    """What a call gives; None if it raises an error."""
    try:
        return call(module, given)
    except StudentError:
        return None


def _alike(call: Call, new: Proxy, module: Proxy, given: Inputs, when: str) -> None:
    """Raises CheckFailed unless a module gives what a new one gives."""
    expected = _asked(call, new, given)
    if expected is None:
        return
    with _without_errors(when):
        got = call(module, given)
    for what, value in expected.items():
        _close(got[what], value, f"{what} of {when}")


@contextlib.contextmanager
def _without_errors(when: str) -> Iterator[None]:
    """Raises CheckFailed if a call ends with an error where that of a new module does not."""
    try:
        yield
    except StudentError as error:
        what = f"{when.removesuffix(',')}, where that of a new module raises none"
        raise CheckFailed(f"There is an error in {what}. {error.sentence()}") from None


def _close(got: Any, expected: Any, what: str) -> None:
    """Raises CheckFailed unless two values are close; an expected one that is not finite is judged elsewhere."""
    expected = tensor(expected)
    shape(got, expected.shape, what)
    if expected.isfinite().all():
        close(got, expected, what)


def _alike_in_gradients(new: Proxy, module: Proxy, given: Inputs, made: Any) -> None:
    """Raises CheckFailed unless a module gives what a new one gives, both in train mode, and the same gradients.

    What it `made` before has the shapes of what it should give.
    """
    upstream = [torch.ones(one.shape) if _has_gradient(one) else None for one in _parts(made)]
    if not any(one is not None for one in upstream):
        return
    try:
        expected = new.gradients(*given, upstream=upstream)
    except StudentError:
        return
    with _without_errors(LOUD):
        got = module.gradients(*given, upstream=upstream)
    for one, right, counts in zip(_parts(got.value), _parts(expected.value), upstream, strict=False):
        if counts is not None:
            _close(one, right, f"what is returned in {LOUD}")
    for name, right in expected.parameters.items():
        if right is not None and right.isfinite().all():
            gradient(got.parameters.get(name), right, f"`{name}` in {LOUD}")


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else [value]


def _has_gradient(value: Any) -> bool:
    """Whether a value is a tensor for which there may be a gradient."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()
