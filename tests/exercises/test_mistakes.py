"""Every mistake of every exercise is rejected; those of the sample are named, by the way that a submission takes.

One test is about all mistakes of an exercise. To reject one it is enough that a check fails: the likeliest comes first.
To name one, all checks are run, as of a submission, and nobody tells the diagnosis what it will ask for.
"""

import time
from collections import Counter

import pytest
from conftest import ROOT
from seeds import SEEDS

from autograder import course
from autograder.mistakes.bank import bank

EXERCISES = sorted(course.exercises(ROOT))


pytestmark = pytest.mark.usefixtures("uncompiled")


def loses_points(run):
    return any(check.points for check in run.failed())


def called(mistake):
    """What a mistake is called here: a variant is another way to make it."""
    return f"{mistake.id} ({mistake.variant})" if mistake.variant else mistake.id


class Odds:
    """Which check rejects the most mistakes a second, as far as is known. It decides how long a test takes, no more."""

    def __init__(self):
        self.seconds, self.rejected = Counter(), Counter()

    def __call__(self, name):
        return (self.rejected[name] + 1) / (self.seconds[name] + 0.001)

    def fails(self, graders, exercise, mistake, names, seed):
        """Whether one of these checks takes points from a mistake."""
        if mistake.lasts:  # what one check leaves behind, another one sees: they are run in order
            return loses_points(graders.run(exercise, mistake.local(), seed))
        gates = {}
        for name in sorted(names, key=self, reverse=True):
            began = time.process_time()
            run = graders.run(exercise, mistake.local(), seed, only=name, gates=gates)
            self.seconds[name] += time.process_time() - began
            assert run.stopped is None, f"{exercise}: {called(mistake)} was stopped: {run.stopped}"
            if run.failed():
                self.rejected[name] += 1
                return True
        return False


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_mistake_is_rejected(graders, exercise, seed):
    names, odds = [check.name for check in graders.checks[exercise] if check.points], Odds()
    mistakes = [*bank(exercise).values(), *bank(exercise).variants]
    missed = [called(one) for one in mistakes if not odds.fails(graders, exercise, one, names, seed)]
    assert not missed, (
        f"{exercise}: {', '.join(missed)} get full marks: a check is missing, or the edit makes no difference"
    )


def named_otherwise(run, mistake, named):
    failed = ", ".join(check.name for check in run.failed())
    return (
        f"{run.exercise}: {mistake} is named {' and '.join(named) or 'nothing'}. It fails {failed}. If another mistake"
        " fails the same checks in the same way, a check must tell them apart, or `Bank(alike=…)` says that none can"
    )


@pytest.mark.drawn(16, "exercises of which a mistake is named", by="exercise")
@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("seed", SEEDS)
def test_mistakes_are_named(graders, diagnostician, runs, sample, exercise, seed):
    """A variant, which is another way to make a mistake, has the mistake's name."""
    of, wrong = bank(exercise), []
    variants = {called(one): one for one in of.variants}
    for name in sample.of(exercise, [*of, *variants]):
        if name in variants:
            mistake, alike = variants[name], None
            run = graders.run(exercise, mistake.local(), seed)
        else:
            mistake, alike = of[name], of.alike.get(name)
            run = runs(exercise, name, seed)
        assert run.stopped is None and loses_points(run), f"{exercise}: {name}: {run.stopped or 'full marks'}"
        named = [one.id for one in diagnostician.diagnose(run)]
        if named not in ([mistake.id], [alike]):
            wrong.append(named_otherwise(run, name, named))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow("it needs the runs of all mistakes")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_check_rejects_something(runs, exercise):
    failed, judged = set(), set()
    for id in bank(exercise):
        run = runs(exercise, id, SEEDS[0])
        judged |= {check.name for check in run.checks}
        failed |= {check.name for check in run.failed()}
    useless = ", ".join(sorted(judged - failed))
    assert not useless, f"{exercise}: no mistake of the bank fails {useless}: add one that does, or drop the check"
    assert judged, f"{exercise}: its bank is empty, or its checks.py has no check"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_what_mistakes_say_can_be_read(exercise):
    for id, mistake in bank(exercise).items():
        assert id == id.lower() and " " not in id and "_" not in id, id
        assert 20 < len(mistake.says) < 300, id
        assert mistake.says[0].isupper() or mistake.says[0] in "`-", id
        assert mistake.says.endswith("."), id
