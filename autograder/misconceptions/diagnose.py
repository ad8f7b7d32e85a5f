"""Names the misconceptions behind a student's failed checks: those whose values are the student's.

A misconception is graded like a submission, on the same inputs. It is named if the student fails every check that it
fails, having been seen to return the same values and raise the same errors there. So a wrong sentence is hardly
possible: the student's code does, as far as can be seen, what the misconception does.

Where another mistake of the same student hides some of that (no scale, and the mask ignored as well: only unmasked
calls give the values of "no scale"), a part will do: still every check that the misconception fails must be failed, and
the values must be the same in at least `SHARE` of them. One that a passed check speaks against is never named.
"""

from collections import OrderedDict

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
        judged = {check.name for check in run.checks}
        failed = {check.name for check in run.failed()}
        whole, parts = [], []
        for misconception, transcripts in self._bank(run.exercise, run.seed):
            # A check that was skipped for the student (no GPU in the sandbox) says nothing for or against.
            fails = transcripts.keys() & judged
            if not fails or not fails <= failed:
                continue
            explains = {n for n in fails if _alike(run.transcripts[n], transcripts[n])}
            if explains == fails:
                whole.append((misconception, explains))
            else:
                seen = {n for n in explains if any(_is_telling(entry) for entry in transcripts[n].entries)}
                if len(seen) >= max(2, SHARE * len(fails)):
                    parts.append((misconception, seen))
        return [record.Diagnosis(m.id, m.says) for m in _best(whole, parts)]

    def _bank(self, exercise, seed):
        """Every misconception of the exercise, with its transcripts of the checks that it fails."""
        key = exercise, seed
        if key not in self.known:
            self.known[key] = [(m, self._failures(m, seed)) for m in bank(exercise).values()]
            while len(self.known) > KEPT:
                self.known.popitem(last=False)
        self.known.move_to_end(key)
        return self.known[key]

    def _failures(self, misconception, seed):
        run = self.graders.run(misconception.exercise, Local(misconception.namespace()), seed)
        return {check.name: run.transcripts[check.name] for check in run.failed()}


def diagnose(run, graders):
    """The diagnosis of one run, by a Diagnostician that is not kept."""
    return Diagnostician(graders).diagnose(run)


def _alike(one, other):
    """Whether two transcripts hold the same observations."""
    return same(one.entries, other.entries)


def _is_telling(entry):
    """Whether an observation is a returned tensor of more than one number: code of any kind may return zeros."""
    tensors = [t for t in tree_leaves(entry[1]) if isinstance(t, torch.Tensor)] if entry[0] == "value" else []
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
