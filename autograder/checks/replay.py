"""Sends all requests that the checks of an exercise will make as one, if they are known.

All submissions of a batch get the same inputs, so a check that passes makes the same requests each time. Its requests
to the course's own solution are recorded. For a submission they are sent before the checks run, and the checks then
find the answers ready. This pays because the way to the sandbox and back is most of a request's cost. Nothing is learnt
from a submission.

A check that makes a different request from the recorded one is run again, request by request. Its answers are those
that it would have got anyway, because the requests it had made until then were answered before the others.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from ..sandbox.inside import arrays, wire
from ..sandbox.inside.later import torch
from .proxies import Answer, Examination, JoinedTransport, Transport
from .source_text import Source

KEPT = 64  # exercises and seeds
ALONE = {"afresh", "learn", "left", "read"}  # requests that are never sent with others
# All answers together may take PATIENCE seconds, or TIMES as long as the recorded ones took, whichever is longer.
PATIENCE = 1.0
TIMES = 20.0


class NotPrefetched(Exception):
    """A check makes a different request from the one that was recorded."""


class RequestLog:
    """The requests of the checks, by exercise and seed."""

    def __init__(self) -> None:
        self.known: LRUCache[tuple[str, int], KnownRequests] = LRUCache(KEPT)

    def answers(self, exercise: str, seed: int, transport: JoinedTransport) -> dict[str, ReplayedTransport]:
        """A ReplayedTransport for each check with known requests, by name, if `transport` serves joint requests.

        Empty if it does not, or if not all requests could be answered; the checks then make their requests one by one.
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
        """Remember the requests of a check that the course's own solution passed.

        One that lets candidates be judged is left out: its requests are talks, which cannot be joined. So is one in
        which a model learns, since that takes long, or reads: it must not see the tokens that come later.
        """
        if any(isinstance(message, Examination) or message["op"] in ALONE for message, _ in asked.requests):
            return
        known = self.known.get((exercise, seed), KnownRequests({}))
        self.known[exercise, seed] = KnownRequests({**known.checks, check: asked})


@dataclass(frozen=True)
class KnownRequests:
    """The requests of the `checks` of an exercise, by name."""

    checks: dict[str, RecordingTransport]

    @functools.cached_property
    def requests(self) -> list[tuple[wire.Message, wire.Tensors]]:
        """The requests of all checks, [(message, tensors)]."""
        return [request for asked in self.checks.values() for request in asked.requests]

    @functools.cached_property
    def joint(self) -> wire.Encoded:
        """One request that contains all of them, as it is sent."""
        message = {
            "op": "all",
            "requests": [m for m, _ in self.requests],
            "tensors": [len(t) for _, t in self.requests],
        }
        return wire.encoded(message, [tensor for _, tensors in self.requests for tensor in tensors])


class RecordingTransport:
    """A transport that records a check's `requests`, [(message, tensors)], and the `seconds` that all answers took."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.requests: list[tuple[wire.Message, wire.Tensors]] = []
        self.seconds = 0.0

    @property
    def lacks(self) -> Mapping[str, str]:
        return self.transport.lacks

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
    """A transport that already has the answers to the requests in `asked`: [(reply, its tensors)]."""

    def __init__(self, transport: Transport, asked: RecordingTransport, answers: Sequence[Answer]) -> None:
        self.transport = transport
        self.answers = answers
        self.waiting = iter([(*request, *answer) for request, answer in zip(asked.requests, answers, strict=True)])

    @property
    def lacks(self) -> Mapping[str, str]:
        return self.transport.lacks

    def ask(self, message: wire.Message, tensors: wire.Tensors) -> Answer:
        known, given, reply, answer = next(self.waiting, (None, [], {}, []))
        if message != known or len(tensors) != len(given) or not all(map(_identical, tensors, given)):
            raise NotPrefetched
        return reply, answer

    def source(self, name: str) -> Source:
        return self.transport.source(name)


def _identical(one: arrays.Bits, other: arrays.Bits) -> bool:
    """Whether two tensors, contiguous and on the CPU as they are sent, or arrays for them, are equal bit by bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    one, other = arrays.tensor_of(one), arrays.tensor_of(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.equal(_bits(one), _bits(other))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten().view(torch.uint8)
