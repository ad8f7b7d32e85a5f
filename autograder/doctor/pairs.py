"""Runs all pairs of each bank's mistakes, bounded as a diagnosis runs them, and says which run away."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import bounds
from ..course import Assignment
from ..grading.apart import GraderApart, RanAway
from ..mistakes.bank import Bank, bank
from ..mistakes.behaviour import Behaviours
from ..sandbox import jail
from ..sandbox.inside import wire
from ..sandbox.parent import WarmParent
from .finding import Finding

if TYPE_CHECKING:
    from ..grading.grader import Grader

SEED = 1  # of the inputs
TOGETHER = 100  # pairs that are run at once: those before one that ends the process are run again


def findings(assignments: list[Assignment]) -> Iterator[Finding]:
    """The pairs that run away: a diagnosis that tries one goes on without it, but pays for it."""
    names = [e.name for a in assignments if not a.lacks for e in a.exercises if isinstance(bank(e.name), Bank)]
    yield from map(of_exercise, names)


def of_exercise(name: str) -> Finding:
    """Those of an exercise."""
    ran, runaways = 0, set[str]()
    with GraderApart(WarmParent(level=jail.own_level())) as grader:
        while made := _some(grader, name, ran, runaways):
            ran += made
    if not runaways:
        return Finding(True, f"{name}: all {ran} pairs of mistakes end within their limits")
    return Finding(None, f"{name}: of {ran} pairs of mistakes these run away: {', '.join(sorted(runaways))}")


def _some(grader: GraderApart, exercise: str, first: int, runaways: set[str]) -> int:
    """Run up to TOGETHER pairs of an exercise from the `first` on, and note the runaways; returns how many there were.

    One that ends its process is left out when the others are run again.
    """
    while True:
        try:
            made, stopped = grader.apart(run, exercise, first)
        except RanAway as end:
            if end.what in runaways or not end.what.startswith(exercise):
                raise
            bounds.bar(end.what)
            runaways.add(end.what)
        else:
            runaways.update(stopped)
            return made


def run(grader: Grader, exercise: str, first: int) -> tuple[int, list[str]]:
    """Ask up to TOGETHER pairs all that the checks ask: how many there were, and those that a bound has stopped."""
    behaviours = _behaviours(grader, exercise)
    every = itertools.combinations([one.mistake for one in behaviours.singles], 2)
    chosen = list(itertools.islice(every, first, first + TOGETHER))
    stopped = []
    for pair in chosen:
        together = behaviours.of(pair)
        if together is None:
            continue
        try:
            for check in behaviours.checks:
                together.answers(check)
        except wire.WireError:  # it gives more than a student's process may
            pass
        if bounds.was_stopped(together.hypothesis.name):
            stopped.append(together.hypothesis.name)
    return len(chosen), stopped


@functools.lru_cache(maxsize=1)
def _behaviours(grader: Grader, exercise: str) -> Behaviours:
    """The behaviour of an exercise's mistakes, for one exercise after another."""
    of = bank(exercise)
    assert isinstance(of, Bank)
    return Behaviours(of, grader.graders, SEED)
