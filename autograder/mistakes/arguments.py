"""The numbers that a check gives to what it calls or builds, by the names of the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..sandbox.inside import wire
from ..sandbox.inside.refusals import Unusable

if TYPE_CHECKING:
    from ..checks.proxies import Local

Given: TypeAlias = Mapping[str, float]  # the numbers that were given, by the names of arguments


def given_in(requests: Iterable[tuple[wire.Message, wire.Tensors]], right: Local) -> list[Given]:
    """The numbers that each request gives to the function that it calls, or gave to the class of its object, by name.

    `right` is a right answer, which says what its arguments are called.
    """
    found: list[Given] = []
    made: dict[int | str, Given] = {}
    for message, tensors in requests:
        for before in message.get("before", ()):
            if before["op"] == "build":
                made[before["handle"]] = _numbers(right, before["name"], before, tensors)
        target = message.get("target")
        if isinstance(target, str) and message["op"] == "call":
            found.append(_numbers(right, target, message, tensors))
        else:
            of = target[0] if isinstance(target, list) else target
            found.append(made.get(of, {}) if isinstance(of, (int, str)) else {})
    return found


def _numbers(right: Local, name: str, message: wire.Message, tensors: wire.Tensors) -> Given:
    """The numbers among the arguments of a call, by the names that these have in a right answer."""
    try:
        args, kwargs = (wire.unpack(message[key], tensors) for key in ("args", "kwargs"))
        bound = inspect.signature(right.bench.find(name)).bind(*args, **kwargs).arguments
    except (wire.WireError, KeyError, TypeError, ValueError, Unusable):
        return {}
    return {name: float(n) for name, n in bound.items() if isinstance(n, (int, float)) and not isinstance(n, bool)}
