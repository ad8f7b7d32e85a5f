"""The hostile suite: every attack of `tests/hostile` gets what its code deserves, and harms nobody."""

import functools
import os
import re
import time
from unittest import mock

import attacks
import layers
import pytest
import security
from conftest import ROOT, hand_in

from autograder import course
from autograder.batch import pool
from autograder.batch import run as batch
from autograder.grading.grader import Grader
from autograder.grading.seeds import new_seed
from autograder.grading.store import Store
from autograder.sandbox import child as talk
from autograder.sandbox.jail import Limits
from autograder.sandbox.parent import WarmParent

SEED = new_seed()  # one for all, as for a class: the mistakes' values are computed once


@pytest.fixture(scope="module")
def hostile_grader():
    """A grader for attacks on an exercise, of which it has graded a right answer already, as in a class.

    So it knows what the checks will ask for. Each is prepared when the first attack on it comes.
    """
    with (
        Grader(WarmParent(attacks.LIMITS, attacks.DEVICE, attacks.LEVEL)) as grader,
        mock.patch.object(talk, "GRACE", 0.5),
    ):

        @functools.cache
        def prepared(name, exercise):
            if exercise:  # which may be another lesson's
                name = course.exercises()[exercise].assignment
            grader.parent.limits = attacks.LIMITS
            assert grader.grade_file(ROOT / "solutions" / name / f"{name}.ipynb", exercise, seed=SEED).verdict.full
            if (name, SEED) not in grader.learnt:
                grader.learn(name, SEED)
            return grader

        yield prepared


@pytest.fixture(scope="module")
def world():
    with attacks.world() as world:
        yield world


@pytest.fixture(scope="module")
def bare():
    """A warm parent whose children lack every layer: where attacks with a control must get through."""
    with layers.Leaky(attacks.LIMITS, layers.OF_PARENTS) as parent:
        yield parent


def name_of(attack, **_):
    return attack.name


def family_of(attack, **_):
    return attack.folder.parent.name


ATTACK = pytest.mark.drawn(1, "attacks of each family but forging", by=name_of, each=family_of)
FORGING = pytest.mark.drawn(12, "forgings", by=name_of)
LONG_FORGING = pytest.mark.slow("a right answer to compare with takes some ten seconds")


def sampled(found):
    """Attacks as parameters, with the marks by which they are drawn."""
    for attack in found:
        exercise = course.exercises().get(attack.expect["exercise"])
        lesson = exercise.assignment if exercise else attack.assignment
        forging = FORGING if lesson[:2] in ("02", "03") else LONG_FORGING
        yield pytest.param(attack, id=attack.name, marks=forging if family_of(attack) == "forging" else ATTACK)


@pytest.mark.parametrize("attack", [*sampled(attacks.attacks())])
def test_an_attack_gets_what_it_deserves_and_harms_nobody(attack, hostile_grader, world, tmp_path):
    expect = attack.expected
    path = attack.hand_in(tmp_path, world)
    one = expect["exercise"] if "others" not in expect else None
    grader = hostile_grader(attack.assignment, one)
    before = peak_memory(reset=True)
    grader.parent.limits = attack.limits
    grader.parent.start()
    sandbox = grader.parent.process
    graded = grader.grade_file(path, exercise=one, seed=SEED)
    grown = peak_memory() - before
    problems = world.harm(text := attacks.shown(graded))
    if grader.parent.process is not sandbox:
        problems.append("the sandbox, which all submissions share, had to be started again")
    outcomes = {e.exercise: e for e in graded.verdict.exercises}
    asked = [outcomes.pop(expect["exercise"])] if expect["exercise"] else outcomes.values()
    problems += [p for outcome in asked for p in attacks.met(outcome, expect)]
    others = expect.get("others", "any")
    keep = outcomes if others == "full" else others if isinstance(others, list) else ()
    for outcome in (outcomes[name] for name in keep):
        if outcome.score != outcome.max_score:
            problems.append(f"{outcome.exercise} lost points: {outcome.message or outcome.checks}")
    problems += [f"{words!r} is not seen" for words in expect.get("seen", []) if world.fill(words) not in text]
    unseen = [*expect.get("unseen", []), *(["through:"] if "through" not in expect else [])]
    problems += [f"{words!r} is seen" for words in unseen if world.fill(words) in text]
    if grown > expect.get("memory", attacks.MEMORY):
        problems.append(f"the grading process grew by {grown:.0f} MiB")
    assert not problems, "\n".join([*problems, text[:5000]])


CONTROLLED = [attack for attack in attacks.attacks() if attack.expect.get("control") in ("bare", "bare as root")]


