"""Finds tensors: in a tree of plain containers, or whatever an object of any class can reach."""

from __future__ import annotations

import contextlib
from collections import deque
from types import CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from .later import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_OBJECTS = 10_000  # that are looked at
MOST_NUMBERS = 2**15  # that are sent: so few that they cannot be near whatever a check looks for
NOT_HELD = (type, ModuleType, str, bytes, int, float, complex, bool, type(None))


class TooManyObjects(ValueError):
    """An object reaches more others than are looked at."""


def leaves_in(value: Any, kinds: Any, built: frozenset[int] = frozenset()) -> list[Any]:
    """What is of these `kinds` in a tree of lists, tuples and dicts, in order, but nothing with an id in `built`."""
    if isinstance(value, kinds):
        return [value]
    if id(value) in built:
        return []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [leaf for part in parts for leaf in leaves_in(part, kinds, built)]


def tensors_of(owner: Any) -> list[torch.Tensor]:
    """The tensors that an object reaches through its attributes, containers and closures. Raises TooManyObjects."""
    found, waiting, known = [], [owner], {id(owner)}
    for number in range(MOST_OBJECTS + 1):
        if not waiting:
            return found
        one = waiting.pop()
        if isinstance(one, torch.Tensor):
            found.append(one)
            continue
        kinds = (*NOT_HELD, torch.device, torch.dtype)
        new = [part for part in _parts(one) if id(part) not in known and not isinstance(part, kinds)]
        if len(waiting) + len(new) + number > MOST_OBJECTS:
            break
        known.update(map(id, new))
        waiting += new
    raise TooManyObjects("it holds too many objects")


def _parts(one: Any) -> Iterable[Any]:
    """The objects that an object refers to directly: attributes, slots, entries, and a function's closure."""
    if isinstance(one, dict):
        yield from list(one.values())
    elif isinstance(one, (list, tuple, set, frozenset, deque)):
        yield from list(one)
    if isinstance(one, FunctionType):
        yield from one.__closure__ or ()
    elif isinstance(one, CellType):
        with contextlib.suppress(ValueError):  # it is empty
            yield one.cell_contents
    elif isinstance(one, MethodType):
        yield one.__self__
    yield getattr(one, "__dict__", None)
    for cls in type(one).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        yield from (getattr(one, name, None) for name in ([slots] if isinstance(slots, str) else slots))


def size_of(tensors: list[torch.Tensor]) -> int:
    """How many numbers the tensors hold. Views of one memory count once, and as no more than they show of it."""
    shown: dict[int, int] = {}
    room: dict[int, int] = {}
    for tensor in tensors:
        memory = tensor.untyped_storage()
        place = memory._cdata
        shown[place] = shown.get(place, 0) + tensor.numel()
        room[place] = memory.nbytes() // tensor.element_size()
    return sum(min(shown[place], room[place]) for place in shown)


def numbers_in(tensors: list[torch.Tensor]) -> torch.Tensor:
    """The different floating numbers in the tensors but 0, in order, MOST_NUMBERS at most: (n,) in float64."""
    real = [t.detach().double().flatten() for t in tensors if t.is_floating_point() and t.device.type != "meta"]
    different = torch.cat([torch.zeros(0, dtype=torch.float64), *real]).unique()
    return different[(different != 0) & different.isfinite()][:MOST_NUMBERS]
