"""One slip has one price: each kind, planted in the right answers of all exercises, costs what docs/prices.md says."""

import pytest
from conftest import ROOT
from plants import PLANTS, everywhere, planted, said_in_checks

from autograder import course
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.prices import COSTS, SLIPS
from autograder.verdict import NOT_TRIED, RAISED, STOPPED_WITH

NEARLY = 1e-6
ERRORS = RAISED, STOPPED_WITH, NOT_TRIED  # how the reasons of checks begin that could not compare anything
# where a statement says that what refuses right answers gets nothing, or where to try an edit takes seconds
APART = {
    name
    for name in course.exercises()
    if any(said_in_checks(name, what) for what in ("families.examining", "TRIES_EDITS"))
}
BASE = "the layer is in a part of another lesson, whose weights are loaded before anything is asked"
PARTLY = "one way alone stops: the checks of the others pass, and what it passed by is not known to be right"
UNKNOWN = "no small edit is found that makes it right"
# what costs more than its kind, or did when it was measured last, each with the reason
EXCEPTIONS: dict[tuple[str, str, str], str] = {
    ("KVCache", "layers", "one for two"): BASE,
    ("EvictingCache", "layers", "one for two"): BASE,
    ("AlternatingCoAttention", "name", "renamed"): BASE,
    ("BigramLanguageModel", "name", "renamed"): "a check of values comes first, and does without weights of that name",
    ("LatentAttention", "stops", "argument"): PARTLY,
    ("EvictingCache", "stops", "argument"): PARTLY,
    ("learning_rate", "form", "in a tuple"): "one of several returns: half of the checks ask for another",
    ("CharTokenizer", "form", "in a tuple"): "a tuple of a list counts as a list of one token",
    ("EvictingCache", "form", "one more dimension"): UNKNOWN,
    ("flash_attention", "stops", "argument"): UNKNOWN,
    ("yarn_frequencies", "stops", "argument"): UNKNOWN,
    ("indexed_attention", "stops", "argument"): UNKNOWN,
}

EVERY = [one for one in everywhere() if one[0] not in APART]
PLANTED = [one for one in EVERY if one not in EXCEPTIONS]


def test_the_page_says_what_is_charged():
    page = (ROOT / "docs" / "prices.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and line.endswith("% |")]
    assert rows == [f"| {slip.says} | {slip.price:.0%} |" for slip in SLIPS]
    assert PLANTED and PLANTS.keys() < COSTS.keys()


def graded(grader, exercise, text):
    (outcome,) = grader.grade_cells(cells_for(exercise, text), [course.exercises()[exercise]], 1).verdict.exercises
    return outcome.credited("prices")


def stops(outcome):
    """Whether an answer stops with an error at every turn."""
    return all(check.reason.startswith(ERRORS) for check in outcome.checks if not check.passed)


@pytest.mark.drawn(4, "slips planted in right answers")
@pytest.mark.parametrize("exercise, kind, way", PLANTED)
def test_a_slip_costs_what_its_kind_costs(grader, exercise, kind, way):
    outcome = graded(grader, exercise, planted(exercise, kind, way))
    share = 1 - outcome.score / outcome.max_score
    most = COSTS["stops"] if stops(outcome) else COSTS[kind]
    assert share <= most + NEARLY, (outcome.diagnosis, planted(exercise, kind, way))


def test_exceptions_are_planted_and_few():
    assert EXCEPTIONS.keys() <= set(EVERY) and len(EXCEPTIONS) < 0.05 * len(EVERY)


LEAST = 1 / 7  # of the points: what gives up the idea of an exercise
IDEAS = [
    ("softmax", "exp-without-max"),
    ("tiled_attention", "nothing-subtracted"),
    ("flash_attention", "nothing-subtracted"),
    ("flash_kernel", "nothing-subtracted"),
    ("flash_kernel", "hidden-tiles-loaded"),
    ("softmax_kernel", "nothing-subtracted"),
]


@pytest.mark.parametrize("exercise, id", IDEAS)
def test_what_gives_up_the_idea_of_an_exercise_is_not_cheap(uncompiled, exercise, id):
    run = Graders().run(exercise, bank(exercise)[id].local(), 1)
    share = sum(check.points for check in run.failed()) / sum(check.points for check in run.checks)
    assert share >= LEAST - NEARLY
