"""Asks for all that the checks of an exercise will ask for in one request, where that is known.

All submissions of a batch get the same inputs, so a check that is passed has asked for the same each time. What it
asks of the course's own solution is kept; of submissions it is asked for before the checks are made, which then find
the answers there. Most of what a request costs is the way to the sandbox and back. Nothing is learnt from a submission.

A check that asks for something else than was foreseen is made once more, request by request. It gets no other answers
than it would have had, since whatever it had asked for so far was answered before the rest.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from cachetools import LRUCache

from ..sandbox.inside import wire
from .proxies import Answer, JoinedTransport, Transport
from .source_text import Source

KEPT = 64  # exercises and seeds
PATIENCE = 1.0  # seconds for all answers, or
TIMES = 20.0  # times as long as those took that were waited for, whichever is longer


class NotForeseen(Exception):
    """A check asks for something else than the one did that is remembered."""


class RequestLog:
    """What the checks of exercises ask for, by exercise and seed."""

    def __init__(self) -> None:
        self.known: LRUCache[tuple[str, int], KnownRequests] = LRUCache(KEPT)

    def answers(self, exercise: str, seed: int, transport: JoinedTransport) -> dict[str, ReplayedTransport]:
        """A ReplayedTransport for each of the checks that are known, where `transport` serves requests at once.

        Empty if it does not, or if not all could be answered; whoever it was that stopped it is then asked one by one.
        """
        known = self.known.get((exercise, seed))
        if not known or not known.requests:
            return {}
        patience = max(PATIENCE, TIMES * sum(asked.seconds for asked in known.checks.values()))
        answers = transport.ask_all(known.joint, len(known.requests), patience)
        if answers is None:
            return {}
        left = iter(answers)
        return {
            check: ReplayedTransport(transport, asked, [next(left) for _ in asked.requests])
            for check, asked in known.checks.items()
        }

    def keep(self, exercise: str, seed: int, check: str, asked: RecordingTransport) -> None:
        """Remember what a check asked for that the course's own solution passed."""
        known = self.known.get((exercise, seed), KnownRequests({}))
        self.known[exercise, seed] = KnownRequests({**known.checks, check: asked})


@dataclass(frozen=True)
class KnownRequests:
    """What the `checks` of an exercise ask for, by name."""

    checks: dict[str, RecordingTransport]

    @functools.cached_property
    def requests(self) -> list[tuple[wire.Message, wire.Tensors]]:
        """All of their requests, [(message, tensors)]."""
        return [request for asked in self.checks.values() for request in asked.requests]

    @functools.cached_property
    def joint(self) -> wire.Encoded:
        """One request for all of them, as it is sent."""
        message = {
            "op": "all",
            "requests": [m for m, _ in self.requests],
            "tensors": [len(t) for _, t in self.requests],
        }
        return wire.encoded(message, [tensor for _, tensors in self.requests for tensor in tensors])


class RecordingTransport:
    """A transport that remembers what a check asks for: `requests`, [(message, tensors)], and how many `seconds` passed
    until all was answered.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.requests: list[tuple[wire.Message, wire.Tensors]] = []
        self.seconds = 0.0

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        self.requests.append((message, tensors))
        started = time.monotonic()
        try:
            return self.transport.ask(message, tensors)
        finally:
            self.seconds += time.monotonic() - started

    def source(self, name: str) -> Source:
        return self.transport.source(name)


class ReplayedTransport:
    """A transport that has the answers to what was `asked` already: [(reply, its tensors)]."""

    def __init__(self, transport: Transport, asked: RecordingTransport, answers: Sequence[Answer]) -> None:
        self.transport = transport
        self.waiting = iter([(*request, *answer) for request, answer in zip(asked.requests, answers, strict=True)])

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        known, given, reply, answer = next(self.waiting, (None, [], {}, []))
        if message != known or len(tensors) != len(given) or not all(map(_identical, tensors, given)):
            raise NotForeseen
        return reply, answer

    def source(self, name: str) -> Source:
        return self.transport.source(name)


def _identical(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors as they are sent, contiguous and on the CPU, are the same bit by bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.equal(_bits(one), _bits(other))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten().view(torch.uint8)