@pytest.mark.parametrize("attack", [*sampled(CONTROLLED)])
def test_without_any_layer_the_same_attack_gets_through(attack, bare, world):
    """The positive control: what fails in the sandbox is a real attack, not a typo."""
    if attack.expect["control"] == "bare as root" and os.geteuid() != 0:
        pytest.skip("without layers, only root gets through")
    child = bare.fork(layers.OF_CHILDREN)
    try:
        reply, _ = child.request({"op": "cell", "source": attack.code(world), "name": "cell 1"}, seconds=30)
    finally:
        child.kill()
        world.mend()
    assert "through:" in str(reply["outputs"]), reply


IN_A_BATCH = (
    "exhausting/endless_loop_when_called",
    "exhausting/many_deaths",
    "exhausting/a_signal_without_a_name",
    "forging/exit_when_called",
    "forging/a_lying_workbench",
)


class NoWriter:
    """Records nothing."""

    def cached_verdict(self, student, key):
        return None

    def add(self, student, submitted, graded, key):
        pass


@pytest.mark.slow("it waits for the deadlines of a batch")
def test_a_batch_ends_and_honest_work_between_attackers_gets_its_points(world, tmp_path):
    """Two sandboxes and the usual deadlines: an attacker costs the others no more than its own, here one call's."""
    assignment = course.find_assignment("02")
    honest = (ROOT / "solutions" / assignment.name / f"{assignment.name}.ipynb").read_bytes()
    by_name = {attack.name: attack for attack in attacks.attacks()}
    for number, name in enumerate(IN_A_BATCH):
        (tmp_path / str(number)).mkdir()
        attacker = by_name[name].hand_in(tmp_path / str(number), world).read_bytes()
        for student, data in ((f"{number}-attacker", attacker), (f"{number}-honest", honest + b" " * number)):
            hand_in(data, tmp_path / "submitted" / student / assignment.name, f"{assignment.name}.ipynb")
    who = batch.students(tmp_path, assignment.name)
    run = batch.Batch(tmp_path, assignment, who, Store(tmp_path))
    started = time.monotonic()
    with pool.Pool(2) as engine:
        verdicts = dict(run.run(engine, NoWriter()))
    assert run.graded == 2 * len(IN_A_BATCH) and not run.problems
    took = time.monotonic() - started
    assert not world.harm("")
    assert sorted(verdicts) == who
    for student, verdict in verdicts.items():
        assert verdict.full == student.endswith("honest"), verdict
    assert took < Limits().submission, "an attacker had all the time of a submission, and not that of a call"


def test_every_attack_shows_that_it_ran():
    """By what is seen of it; only what is refused before anything runs has nothing to show."""
    for attack in attacks.attacks():
        assert attack.expect.get("seen") or attack.expect["status"] == ["rejected"], attack.name


def test_there_are_attacks_enough_and_the_page_is_up_to_date():
    assert len(attacks.attacks()) >= 60
    page = security.PAGE.read_text(encoding="utf-8")
    assert page == security.up_to_date(page), "run `make hostile`"


def test_the_report_has_every_attack_with_what_it_tries_and_how_it_ends():
    """The tables that `make hostile` writes to reports/attacks.md, where all attacks fail."""
    rows = rows_of(security.attack_report())
    assert len(rows) == len(attacks.attacks())
    for attack, (name, tries, outcome, at_process, unprotected) in zip(attacks.attacks(), rows, strict=True):
        assert (name, tries) == (f"`{attack.folder.name}`", attack.expect["tries"])
        assert outcome.startswith("fails: ") and outcome.endswith(" points")
        assert all(security.OUTCOMES[status] in outcome for status in attack.expect["status"])
        through = attack.expect.get("process", {}).get("through")
        assert at_process == f"**succeeds**: {through}" if through else at_process.startswith("fails"), at_process
        assert unprotected == ("succeeds" if attack in CONTROLLED else "–")


def test_the_report_says_which_attack_succeeded():
    first, second, *others = [attack.name for attack in attacks.attacks()]
    rows = rows_of(security.attack_report(failed={second, *others}, failed_at_process={first, *others}))
    assert rows[0][2].startswith("**SUCCEEDS**") and rows[0][3].startswith("fails")
    assert rows[1][2].startswith("fails") and rows[1][3] == "**SUCCEEDS**"
    assert not any("SUCCEEDS" in cell for row in rows[2:] for cell in row)


def test_the_page_names_each_attack_that_succeeds_at_the_level_process():
    page = " ".join(security.PAGE.read_text(encoding="utf-8").split())
    for attack in attacks.attacks():
        if "through" in attack.expect.get("process", {}):
            assert f"`{attack.name}`" in page


def rows_of(report):
    """The cells of all rows about an attack, without the heads of the tables."""
    lines = [line for line in report.splitlines() if line.startswith("| `")]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]


def peak_memory(reset=False):
    """The most memory that this process has held since the last reset, in MiB."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) / 1024
