"""Names the mistakes behind a student's failed checks: those whose values are the student's.

A mistake is graded like a submission, on the same inputs. It is named if the student fails every check that it
fails, having been seen to return the same values and raise the same errors there. So a wrong sentence is hardly
possible: the student's code does, as far as can be seen, what the mistake does.

Where another mistake of the same student hides some of that (no scale, and the mask ignored as well: only unmasked
calls give the values of "no scale"), a part will do: still every check that the mistake fails must be failed, and
the values must be the same in at least `SHARE` of them. One that a passed check speaks against is never named.
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
    """Diagnoses runs of `graders`. Keeps what the mistakes did, per exercise and seed, for the runs to come."""

    def __init__(self, graders: Graders) -> None:
        self.graders = graders
        self.known: LRUCache[tuple[str, int], list[Behaviour]] = LRUCache(KEPT)
        self.odds = Odds()

    def diagnose(self, run: ExerciseRun) -> list[Diagnosis]:
        """The mistakes of a finished Run, at most three, the best first."""
        if run.stopped or not run.failed():
            return []
        return _names(self._bank(run.exercise, run.seed), run)

    def _bank(self, exercise: str, seed: int) -> list[Behaviour]:
        """Every mistake of the exercise, with what is known of it so far."""
        known = self.known.get((exercise, seed))
        if known is None:
            known = [Behaviour(m, self.graders, seed, self.odds) for m in bank(exercise).values()]
            self.known[exercise, seed] = known
        return known


class Odds:
    """How often trying a check has ruled a mistake out, by exercise, check, and whether the student passed it.

    Most mistakes are ruled out by one check, if it is the right one. What is named does not depend on the order in
    which checks are tried, only the time that it takes.
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
    """What a mistake does under the checks: found out check by check, as far as it was asked for, and kept.

    Checks that the student was spared (no GPU in the sandbox) do not count.
    """

    def __init__(self, mistake: Mistake, graders: Graders, seed: int, odds: Odds) -> None:
        self.mistake = mistake
        self.graders = graders
        self.seed = seed
        self.odds = odds
        self.found: dict[str, tuple[bool, Transcript]] = {}

    def fails_alike(self, run: ExerciseRun) -> set[str]:
        """The checks that it fails, if these are among those that the student fails, with the same seen in each.

        Else the empty set, after as few checks as settle it.
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
        """(the checks that it fails, those of them in which the student's run is the same), or two empty sets.

        Empty if it fails a check that the student passed, or if none of the checks `wanted` is among the latter.
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
        """The order in which checks are tried: what is known already, then what has ruled out most others."""
        return check.name not in self.found, -self.odds(self.mistake.exercise, check)

    def _at(self, check: str) -> tuple[bool, Transcript]:
        """(whether it fails that check, its transcript of it)."""
        if check not in self.found:
            run = self.graders.run(self.mistake.exercise, self.mistake.local(), self.seed, only=check)
            self.found[check] = bool(run.failed()), run.transcripts[check]
        return self.found[check]


def diagnose(run: ExerciseRun, graders: Graders) -> list[Diagnosis]:
    """The diagnosis of one run, by a Diagnostician that is not kept."""
    return Diagnostician(graders).diagnose(run)


def _names(known: Iterable[Behaviour], run: ExerciseRun) -> list[Diagnosis]:
    """The diagnoses of a run, out of a bank."""
    whole = _those_that_explain_all_they_fail(known, run)
    explained = {check for _, explains in whole for check in explains}
    parts = _those_that_explain_a_part(known, run, explained)
    return [Diagnosis(m.id, m.says) for m in _best(whole, parts)]


def _those_that_explain_all_they_fail(known: Iterable[Behaviour], run: ExerciseRun) -> Explained:
    """Those that explain whatever they fail, up to the first that explains all: no other would be named."""
    every = {check.name for check in run.failed()}
    found = []
    for one in known:
        if explains := one.fails_alike(run):
            found.append((one.mistake, explains))
            if explains == every:
                break
    return found


def _those_that_explain_a_part(known: Iterable[Behaviour], run: ExerciseRun, explained: set[str]) -> Explained:
    """Those that explain some telling checks of those they fail, if each adds to what is `explained` by whole ones."""
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
    """Whether a check saw a returned tensor of more than one number: code of any kind may return zeros."""
    values = [entry[1] for entry in transcript.entries if entry[0] == "value"]
    tensors = [t for t in tree_leaves(values) if isinstance(t, torch.Tensor)]
    return any(t.device.type != "meta" and len(t.nan_to_num().unique()) > 1 for t in tensors)


def _best(*rounds: Explained) -> list[Mistake]:
    """Greedily those that explain most failed checks, each of which explains one that those before it do not.

    What an earlier round explains is settled.
    """
    chosen: list[Mistake] = []
    explained: set[str] = set()
    for candidates in rounds:
        for mistake, explains in sorted(candidates, key=lambda c: -len(c[1])):
            if len(chosen) < MOST and explains - explained:
                chosen.append(mistake)
                explained |= explains
    return chosen
