"""torch for modules that serve NumPy as well: it is imported when something of it is first used.

To ask whether a value is one of its types imports nothing: in a process without torch no value is. So no table that is
made at import may name one of these types.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any, TypeGuard

TYPES = frozenset(("Tensor", "Size", "Generator", "dtype", "device", "layout", "memory_format"))


class Absent:
    """Stands for a type of torch's where there is no torch: no value is one."""

    def __init__(self) -> None:
        raise TypeError("there is no torch in this process")


_loaded: list[types.ModuleType] = []  # torch itself, once it was seen: code may take it out of `sys.modules`


class _Later:
    """What stands for the module torch; all that it has is looked up in it."""

    def __getattr__(self, name: str) -> Any:
        if name in TYPES and not is_loaded():
            return Absent
        return getattr(_real(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_real(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_real(), name)


def _real() -> types.ModuleType:
    return _loaded[0] if is_loaded() and _loaded else importlib.import_module("torch")


def note(module: types.ModuleType) -> None:
    """Note that torch is there, though its import goes on: what comes with it is about to be installed."""
    _loaded[:] = [module]


def is_torch(module: types.ModuleType) -> bool:
    """Whether a module is torch itself, and not another one that code has given this name."""
    return isinstance(getattr(module, "Tensor", None), type)


def is_loaded() -> bool:
    """Whether this process has imported torch; while an import runs, in another thread say, it has not."""
    if not _loaded and (found := sys.modules.get("torch")) is not None:
        if is_torch(found) and not _is_being_imported(found):
            _loaded.append(found)
    return bool(_loaded)


def _is_being_imported(module: types.ModuleType) -> bool:
    """Whether an import of it runs, which may fail: then the next one makes another module."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))  # as importlib itself asks


def is_module(value: object) -> TypeGuard[torch.nn.Module]:
    """Whether a value is an `nn.Module`."""
    return is_loaded() and isinstance(value, torch.nn.Module)


if TYPE_CHECKING:
    import torch as torch
else:
    torch = _Later()
