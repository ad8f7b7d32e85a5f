"""Stands in for a candidate that a student's test judges: its code runs on the trusted side, its results come here.

All candidates look the same here, whatever they are: only what they answer tells one from another.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch import nn

from . import wire

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[wire.Message, wire.Tensors], tuple[wire.Message, wire.Tensors]]

PLAIN = (torch.Tensor, bool, int, float, type(None))  # what a candidate takes
ERRORS = {  # what it may raise; anything else is a RuntimeError
    error.__name__: error
    for error in (
        *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, NameError, NotImplementedError),
        *(RuntimeError, TypeError, UnboundLocalError, ValueError, ZeroDivisionError),
    )
}
RAISED = "the candidate raised it"  # all that is said of an error of its own


class LimitReached(Exception):
    """More was asked of a candidate than may be asked."""


class Interview:
    """The questions to one candidate. They are asked one after another, also by several threads, until it is closed."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.lock = threading.Lock()
        self.closed = False

    def question(
        self,
        message: wire.Message,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: dict[str, torch.Tensor] | None = None,
    ) -> Any:
        """What the candidate returns, where a module has these parameters.

        Raises an error of the type of its own, LimitReached, or TypeError.
        """
        args, kwargs = tuple(map(_plain, args)), {name: _plain(value) for name, value in kwargs.items()}
        for value in (*args, *kwargs.values()):
            if not isinstance(value, PLAIN):
                raise TypeError(
                    f"a candidate takes tensors, numbers, True, False and None, not a {type(value).__name__}"
                )
        sent: wire.Tensors = []
        packed = {**message, "args": wire.pack(args, sent), "kwargs": wire.pack(kwargs, sent)}
        packed["state"] = wire.pack({name: weights.detach() for name, weights in (state or {}).items()}, sent)
        if unsent := _unsent(packed):
            raise TypeError(f"a candidate can't be given {unsent}")
        with self.lock:
            if self.closed:
                raise LimitReached("the function that got this candidate has returned")
            answer, tensors = self.ask(packed, sent)
        if "limit" in answer:
            raise LimitReached(answer["limit"])
        if "error" in answer:
            raise ERRORS.get(answer["error"], RuntimeError)(RAISED)
        return wire.unpack(answer["value"], tensors)

    def close(self) -> None:
        """Answer no more questions."""
        with self.lock:
            self.closed = True

    def __deepcopy__(self, memo: dict[int, Any]) -> Interview:
        return self  # a copy of a module asks the same candidate


class Candidate:
    """A function or a class of modules: a right one or a wrong one."""

    __slots__ = ("_builds", "_interview")

    def __init__(self, interview: Interview, builds: bool) -> None:
        self._interview = interview
        self._builds = builds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._builds:
            return self._interview.question({"op": "call"}, args, kwargs)
        return Built(self._interview, *self._interview.question({"op": "build"}, args, kwargs))

    def __repr__(self) -> str:
        return "<a candidate>"


class Built(nn.Module):
    """A module that a candidate has built: its parameters are here, and what it computes with them comes from there."""

    def __init__(self, interview: Interview, handle: int, state: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self._interview, self._handle = interview, handle
        layers: dict[str, dict[str, torch.Tensor]] = {}
        for name, weights in state.items():
            layer, _, last = name.rpartition(".")
            layers.setdefault(layer, {})[last] = weights
        for name, parameters in layers.items():
            _put(self, name, parameters)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        message = {"op": "call", "handle": self._handle, "training": self.training}
        return self._interview.question(message, args, kwargs, dict(self.named_parameters()))


def _plain(value: Any) -> Any:
    """A number of NumPy's is sent as the plain one that it is."""
    return value.item() if isinstance(value, numpy.generic) else value


def _unsent(packed: wire.Message) -> str:
    """What of the arguments and parameters of a question is lost on the way; "" if nothing is."""
    nodes = list(packed["args"]["tuple"])
    for part in ("kwargs", "state"):
        if "dict" not in packed[part]:
            return "an argument with half characters in its name"
        nodes += [node for _, node in packed[part]["dict"]]
    lost = [node.get("opaque") or "a tensor on `meta`" for node in nodes if "opaque" in node or "meta" in node]
    return lost[0] if lost else ""


def _put(module: nn.Module, name: str, parameters: dict[str, torch.Tensor]) -> None:
    """Give a module a layer of that name, "" for itself: an `nn.Linear`, if its parameters are those of one."""
    *around, last = name.split(".")
    for part in around:
        if not hasattr(module, part):
            module.add_module(part, nn.Module())
        module = getattr(module, part)
    weight = parameters.get("weight")
    if last and weight is not None and weight.dim() == 2 and parameters.keys() <= {"weight", "bias"}:
        module.add_module(last, nn.Linear(weight.shape[1], weight.shape[0], "bias" in parameters, device="meta"))
    elif last and not hasattr(module, last):
        module.add_module(last, nn.Module())
    layer = getattr(module, last) if last else module
    for each, tensor in parameters.items():
        setattr(layer, each, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))
