"""Compares the fingerprints of wrong answers, which mistakes/fingerprint.py makes; this half needs no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

SHORT = 6  # characters of a fingerprint's short name
LARGEST = 1e9  # real sums are far smaller; one that is not finite would be near to all others
CUT = 1e-6  # how far two sums may be apart for their last digit alone


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint that was read: `form` is the same for equal answers, and `numbers` are nearly the same.

    `numbers` are, for each check that failed, how far sums may be apart, and the sums.
    """

    form: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[float, ...], ...]

    def without(self, checks: Collection[str]) -> Fingerprint:
        """What is left without these checks."""
        kept = [place for place, (check, _) in enumerate(self.form) if check not in checks]
        return Fingerprint(tuple(self.form[place] for place in kept), tuple(self.numbers[place] for place in kept))

    def equals(self, other: Fingerprint) -> bool:
        """Whether these are fingerprints of equal answers."""
        return self.form == other.form and all(map(_near, self.numbers, other.numbers))


def _near(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    if len(one) != len(other):
        return False
    most = max(one[0], other[0]) + CUT * max(1.0, *map(abs, one[1:]))
    return all(abs(a - b) <= most for a, b in zip(one[1:], other[1:], strict=True))


def parsed(text: str) -> Fingerprint | None:
    """The Fingerprint that a text encodes; None if it encodes none."""
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not found or not all(map(_is_part, found.values())):
        return None
    checks = sorted(found)
    return Fingerprint(
        tuple((check, found[check][0]) for check in checks), tuple(tuple(found[check][1:]) for check in checks)
    )


def _is_part(part: Any) -> bool:
    if not isinstance(part, list) or len(part) < 3 or not isinstance(part[0], str):
        return False
    return all(type(number) in (int, float) and abs(number) < LARGEST for number in part[1:])


def equal(one: str, other: str) -> bool:
    """Whether two texts are fingerprints of equal answers."""
    mine, theirs = parsed(one), parsed(other)
    return mine is not None and theirs is not None and mine.equals(theirs)


def short(text: str) -> str:
    """A short name for exactly this fingerprint, of hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:SHORT]


class Groups(Generic[T]):
    """Members put together by equal fingerprints, in the order in which they come; each group is like its first."""

    def __init__(self) -> None:
        self.by_form: dict[object, list[tuple[Fingerprint, list[tuple[str, T]]]]] = {}

    def add(self, text: str, member: T) -> None:
        """Put a member into the group of its fingerprint, if that can be read."""
        found = parsed(text)
        if found is None:
            return
        there = self.by_form.setdefault(found.form, [])
        for first, members in there:
            if first.equals(found):
                members.append((text, member))
                return
        there.append((found, [(text, member)]))

    def all(self) -> Iterable[list[tuple[str, T]]]:
        """The groups, each a list of (fingerprint, member)."""
        return [members for there in self.by_form.values() for _, members in there]
