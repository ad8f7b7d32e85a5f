"""Names the mistakes behind a student's failed checks: those that give the same values as the student's code.

A mistake is graded like a submission, on the same inputs. It is named if the student fails every check that the mistake
fails, with the same returned values and the same errors in each. A wrong sentence is therefore very unlikely: as far as
the checks can see, the student's code does what the mistake does.

A second mistake of the same student can hide part of this: with no scale and the mask ignored as well, only unmasked
calls give the values of "no scale". Then partial agreement is enough: the student must still fail every check that the
mistake fails, but the values need to agree only in at least a share `SHARE` of them. A mistake that fails a check which
the student passed is never named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, TypeAlias

import torch
from cachetools import LRUCache
from torch.utils._pytree import tree_leaves

from ..checks.proxies import Transcript, same
from ..verdict import Check, Diagnosis
from .bank import Mistake, bank

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun, Graders

Explained: TypeAlias = list[tuple[Mistake, set[str]]]  # mistakes, and the checks that each explains

MOST = 3
SHARE = 0.2
KEPT = 32


class Diagnostician:
    """Diagnoses runs of `graders`. Keeps the behaviour of the mistakes, per exercise and seed, for later runs."""

    def __init__(self, graders: Graders) -> None:
        self.graders = graders
        self.known: LRUCache[tuple[str, int], list[Behaviour]] = LRUCache(KEPT)
        self.odds = Odds()

    def diagnose(self, run: ExerciseRun) -> list[Diagnosis]:
        """The mistakes in a finished ExerciseRun, at most `MOST`, the best first."""
        if run.stopped or not run.failed():
            return []
        return _names(self._bank(run.exercise, run.seed), run)

    def _bank(self, exercise: str, seed: int) -> list[Behaviour]:
        """The Behaviour of every mistake of the exercise, as far as it is known."""
        known = self.known.get((exercise, seed))
        if known is None:
            known = [Behaviour(m, self.graders, seed, self.odds) for m in bank(exercise).values()]
            self.known[exercise, seed] = known
        return known


class Odds:
    """How often a check has ruled out a mistake, by exercise, check, and whether the student passed it.

    One check rules out most mistakes, if it is the right one. The order in which checks are tried changes only the time
    that a diagnosis takes, not its result.
    """

    def __init__(self) -> None:
        self.tried: Counter[tuple[str, str, bool]] = Counter()
        self.ruled_out: Counter[tuple[str, str, bool]] = Counter()

    def __call__(self, exercise: str, check: Check) -> float:
        of = exercise, check.name, check.passed
        return (self.ruled_out[of] + 1) / (self.tried[of] + 1)

    def note(self, exercise: str, check: Check, ruled_out: bool) -> None:
        of = exercise, check.name, check.passed
        self.tried[of] += 1
        self.ruled_out[of] += ruled_out


class Behaviour:
    """What a mistake does under the checks: each check is run when it is first needed, and its result is kept.

    Checks that were skipped for the student (no GPU in the sandbox) do not count.
    """

    def __init__(self, mistake: Mistake, graders: Graders, seed: int, odds: Odds) -> None:
        self.mistake = mistake
        self.graders = graders
        self.seed = seed
        self.odds = odds
        self.found: dict[str, tuple[bool, Transcript]] = {}

    def fails_alike(self, run: ExerciseRun) -> set[str]:
        """The checks that the mistake fails, if the student fails them too, with the same transcript in each.

        Otherwise the empty set, as soon as one check has ruled the mistake out.
        """
        fails: set[str] = set()
        for check in sorted(run.checks, key=self._likely_to_rule_out):
            is_new = check.name not in self.found
            failed, transcript = self._at(check.name)
            ruled_out = failed and (check.passed or not _alike(run.transcripts[check.name], transcript))
            if is_new:
                self.odds.note(self.mistake.exercise, check, ruled_out)
            if ruled_out:
                return set()
            if failed:
                fails.add(check.name)
        return fails

    def fails_partly_alike(self, run: ExerciseRun, wanted: Collection[str]) -> tuple[set[str], set[str]]:
        """The checks that the mistake fails, and those of them in which the student's transcript is the same.

        Both sets are empty if the mistake fails a check that the student passed, or if the second set holds none of the
        checks `wanted`.
        """
        passed = [check for check in run.checks if check.passed]
        if any(self.found[check.name][0] for check in passed if check.name in self.found):
            return set(), set()
        fails: set[str] = set()
        explains: set[str] = set()
        for check in sorted(run.failed(), key=lambda check: (check.name not in wanted, check.name not in self.found)):
            if check.name not in wanted and not explains:
                return set(), set()
            failed, transcript = self._at(check.name)
            if failed:
                fails.add(check.name)
                if _alike(run.transcripts[check.name], transcript):
                    explains.add(check.name)
        if not explains or any(self._at(check.name)[0] for check in passed):
            return set(), set()
        return fails, explains

    def _likely_to_rule_out(self, check: Check) -> tuple[bool, float]:
        """Sort key for trying checks: first those already run, then those that have ruled out mistakes most often."""
        return check.name not in self.found, -self.odds(self.mistake.exercise, check)

    def _at(self, check: str) -> tuple[bool, Transcript]:
        """Whether the mistake fails this check, and its transcript of it."""
        if check not in self.found:
            run = self.graders.run(self.mistake.exercise, self.mistake.local(), self.seed, only=check)
            self.found[check] = bool(run.failed()), run.transcripts[check]
        return self.found[check]


def diagnose(run: ExerciseRun, graders: Graders) -> list[Diagnosis]:
    """The diagnosis of a single run, by a Diagnostician that is not kept."""
    return Diagnostician(graders).diagnose(run)


def _names(known: Iterable[Behaviour], run: ExerciseRun) -> list[Diagnosis]:
    """The diagnoses of a run, chosen from the `known` mistakes."""
    whole = _those_that_explain_all_they_fail(known, run)
    explained = {check for _, explains in whole for check in explains}
    parts = _those_that_explain_a_part(known, run, explained)
    return [Diagnosis(m.id, m.says) for m in _best(whole, parts)]


def _those_that_explain_all_they_fail(known: Iterable[Behaviour], run: ExerciseRun) -> Explained:
    """Mistakes that agree with the run in every check they fail; ends with the first that explains all failures."""
    every = {check.name for check in run.failed()}
    found = []
    for one in known:
        if explains := one.fails_alike(run):
            found.append((one.mistake, explains))
            if explains == every:
                break
    return found


def _those_that_explain_a_part(known: Iterable[Behaviour], run: ExerciseRun, explained: set[str]) -> Explained:
    """Mistakes that agree with the run in some of the checks they fail, and explain one that is not `explained` yet."""
    telling = {check.name for check in run.failed() if _is_telling(run.transcripts[check.name])}
    wanted = telling - explained
    if len(telling) < 2 or not wanted:
        return []
    found = []
    for one in known:
        fails, explains = one.fails_partly_alike(run, wanted)
        seen = explains & telling
        if explains != fails and len(seen) >= max(2, SHARE * len(fails)):
            found.append((one.mistake, seen))
    return found


def _alike(one: Transcript, other: Transcript) -> bool:
    """Whether two transcripts hold the same observations."""
    return same(one.entries, other.entries)


def _is_telling(transcript: Transcript) -> bool:
    """Whether a check saw a tensor with at least two different numbers: any code may return a tensor of zeros."""
    values = [entry[1] for entry in transcript.entries if entry[0] == "value"]
    tensors = [t for t in tree_leaves(values) if isinstance(t, torch.Tensor)]
    return any(t.device.type != "meta" and len(t.nan_to_num().unique()) > 1 for t in tensors)


def _best(*rounds: Explained) -> list[Mistake]:
    """Choose greedily the mistakes that explain most failed checks; each must explain one that no earlier choice does.

    Earlier rounds take precedence.
    """
    chosen: list[Mistake] = []
    explained: set[str] = set()
    for candidates in rounds:
        for mistake, explains in sorted(candidates, key=lambda c: -len(c[1])):
            if len(chosen) < MOST and explains - explained:
                chosen.append(mistake)
                explained |= explains
    return chosen
