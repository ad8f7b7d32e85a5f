"""Candidates for a student's test to judge: their code runs here, and answers the questions of the test in the sandbox.

A question is untrusted. It can call the candidate, with tensors and plain numbers, and get back tensors and plain
numbers: no text, no names, no errors but their types. Limits on counts and sizes bound what it costs here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..sandbox import replies
from ..sandbox.inside import wire
from ..sandbox.inside.candidates import ERRORS, PLAIN
from ..sandbox.inside.later import torch
from .proxies import Answer, Local

MOST_QUESTIONS = 200  # to one candidate, as the statements say: to build it is one
MOST_DIMS, LONGEST = 6, 1024  # of a tensor: how many dimensions, and how long each
MOST_WORK = 2**20  # of one question, see `work`
MOST_WORK_IN_ALL = 2**22  # of all questions to one candidate
LARGEST_NUMBER = 1024  # of a whole number, which might be a size
LARGEST_SIZE = 64  # of a whole number with which a module is built
MOST_NUMBERS = 2**18  # in an answer
TWICE = 2  # times MOST_QUESTIONS: who asks on gets no answer at all


class Refused(Exception):
    """A question is within the rules, but asks for too much; the message is for the student."""


@dataclass(frozen=True)
class Candidate:
    """A function or class called `name`, which is right or wrong. `make` gives the namespace in which it is defined.

    `builds`: whether it is a class of modules. `which` tells it from others, on this side.
    """

    name: str
    make: Callable[[], dict[str, Any]]
    builds: bool = False
    which: str = ""

    def interview(self) -> Interview:
        return Interview(self)


class Interview:
    """The questions to a candidate while one test judges it, and what was answered."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.local = Local(candidate.make(), name=f"{candidate.name}/candidate {candidate.which}")
        self.built: list[tuple[int, replies.Shapes]] = []  # the largest size and the parameters of each module
        self.questions = 0
        self.work = 0

    def answer(self, reply: wire.Message, tensors: wire.Tensors) -> Answer:
        """The answer to the question in a reply, as it is sent. Raises WireError if it is none that is answered."""
        self.questions += 1
        if self.questions > TWICE * MOST_QUESTIONS:
            raise wire.WireError("it goes on asking a candidate that answers no more")
        asked = replies.question(reply, tensors)
        if asked.builds != (self.candidate.builds and asked.handle is None):
            raise wire.WireError("this candidate does not answer such a question")
        try:
            if self.questions > MOST_QUESTIONS:
                raise Refused(f"a candidate may be built and called {MOST_QUESTIONS} times in all")
            return self._built(asked) if asked.builds else self._called(asked)
        except Refused as refusal:
            return {"op": "answer", "limit": str(refusal)}, []

    def _built(self, asked: replies.Question) -> Answer:
        """The number of a new module, and its parameters by name."""
        values = [*asked.args, *asked.kwargs.values()]
        if any(isinstance(value, torch.Tensor) for value in values):
            return _error(replies.Failure("TypeError", "", None, 0))
        sizes = [abs(value) for value in values if type(value) is int]
        if max(sizes, default=0) > LARGEST_SIZE:
            raise Refused(f"a candidate is built with whole numbers up to {LARGEST_SIZE}")
        handle = len(self.built)
        # Not the seed of the run: the first weights give away what they are drawn from.
        message = {"op": "build", "name": self.candidate.name, "handle": handle}
        made = self._asked({**message, **_packed(asked, []), "seed": self.questions}, [])
        if isinstance(made, replies.Failure):
            return _error(made)
        state = replies.parameters(*self.local.ask({"op": "state", "target": handle}, []), {})
        self.built.append((max([*sizes, 1]), {name: weights.shape for name, weights in state.items()}))
        answer: wire.Tensors = []
        return {"op": "answer", "value": wire.pack((handle, state), answer)}, answer

    def _called(self, asked: replies.Question) -> Answer:
        """What the candidate returns, or a module that it has built."""
        width, before = 1, []
        sent: wire.Tensors = []
        target: str | int = self.candidate.name
        if asked.handle is not None:
            width, before = self._prepared(asked, sent)
            target = asked.handle
        values = [*asked.args, *asked.kwargs.values()]
        self.work += work(values, width)
        if self.work > MOST_WORK_IN_ALL:
            raise Refused("all that this candidate was asked for is too much: call it less often, or with less")
        message = {"op": "call", "target": target, "seed": self.questions, "before": before}
        made = self._asked({**message, **_packed(asked, sent)}, sent)
        if isinstance(made, replies.Failure):
            return _error(made)
        given = [value for value in values if isinstance(value, torch.Tensor)]
        answer: wire.Tensors = []
        value = wire.pack(_bare(replies.call(*made, given).value), answer)
        if sum(tensor.numel() for tensor in answer) > MOST_NUMBERS:
            raise Refused(f"the answer has more than {MOST_NUMBERS} numbers: ask for less")
        return {"op": "answer", "value": value}, answer

    def _prepared(self, asked: replies.Question, sent: wire.Tensors) -> tuple[int, list[wire.Message]]:
        """The largest size of a module that is called, and the requests that give it its parameters and its mode."""
        handle = asked.handle
        if handle is None or not 0 <= handle < len(self.built):
            raise wire.WireError("a question is about a module that was not built")
        width, shapes = self.built[handle]
        if {name: weights.shape for name, weights in asked.state.items()} != shapes:
            raise Refused("the parameters of a candidate keep their names and shapes")
        kinds = {weights.dtype for weights in asked.state.values() if weights.is_floating_point()}
        before: list[wire.Message] = [{"op": "mode", "target": handle, "train": asked.training}]
        if len(kinds) == 1:
            before.append({"op": "move", "target": handle, "device": None, "dtype": wire.DTYPE_NAMES[kinds.pop()]})
        before.append({"op": "load", "target": handle, "state": wire.pack(asked.state, sent)})
        return width, before

    def _asked(self, message: wire.Message, sent: wire.Tensors) -> Answer | replies.Failure:
        reply, tensors = self.local.ask(message, sent)
        return (reply, tensors) if replies.succeeded(reply) else replies.failure(reply)


