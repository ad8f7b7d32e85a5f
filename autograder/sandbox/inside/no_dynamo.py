"""A stand-in for torch._dynamo, for processes that compile nothing: to import it takes more than half as long as torch.

torch asks for it in every optimiser, and in operations on `meta`, only to say that they are not to be compiled. Whoever
asks for more of it gets the real one.
"""

import importlib
import sys
import types
from typing import Any

import torch

NAME = "torch._dynamo"


class StandIn(types.ModuleType):
    """What torch itself calls of torch._dynamo where nothing is compiled."""

    @staticmethod
    def disable(fn: Any, *args: Any, **kwargs: Any) -> Any:
        return fn

    @staticmethod
    def graph_break(*args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # whoever looks through all modules wants nothing of this one
            raise AttributeError(name)
        return getattr(real(), name)


def real() -> types.ModuleType:
    """The real torch._dynamo, from now on in its place."""
    if isinstance(sys.modules.get(NAME), StandIn):
        del sys.modules[NAME], torch._dynamo
    return importlib.import_module(NAME)


def put() -> None:
    """Put a stand-in where torch._dynamo will be looked for, if it is not there yet."""
    if NAME not in sys.modules:
        torch._dynamo = sys.modules[NAME] = StandIn(NAME)
