"""Names the misconceptions behind a student's failed checks: those whose values are the student's.

A misconception is graded like a submission, on the same inputs. It is named if the student fails every check that it
fails, having been seen to return the same values and raise the same errors there. So a wrong sentence is hardly
possible: the student's code does, as far as can be seen, what the misconception does.

Where another mistake of the same student hides some of that (no scale, and the mask ignored as well: only unmasked
calls give the values of "no scale"), a part will do: still every check that the misconception fails must be failed, and
the values must be the same in at least `SHARE` of them. One that a passed check speaks against is never named.
"""

from collections import Counter, OrderedDict

import torch
from torch.utils._pytree import tree_leaves

from ..graders.submission import Local, same
from ..verdicts import record
from . import bank

MOST = 3
SHARE = 0.2
KEPT = 32


class Diagnostician:
    """Diagnoses runs of `graders`. Keeps what the misconceptions did, per exercise and seed, for the runs to come."""

    def __init__(self, graders):
        self.graders = graders
        self.known = OrderedDict()

    def diagnose(self, run):
        """The misconceptions of a finished session.Run: at most three record.Diagnosis, the best first."""
        if run.stopped or not run.failed():
            return []
        telling = {check.name for check in run.failed() if _is_telling(run.transcripts[check.name])}
        whole, parts = [], []
        for known in self._bank(run.exercise, run.seed):
            fails, explains = known.compared_with(run, parts_will_do=len(telling) >= 2)
            if fails and explains == fails:
                whole.append((known.misconception, explains))
                continue
            seen = explains & telling
            if len(seen) >= max(2, SHARE * len(fails)):
                parts.append((known.misconception, seen))
        return [record.Diagnosis(m.id, m.says) for m in _best(whole, parts)]

    def _bank(self, exercise, seed):
        """Every misconception of the exercise, with what is known of it so far."""
        key = exercise, seed
        if key not in self.known:
            speak_against = Counter()
            self.known[key] = [Known(m, self.graders, seed, speak_against) for m in bank(exercise).values()]
            while len(self.known) > KEPT:
                self.known.popitem(last=False)
        self.known.move_to_end(key)
        return self.known[key]


class Known:
    """What a misconception does under the checks: found out check by check, as far as it was asked for, and kept.

    `speak_against` counts which checks have spoken against one, for all of a bank: these are asked first, since one
    check is often failed by nearly all misconceptions.
    """

    def __init__(self, misconception, graders, seed, speak_against):
        self.misconception = misconception
        self.graders = graders
        self.seed = seed
        self.speak_against = speak_against
        self.found = {}

    def compared_with(self, run, parts_will_do):
        """(the checks that it fails, those of them in which the student's run is the same), or two empty sets.

        Empty as soon as it is settled that it will not be named: it fails a check that the student passed, or it
        differs somewhere and no part will do. Checks that the student was spared (no GPU in the sandbox) do not count.
        """
        nothing = set(), set()
        passed = [check.name for check in run.checks if check.passed]
        for check in sorted(passed, key=lambda name: (name not in self.found, -self.speak_against[name])):
            if self._at(check)[0]:
                self.speak_against[check] += 1
                return nothing
        fails, explains = set(), set()
        for check in run.failed():
            failed, transcript = self._at(check.name)
            if not failed:
                continue
            fails.add(check.name)
            if _alike(run.transcripts[check.name], transcript):
                explains.add(check.name)
            elif not parts_will_do:
                return nothing
        return fails, explains

    def _at(self, check):
        """(whether it fails that check, its transcript of it)."""
        if check not in self.found:
            namespace = self.misconception.namespace()
            run = self.graders.run(self.misconception.exercise, Local(namespace), self.seed, only=check)
            self.found[check] = bool(run.failed()), run.transcripts[check]
        return self.found[check]


def diagnose(run, graders):
    """The diagnosis of one run, by a Diagnostician that is not kept."""
    return Diagnostician(graders).diagnose(run)


def _alike(one, other):
    """Whether two transcripts hold the same observations."""
    return same(one.entries, other.entries)


def _is_telling(transcript):
    """Whether a check saw a returned tensor of more than one number: code of any kind may return zeros."""
    values = [entry[1] for entry in transcript.entries if entry[0] == "value"]
    tensors = [t for t in tree_leaves(values) if isinstance(t, torch.Tensor)]
    return any(t.device.type != "meta" and len(t.nan_to_num().unique()) > 1 for t in tensors)


def _best(*rounds):
    """Greedily those that explain most failed checks, each of which explains one that those before it do not.

    Every round is a list of (misconception, the checks it explains); what an earlier round explains is settled.
    """
    chosen, explained = [], set()
    for candidates in rounds:
        for misconception, explains in sorted(candidates, key=lambda c: -len(c[1])):
            if len(chosen) < MOST and explains - explained:
                chosen.append(misconception)
                explained |= explains
    return chosen
