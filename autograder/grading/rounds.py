"""Which inputs a hand-in is graded on: they are drawn from a seed made of a secret, the assignment and a round.

Code can read its inputs out and feedback shows what it says, so nobody may be graded twice on inputs that somebody has
seen. A student's first hand-in has round 0, and each later one the next round. Once feedback or grades have been given
out, every new hand-in gets a round that nobody has seen feedback on. The same content of the same student keeps its
round: a regrade draws the same inputs.

Rounds rather than a seed for each file: then most of a class has the same inputs, on which the results of mistakes are
cached and equal wrong answers can be found.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Store

SECRET = 32  # bytes: too many to be guessed from the inputs of a round


class Rounds:
    """The rounds of one assignment.

    They are kept in one file with the secret: if it is lost, the secret is new, and no inputs are those of before.
    """

    def __init__(self, results: Store, assignment: str) -> None:
        self.results = results
        self.assignment = assignment
        self.secret, self.floor = os.urandom(SECRET), 0
        self.of: dict[str, dict[str, int]] = {}  # rounds by student and hash of a content
        self.is_stored = False
        self._load()

    def _load(self) -> None:
        """Read the file; one that is missing or damaged changes nothing here."""
        data = self.results.rounds(self.assignment)
        try:
            secret, floor = bytes.fromhex(data["secret"]), _round(data["floor"])
            of = {
                student: {digest: _round(number) for digest, number in theirs.items()}
                for student, theirs in data["rounds"].items()
            }
        except (KeyError, ValueError, TypeError, AttributeError):
            return
        if len(secret) == SECRET:
            self.secret, self.floor, self.of, self.is_stored = secret, floor, of, True

    def _put(self) -> None:
        data = {"secret": self.secret.hex(), "floor": self.floor, "rounds": self.of}
        self.results.put_rounds(self.assignment, data)
        self.is_stored = True

    def renew(self) -> None:
        """Draw a new secret: all inputs are new, and nobody has seen any."""
        with self.results.alone(self.assignment):
            self.secret, self.floor, self.of = os.urandom(SECRET), 0, {}
            self._put()

    def seed(self, round: int = 0) -> int:
        """The seed of a round's inputs: 48 bits, which say nothing about another round's."""
        text = f"{self.assignment}/{round}".encode()
        return int.from_bytes(hmac.digest(self.secret, text, "sha256")[:6], "big")

    def first(self) -> int:
        """The seed of the first round, from now on the same: what was judged by it need not be judged again."""
        if not self.is_stored:
            with self.results.alone(self.assignment):
                self._load()  # another process may have stored a secret
                if not self.is_stored:
                    self._put()
        return self.seed()

    def known(self, student: str, digest: str) -> int | None:
        """The seed for a content of a student's, if it has a round already."""
        number = self.of.get(student, {}).get(digest)
        return None if number is None else self.seed(number)

    def take(self, contents: Mapping[str, str]) -> dict[str, int]:
        """The seeds for what students hand in, by student; `contents` are hashes. New ones get their round here."""
        with self.results.alone(self.assignment):
            self._load()  # another process may have added some
            new = False
            for student, digest in contents.items():
                theirs = self.of.setdefault(student, {})
                if digest not in theirs:
                    theirs[digest] = max(self.floor, 1 + max(theirs.values(), default=-1))
                    new = True
            if new:
                self._put()
        return {student: self.seed(self.of[student][digest]) for student, digest in contents.items()}

    def put(self, rounds: Mapping[str, Mapping[str, int]]) -> None:
        """Note the rounds on which contents were graded elsewhere, by student and hash: later ones get later rounds."""
        with self.results.alone(self.assignment):
            self._load()
            for student, theirs in rounds.items():
                self.of.setdefault(student, {}).update(theirs)
            self._put()

    def give_out(self) -> None:
        """Note that feedback or grades leave: from now on, whatever is new gets a round that nobody has seen."""
        with self.results.alone(self.assignment):
            self._load()
            floor = 1 + max((number for theirs in self.of.values() for number in theirs.values()), default=-1)
            if floor > self.floor:
                self.floor = floor
                self._put()

    def in_use(self) -> set[int]:
        """The seeds of the latest hand-ins of all students."""
        return {self.seed(max(theirs.values())) for theirs in self.of.values() if theirs}


def _round(number: object) -> int:
    if type(number) is not int or not 0 <= number < 2**31:
        raise ValueError("no round")
    return number
