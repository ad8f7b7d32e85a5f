"""Asks for all that the checks of an exercise will ask for in one request, where that is known.

All submissions of a batch get the same inputs, so a check that is passed has asked for the same each time. What it
asked of the first that passed it is kept; of later ones it is asked for before the checks are made, which then find the
answers there. Most of what a request costs is the way to the sandbox and back.

A check that asks for something else than was foreseen is made once more, request by request. It gets no other answers
than it would have had, since whatever it had asked for so far was answered before the rest.

What a check finds depends on nothing but the seed and the answers that it gets. So what it found is kept too, by all of
these answers, bit by bit: most right submissions of a class give the same, and many of the wrong ones.
"""

import hashlib
import json
import time
from collections import OrderedDict

import torch

from .. import recent
from ..sandbox.inside import wire

KEPT = 64  # exercises and seeds
KEPT_FINDINGS = 16  # of each check, those that were met last
PATIENCE = 1.0  # seconds for all answers, or
TIMES = 20.0  # times as long as those took that were waited for, whichever is longer


class Unforeseen(Exception):
    """A check asks for something else than the one did that is remembered."""


class Foresight:
    """What the checks of exercises ask for, by exercise and seed."""

    def __init__(self):
        self.known = OrderedDict()

    def answers(self, exercise, seed, transport):
        """{check: a Foreseen transport}, for the checks that are known, of a transport that can serve requests at once.

        Empty if it cannot, or if not all could be answered; whoever it was that stopped it is then asked one by one.
        """
        known = self.known.get((exercise, seed))
        if not known or not hasattr(transport, "ask_all"):
            return {}
        requests = [request for asked in known.values() for request in asked.requests]
        patience = max(PATIENCE, TIMES * sum(asked.seconds for asked in known.values()))
        answers = transport.ask_all(requests, patience)
        if answers is None:
            return {}
        answers = iter(answers)
        return {
            check: Foreseen(transport, asked, [next(answers) for _ in asked.requests]) for check, asked in known.items()
        }

    def keep(self, exercise, seed, check, asked):
        """Remember what a check asked for that was passed."""
        known = self.known.get((exercise, seed), {})
        known[check] = asked
        recent.keep(self.known, (exercise, seed), known, KEPT)


class Asked:
    """A transport that remembers what a check asks for: `requests`, [(message, tensors)].

    Also the `seconds` until all was answered, the bytes (`size`) of the answers, and what was found of other answers.
    """

    def __init__(self, transport):
        self.transport = transport
        self.requests = []
        self.seconds = 0.0
        self.size = 0
        self.findings = OrderedDict()

    def ask(self, message, tensors):
        self.requests.append((message, tensors))
        started = time.monotonic()
        try:
            reply, answer = self.transport.ask(message, tensors)
        finally:
            self.seconds += time.monotonic() - started
        self.size += wire.size_of(answer)
        return reply, answer

    def source(self, name):
        return self.transport.source(name)


class Foreseen:
    """A transport that has the answers to what was `asked` already: [(reply, its tensors)].

    `key` tells these answers from others to the same.
    """

    def __init__(self, transport, asked, answers):
        self.transport = transport
        self.asked = asked
        self.answers = answers
        self.waiting = iter([(*request, *answer) for request, answer in zip(asked.requests, answers)])
        self.key = _digest(answers)
        self.is_all = self.key is not None  # whether what the check finds depends on these answers alone

    def ask(self, message, tensors):
        known, given, reply, answer = next(self.waiting, (None, (), None, None))
        if message != known or len(tensors) != len(given) or not all(map(_identical, tensors, given)):
            raise Unforeseen
        return reply, answer

    def source(self, name):
        self.is_all = False
        return self.transport.source(name)

    def finding(self):
        """What was kept of a check that got these very answers, or None."""
        found = self.asked.findings.get(self.key)
        return found and recent.keep(self.asked.findings, self.key, found, KEPT_FINDINGS)

    def keep(self, finding):
        """Keep what the check found, unless it saw more than the answers, or they are far larger than right ones."""
        if self.is_all and sum(wire.size_of(answer) for _, answer in self.answers) <= 2 * self.asked.size:
            recent.keep(self.asked.findings, self.key, finding, KEPT_FINDINGS)


def _digest(answers):
    """A number for answers, the same for the same alone: replies, and the bits of their tensors. None for odd ones."""
    try:
        replies = json.dumps([(reply, len(tensors)) for reply, tensors in answers])
    except RecursionError:  # it was read, but only just
        return None
    digest = hashlib.blake2b(replies.encode(), digest_size=16)
    digest.update(wire.tensors_to_bytes([tensor for _, tensors in answers for tensor in tensors]))
    return digest.digest()


def _identical(one, other):
    """Whether two tensors as they are sent, contiguous and on the CPU, are the same bit by bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) or torch.equal(_bits(one), _bits(other))


def _bits(tensor):
    return tensor.flatten().view(torch.uint8)