def _packed(asked: replies.Question, sent: wire.Tensors) -> wire.Message:
    """The arguments of a question, as they are handed on."""
    return {"args": wire.pack(asked.args, sent), "kwargs": wire.pack(asked.kwargs, sent)}


def work(values: Iterable[object], width: int = 1) -> int:
    """A bound on the numbers in any product of these arguments: their common shape, times its longest dimension.

    A module that is up to `width` wide may make that many times as many.

    Raises Refused if that, or a size among them, is more than a candidate may be asked for.
    """
    shape = [1] * MOST_DIMS
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.dim() > MOST_DIMS or any(n > LONGEST for n in value.shape):
                raise Refused(f"a candidate takes at most {MOST_DIMS} dimensions, and {LONGEST} along each")
            sizes = [1] * (MOST_DIMS - value.dim()) + list(value.shape)
            shape = [max(pair) for pair in zip(shape, sizes, strict=True)]
        elif type(value) is int and abs(value) > LARGEST_NUMBER:
            raise Refused(f"a candidate takes whole numbers from -{LARGEST_NUMBER} to {LARGEST_NUMBER}")
    needed = math.prod(shape) * max(*shape, width) * width
    if needed > MOST_WORK:
        raise Refused("these tensors are too large for a candidate: smaller ones show as much")
    return needed


def _error(failure: replies.Failure) -> Answer:
    """The answer where a candidate raises an error: its type alone, since a message may quote the candidate's code."""
    kind = "ValueError" if failure.value_error else failure.type
    return {"op": "answer", "error": kind if kind in ERRORS else "RuntimeError"}, []


def _bare(value: Any) -> Any:
    """A value without anything that is no tensor and no number; those become an object without a name."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_bare, value)) if isinstance(value, tuple) else list(map(_bare, value))
    return value if type(value) in PLAIN else wire.Opaque("object")
