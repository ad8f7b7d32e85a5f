"""Easy cases that several checks of an exercise depend on: each runs once per run, and its result is reused.

A check of, say, the device starts with an easy case, so that code that computes something else gets no points there.
The case is the same for all checks of an exercise, so its first result is valid for the others. It runs apart from the
checks, with inputs and objects of its own, so that it does not matter which check was the first, unless what the code
keeps outlives its objects.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .api import FAILURES, Draw, gate
from .proxies import Submission, Transcript, Transport
from .replay import NotPrefetched, RecordingTransport, ReplayedTransport

Gate = TypeVar("Gate", bound=Callable[..., Any])


@dataclass(frozen=True)
class Passage:
    """The result of a gate: its `value`, or the `error` that ended it, and what it saw."""

    value: Any
    error: Exception | None
    transcript: Transcript


class Gates:
    """The gates of one run of an exercise. `transport` serves their requests; `known` are those asked before, by key.

    `prefetched` has answers that were fetched ahead, by key; `learn` is called with the requests of each gate that is
    passed.
    """

    def __init__(
        self,
        transport: Transport,
        known: dict[str, Passage] | None = None,
        prefetched: Mapping[str, ReplayedTransport] | None = None,
        learn: Callable[[str, RecordingTransport], None] | None = None,
    ) -> None:
        self.transport = transport
        self.known = {} if known is None else known
        self.prefetched = prefetched or {}
        self.learn = learn

    def pass_through(self, key: str, asks: Callable[[Submission], Any], check: Submission) -> Any:
        """The value of the gate called `key`, which `asks` a Submission of its own. Raises what ended it."""
        if key not in self.known:
            self.known[key] = self._asked(key, asks)
        found = self.known[key]
        check.transcript.entries += found.transcript.entries
        if found.error is not None:
            raise found.error.with_traceback(None)
        return found.value

    def _asked(self, key: str, asks: Callable[[Submission], Any]) -> Passage:
        """Ask, with the answers fetched ahead or request by request."""
        prefetched = self.prefetched.get(key)
        if prefetched is not None:
            try:
                return self._passage(key, asks, prefetched)
            except NotPrefetched:
                pass
        asked = RecordingTransport(self.transport)
        found = self._passage(key, asks, asked)
        if self.learn and found.error is None:
            self.learn(key, asked)
        return found

    def _passage(self, key: str, asks: Callable[[Submission], Any], transport: Transport) -> Passage:
        submission = Submission(transport, gates=self)
        # objects of a number that neither a check nor another gate gives to one of its own
        submission.handles = itertools.count(int.from_bytes(hashlib.sha256(key.encode()).digest()[:5], "big") << 8)
        value = error = None
        try:
            value = asks(submission)
            submission.settle()
        except FAILURES as failure:
            error = failure
        return Passage(value, error, submission.transcript)


def easy_case(test: Gate) -> Gate:
    """Decorate a `gate` that checks share: it is run once for all of them, and each of its calls ends in the same way.

    It takes `submission` and `draw` as a check does, but gets its own, and anything else by name. So it must return
    nothing that belongs to its submission, neither a module nor a function.

    >>> @easy_case
    ... def averages(submission, draw):
    ...     close(submission.function("softmax")(torch.zeros(4)), torch.full((4,), 0.25), "the weights of equal scores")
    >>> averages(submission, draw)
    """
    gated = gate()(test)

    @functools.wraps(test)
    def asked_once(*args: Any, **options: Any) -> Any:
        *owner, check, draw = args
        given = [sorted(vars(one).items()) for one in owner], sorted(options.items())
        key = f"{test.__module__}.{test.__qualname__}{given}"

        def asks(submission: Submission) -> Any:
            return gated(*owner, submission, Draw(draw.seed, f"{draw.exercise}/{key}"), **options)

        gates = check.gates or Gates(check.transport)
        return gates.pass_through(key, asks, check)

    return asked_once  # type: ignore[return-value]
