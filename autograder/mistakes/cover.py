"""Covers of failed checks: which groups of effects may account for all of them together, judged one effect at a time.

A set of checks is an int here: bit n stands for the nth check. Nothing in this module knows mistakes, answers or
students; `diagnosis.Search` finds out what each mistake does alone, and asks here which ones are worth trying together.

A failed check is *settled* by a group if one of its effects acts there as the student does, or if several act there:
what these do together cannot be known from what each does alone. Any other check is in *doubt*.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")

# Failed checks that two may leave in doubt: where only one of two mistakes acts, it may act otherwise beside the other.
# Three may leave none, since too many groups of three would fit. No record says what it was fitted on. With 1 and 3,
# the 35 answers to softmax and 20 to causal_mask of diagnosis.py (above LEAST) get the same names; 0 loses one.
DOUBTS = 2


class Rated(Protocol):
    """What is known to leave so many failed checks in doubt."""

    @property
    def doubts(self) -> float: ...


C = TypeVar("C", bound=Rated)


class Effect(NamedTuple):
    """What a mistake does in the failed checks, one bit for each of them."""

    acts: int  # where it is not like a right answer
    alike: int  # where it acts, and the student is like it

    @classmethod
    def of(cls, checks: Iterable[T], acts: Callable[[T], bool], alike: Callable[[T], bool]) -> Effect:
        """The effect in these checks, asked in turn, and whether it is `alike` only where it `acts`."""
        acting = being_alike = 0
        for bit, check in enumerate(checks):
            if acts(check):
                acting |= 1 << bit
                being_alike |= alike(check) << bit
        return cls(acting, being_alike)

    def beside(self, apart: int) -> Effect:
        """The same without the checks `apart`."""
        return Effect(self.acts & ~apart, self.alike & ~apart)


class Cover(NamedTuple):
    """Effects that may settle everything together, by their places in a sequence, and how many checks are in doubt."""

    doubts: int
    places: tuple[int, ...]


def bits(flags: Iterable[bool]) -> int:
    """The set of those that are True."""
    return sum(flag << bit for bit, flag in enumerate(flags))


def members(among: Iterable[T], chosen: int) -> list[T]:
    """Those that a set of bits stands for."""
    return [one for bit, one in enumerate(among) if chosen >> bit & 1]


def union(sets: Iterable[int]) -> int:
    return functools.reduce(operator.or_, sets, 0)


def acts_and_settled(effects: Iterable[Effect]) -> tuple[int, int]:
    """The failed checks in which one of these acts, and those that they settle."""
    once = more = alike = 0
    for effect in effects:
        more |= once & effect.acts
        once |= effect.acts
        alike |= effect.alike
    return once, more | alike


def doubts(effects: Iterable[Effect], many: int, apart: int = 0) -> int:
    """How many of `many` failed checks these leave in doubt; those `apart` need no explanation."""
    _, settled = acts_and_settled(effects)
    return many - (settled | apart).bit_count()


def leaves_few(
    effects: Iterable[Effect], checks: Iterable[T], acts: Callable[[T], bool], alike: Callable[[T], bool]
) -> bool:
    """Whether one more beside these effects leaves at most DOUBTS: it is asked only where these leave some."""
    acting, settled = acts_and_settled(effects)
    left = 0
    for bit, check in enumerate(checks):
        if not settled >> bit & 1 and (not acts(check) or not (acting >> bit & 1 or alike(check))):
            left += 1
            if left > DOUBTS:
                return False
    return True


def explaining(groups: Iterable[C], explains: Callable[[C], bool]) -> list[C]:
    """The groups that explain everything: once there is one, only those that leave as few doubts are another way."""
    found: list[C] = []
    fewest: float = DOUBTS
    for group in groups:
        if group.doubts <= fewest and explains(group):
            found.append(group)
            fewest = group.doubts
    return found


def clash(group: Sequence[T], fails: Callable[[T], int], idle: Callable[[T], int]) -> bool:
    """Whether one of them fails a check that the student passed, and in which the others do nothing.

    `fails` and `idle` give the passed checks in which one does so, or does nothing. They may be dear: `idle` is asked
    only while it can decide.
    """
    for one in group:
        failed = fails(one)
        for other in group:
            if failed and other is not one:
                failed &= idle(other)
        if failed:
            return True
    return False


def covers(effects: Sequence[Effect], size: int, many: int, apart: int = 0) -> Iterator[Cover]:
    """The groups of one, two or three that leave few of `many` failed checks in doubt: the most promising first.

    Those come first that leave fewer doubts, and of them those that are more often alike.
    """
    most = DOUBTS if size == 2 else 0
    chosen = triples(effects, many, apart) if size == 3 else itertools.combinations(range(len(effects)), size)
    rated = []
    for places in chosen:
        left = doubts([effects[i] for i in places], many, apart)
        if left <= most:
            promise = sum(effects[i].alike.bit_count() for i in places)
            rated.append((left, -promise, places))
    rated.sort(key=lambda one: one[:2])
    yield from (Cover(left, places) for left, _, places in rated)
    if size == 3:  # at last those that promise nothing: there may be so many that they are not counted
        yield from (Cover(0, places) for places in triples(effects, many, apart, showing=False))


def triples(
    effects: Sequence[Effect], many: int, apart: int = 0, showing: bool = True
) -> Iterator[tuple[int, int, int]]:
    """The groups of three that leave no doubt, by their places in `effects`.

    If `showing`, those of which at least one is alike in some failed check, else the others. There are hundreds of
    thousands of groups, and few fit. So the third is not tried but computed: for each check that the first two leave
    open, a set of bits holds those that settle it.
    """
    checks = range(many)
    acting = [bits(bool(effect.acts >> bit & 1) for effect in effects) for bit in checks]
    alike = [bits(bool(effect.alike >> bit & 1) for effect in effects) for bit in checks]
    every = (1 << len(effects)) - 1
    shows = union(alike)
    for (i, one), (j, two) in itertools.combinations(enumerate(effects), 2):
        if one.alike | two.alike:
            thirds = every if showing else 0
        else:
            thirds = shows if showing else every & ~shows
        settled = one.acts & two.acts | one.alike | two.alike | apart
        thirds = thirds >> j + 1 << j + 1
        for bit in checks:
            if not settled >> bit & 1:
                thirds &= alike[bit] | (acting[bit] if (one.acts | two.acts) >> bit & 1 else 0)
        while thirds:
            lowest = thirds & -thirds
            yield i, j, lowest.bit_length() - 1
            thirds ^= lowest
