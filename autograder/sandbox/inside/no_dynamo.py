"""A stand-in for torch._dynamo in processes that compile nothing: importing it takes over half as long as torch itself.

torch imports it in every optimiser, and in operations on `meta`, only to mark code as not to be compiled. Any other use
gets the real module.
"""

import importlib
import sys
import types
from typing import Any

from .later import is_loaded, torch

NAME = "torch._dynamo"


class StandIn(types.ModuleType):
    """The parts of torch._dynamo that torch itself calls when nothing is compiled."""

    @staticmethod
    def disable(fn: Any, *args: Any, **kwargs: Any) -> Any:
        return fn

    @staticmethod
    def graph_break(*args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # code that looks through all modules must not load it
            raise AttributeError(name)
        return getattr(real(), name)


def real() -> types.ModuleType:
    """The real torch._dynamo, which from now on replaces the stand-in."""
    if isinstance(sys.modules.get(NAME), StandIn):
        del sys.modules[NAME], torch._dynamo
    return importlib.import_module(NAME)


def put() -> None:
    """Put a stand-in in place of torch._dynamo, unless something is there already, or there is no torch."""
    if is_loaded() and NAME not in sys.modules:
        torch._dynamo = sys.modules[NAME] = StandIn(NAME)
