"""Names the misconceptions behind a student's failed checks: those whose values are the student's.

A misconception is graded like a submission, on the same inputs. It is named if the student fails every check that it
fails, having been seen to return the same values and raise the same errors there. So a wrong sentence is hardly
possible: the student's code does, as far as can be seen, what the misconception does.
"""

from collections import OrderedDict

from ..graders.submission import Local, same
from ..verdicts import record
from . import bank

MOST = 3
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
        candidates = []
        for misconception, transcripts in self._bank(run.exercise, run.seed):
            # A check that was skipped for the student (no GPU in the sandbox) says nothing for or against.
            explains = transcripts.keys() & judged
            if explains and explains <= failed and all(_alike(run.transcripts[n], transcripts[n]) for n in explains):
                candidates.append((misconception, explains))
        return [record.Diagnosis(m.id, m.says) for m in _best(candidates)]

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


def _best(candidates):
    """Greedily those that explain most failed checks, each of which explains one that those before it do not."""
    chosen, explained = [], set()
    for misconception, explains in sorted(candidates, key=lambda c: -len(c[1])):
        if len(chosen) < MOST and explains - explained:
            chosen.append(misconception)
            explained |= explains
    return chosen
