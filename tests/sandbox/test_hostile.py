"""The hostile suite: every attack of `tests/hostile` gets what its code deserves, and harms nobody."""

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
    """It has graded right answers already and knows what checks will ask for, as in a class."""
    with Grader(WarmParent(attacks.LIMITS, level=attacks.LEVEL)) as grader, mock.patch.object(talk, "GRACE", 0.5):
        for name in sorted({attack.assignment for attack in attacks.attacks()}):
            assert grader.grade_file(ROOT / "solutions" / name / f"{name}.ipynb", seed=SEED).verdict.full
            grader.learn(name, SEED)
        yield grader


@pytest.fixture(scope="module")
def world():
    with attacks.world() as world:
        yield world


@pytest.fixture(scope="module")
def bare():
    """A warm parent whose children lack every layer: where attacks with a control must get through."""
    with layers.Leaky(attacks.LIMITS, layers.OF_PARENTS) as parent:
        yield parent


@pytest.mark.parametrize("attack", attacks.attacks(), ids=lambda attack: attack.name)
def test_an_attack_gets_what_it_deserves_and_harms_nobody(attack, hostile_grader, world, tmp_path):
    expect = attack.expected
    path = attack.hand_in(tmp_path, world)
    one = expect["exercise"] if "others" not in expect else None
    before = peak_memory(reset=True)
    hostile_grader.parent.limits = attack.limits
    hostile_grader.parent.start()
    sandbox = hostile_grader.parent.process
    graded = hostile_grader.grade_file(path, exercise=one, seed=SEED)
    grown = peak_memory() - before
    problems = world.harm(text := attacks.shown(graded))
    if hostile_grader.parent.process is not sandbox:
        problems.append("the sandbox, which all submissions share, had to be started again")
    outcomes = {e.exercise: e for e in graded.verdict.exercises}
    asked = [outcomes.pop(expect["exercise"])] if expect["exercise"] else outcomes.values()
    problems += [p for outcome in asked for p in attacks.met(outcome, expect)]
    others = expect.get("others", "any")
    for outcome in outcomes.values() if others == "full" else ():
        if outcome.score != outcome.max_score:
            problems.append(f"{outcome.exercise} lost points: {outcome.message or outcome.checks}")
    problems += [f"{words!r} is not seen" for words in expect.get("seen", []) if world.fill(words) not in text]
    unseen = [*expect.get("unseen", []), *(["through:"] if "through" not in expect else [])]
    problems += [f"{words!r} is seen" for words in unseen if world.fill(words) in text]
    if grown > expect.get("memory", attacks.MEMORY):
        problems.append(f"the grading process grew by {grown:.0f} MiB")
    assert not problems, "\n".join([*problems, text[:5000]])


CONTROLLED = [attack for attack in attacks.attacks() if attack.expect.get("control") in ("bare", "bare as root")]


@pytest.mark.parametrize("attack", CONTROLLED, ids=lambda attack: attack.name)
def test_without_any_layer_the_same_attack_gets_through(attack, bare, world):
    """The positive control: what the suite calls held is a real attack, not a typo."""
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

    def held(self, student, key):
        return None

    def add(self, student, submitted, graded, key):
        pass


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


def test_there_are_attacks_enough_and_all_are_in_the_table():
    assert len(attacks.attacks()) >= 60
    page = security.PAGE.read_text(encoding="utf-8")
    made = security.replaced(page, "attacks", security.attack_tables())
    made = security.replaced(made, "layers", security.layer_table())
    assert page == made, "run `make hostile`"


def peak_memory(reset=False):
    """The most memory that this process has held since the last reset, in MiB."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) / 1024
