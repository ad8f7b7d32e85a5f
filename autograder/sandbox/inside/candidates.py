"""Stands in for a candidate that a student's test judges: its code runs on the trusted side, its results come here.

All candidates look the same here, whatever they are: only what they answer tells one from another.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch

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

    def question(self, message: wire.Message, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the candidate returns. Raises an error of the type of its own, LimitReached, or TypeError."""
        for value in (*args, *kwargs.values()):
            if not isinstance(value, PLAIN):
                raise TypeError(
                    f"a candidate takes tensors, numbers, True, False and None, not a {type(value).__name__}"
                )
        sent: wire.Tensors = []
        packed = {**message, "args": wire.pack(args, sent), "kwargs": wire.pack(kwargs, sent)}
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


class Candidate:
    """A function: a right one or a wrong one."""

    __slots__ = ("_interview",)

    def __init__(self, interview: Interview) -> None:
        self._interview = interview

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._interview.question({"op": "call"}, args, kwargs)

    def __repr__(self) -> str:
        return "<a candidate>"
