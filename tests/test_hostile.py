"""The hostile suite: every attack of `tests/hostile` gets what its code deserves, and harms nobody."""

import os
import re

import attacks
import pytest

from autograder.grading import Grader, new_seed
from autograder.sandbox.warm import WarmParent

SEED = new_seed()  # one for all, as for a class: the misconceptions' values are computed once


@pytest.fixture(scope="module")
def hostile_grader():
    with Grader(attacks.LIMITS) as grader:
        yield grader


@pytest.fixture(scope="module")
def world():
    with attacks.world() as world:
        yield world


@pytest.fixture(scope="module")
def bare():
    """A warm parent whose children lack every layer: where attacks with a control must get through."""
    with pytest.MonkeyPatch.context() as patch:
        parent = WarmParent(attacks.LIMITS, **attacks.without(patch, *attacks.LAYERS))
        parent.start()
    with parent:
        yield parent


@pytest.mark.parametrize("attack", attacks.attacks(), ids=lambda attack: attack.name)
def test_an_attack_gets_what_it_deserves_and_harms_nobody(attack, hostile_grader, world, tmp_path):
    expect = attack.expect
    path = attack.hand_in(tmp_path, world)
    one = expect["exercise"] if "others" not in expect else None
    before = peak_memory(reset=True)
    hostile_grader.parent.limits = attack.limits
    graded = hostile_grader.grade_file(path, exercise=one, seed=SEED)
    grown = peak_memory() - before
    problems = world.harm(text := attacks.shown(graded))
    outcomes = {e.exercise: e for e in graded.verdict.exercises}
    asked = [outcomes.pop(expect["exercise"])] if expect["exercise"] else outcomes.values()
    problems += [p for outcome in asked for p in attacks.met(outcome, expect)]
    others = expect.get("others", "any")
    for outcome in outcomes.values() if others == "full" else ():
        if outcome.score != outcome.max_score:
            problems.append(f"{outcome.exercise} lost points: {outcome.message or outcome.checks}")
    problems += [f"{words!r} is not seen" for words in expect.get("seen", []) if world.fill(words) not in text]
    problems += [f"{words!r} is seen" for words in ["through:", *expect.get("unseen", [])] if world.fill(words) in text]
    if grown > expect.get("memory", attacks.MEMORY):
        problems.append(f"the grading process grew by {grown:.0f} MiB")
    assert not problems, "\n".join([*problems, text[:5000]])


CONTROLLED = [attack for attack in attacks.attacks() if attack.expect.get("control") in ("bare", "bare as root")]


@pytest.mark.parametrize("attack", CONTROLLED, ids=lambda attack: attack.name)
def test_without_any_layer_the_same_attack_gets_through(attack, bare, world):
    """The positive control: what the suite calls held is a real attack, not a typo."""
    if attack.expect["control"] == "bare as root" and os.geteuid() != 0:
        pytest.skip("without layers, only root gets through")
    child = bare.fork()
    try:
        reply, _ = child.request({"op": "cell", "source": attack.code(world), "name": "cell 1"}, seconds=30)
    finally:
        child.kill()
        world.mend()
    assert "through:" in str(reply["outputs"]), reply


def test_every_attack_shows_that_it_ran():
    """By what is seen of it; only what is refused before anything runs has nothing to show."""
    for attack in attacks.attacks():
        assert attack.expect.get("seen") or attack.expect["status"] == ["rejected"], attack.name


def peak_memory(reset=False):
    """The most memory that this process has held since the last reset, in MiB."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) / 1024
