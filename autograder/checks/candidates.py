"""Candidates for a student's test to judge: their code runs here, and answers the questions of the test in the sandbox.

A question is untrusted. It can call the candidate, with tensors and plain numbers, and get back tensors and plain
numbers: no text, no names, no errors but their types. Limits on counts and sizes bound what it costs here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ..sandbox import replies
from ..sandbox.inside import wire
from ..sandbox.inside.candidates import ERRORS, PLAIN
from .proxies import Answer, Local

MOST_QUESTIONS = 200  # to one candidate
MOST_DIMS, LONGEST = 6, 1024  # of a tensor: how many dimensions, and how long each
MOST_WORK = 2**20  # of one question, see `work`
MOST_WORK_IN_ALL = 2**22  # of all questions to one candidate
LARGEST_NUMBER = 1024  # of a whole number, which might be a size
MOST_NUMBERS = 2**18  # in an answer
TWICE = 2  # times MOST_QUESTIONS: who asks on gets no answer at all


class Refused(Exception):
    """A question is within the rules, but asks for too much; the message is for the student."""


@dataclass(frozen=True)
class Candidate:
    """A function called `name`, which is right or wrong. `make` gives the namespace in which it is defined."""

    name: str
    make: Callable[[], dict[str, Any]]
    seed: int = 0

    def interview(self) -> Interview:
        return Interview(self)


class Interview:
    """The questions to a candidate while one test judges it, and what was answered."""

    def __init__(self, candidate: Candidate) -> None:
        namespace = candidate.make()
        self.local = Local(namespace)
        self.name, self.seed = candidate.name, candidate.seed
        self.names = set(inspect.signature(namespace[candidate.name]).parameters)
        self.questions = 0
        self.work = 0

    def answer(self, reply: wire.Message, tensors: wire.Tensors) -> Answer:
        """The answer to the question in a reply, as it is sent. Raises WireError if it is none that is answered."""
        self.questions += 1
        if self.questions > TWICE * MOST_QUESTIONS:
            raise wire.WireError("it goes on asking a candidate that answers no more")
        asked = replies.question(reply, tensors)
        try:
            return self._answer(asked)
        except Refused as refusal:
            return {"op": "answer", "limit": str(refusal)}, []

    def _answer(self, asked: replies.Question) -> Answer:
        if self.questions > MOST_QUESTIONS:
            raise Refused(f"a candidate may be called {MOST_QUESTIONS} times")
        self.work += work((*asked.args, *asked.kwargs.values()))
        if self.work > MOST_WORK_IN_ALL:
            raise Refused("all that this candidate was asked for is too much: call it less often, or with less")
        if not asked.kwargs.keys() <= self.names:
            return _error(replies.Failure("TypeError", "", None, 0))
        sent: wire.Tensors = []
        message = {
            "op": "call",
            "target": self.name,
            "args": wire.pack(asked.args, sent),
            "kwargs": wire.pack(asked.kwargs, sent),
            "seed": self.seed + self.questions,
        }
        given = [value for value in (*asked.args, *asked.kwargs.values()) if isinstance(value, torch.Tensor)]
        reply, tensors = self.local.ask(message, sent)
        if not replies.succeeded(reply):
            return _error(replies.failure(reply))
        made = replies.call(reply, tensors, given)
        answer: wire.Tensors = []
        value = wire.pack(_bare(made.value), answer)
        if sum(tensor.numel() for tensor in answer) > MOST_NUMBERS:
            raise Refused(f"the answer has more than {MOST_NUMBERS} numbers: ask for less")
        return {"op": "answer", "value": value}, answer


def work(values: Iterable[object]) -> int:
    """A bound on the numbers in any product of these arguments: their common shape, times its longest dimension.

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
    needed = math.prod(shape) * max(shape)
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
