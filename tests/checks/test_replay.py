"""What checks will ask for is asked for at once: nothing but the number of requests may change by that."""

import dataclasses
import json

import pytest
import torch
from conftest import ROOT

from autograder import course
from autograder.checks.proxies import Local, Submission
from autograder.checks.replay import NotPrefetched, RecordingTransport, ReplayedTransport
from autograder.demo import run
from autograder.grading import grader as grading
from autograder.sandbox import replies
from autograder.sandbox.child import Child
from autograder.sandbox.inside import wire
from autograder.submission import read
from autograder.submission.restore import restore

SEED = 7
LESSONS = list(course.assignments(ROOT))
QUICK = ("01", "02", "03", "05")
HONEST = ROOT / "autograder" / "exercises" / "attention" / "answers"


@pytest.fixture
def requests(monkeypatch):
    """The kinds of all requests to children, in order."""
    made, request = [], Child.request

    def noted(child, message, *args, **options):
        made.append("all" if isinstance(message, wire.Encoded) else message["op"])
        return request(child, message, *args, **options)

    monkeypatch.setattr(Child, "request", noted)
    return made


@pytest.fixture
def one_by_one(monkeypatch):
    """Call it to have nothing prefetched from then on."""
    return lambda: monkeypatch.setattr(grading.Workspace, "ask_all", lambda *args: None)


def graded(grader, source, seed=SEED):
    """What is told of the exercise `attention`, answered by a text."""
    cells = [grading.RestoredCell("code", source, "")]
    (outcome,) = grader.grade_cells(cells, [course.exercises(ROOT)["attention"]], seed).verdict.to_dict()["exercises"]
    return outcome


@pytest.fixture
def right():
    return (HONEST / "einsum.py").read_text()


@pytest.fixture
def learnt(grader):
    """Has `grader` learn what is asked of an assignment, here of 02."""
    grader.learn("02_queries_keys_values", SEED)
    return grader


def test_what_the_solution_was_asked_is_asked_of_all_at_once(learnt, right, requests):
    """The very first submission, too; whoever was graded before changes nothing of it."""
    sources = [right, (HONEST / "sdpa.py").read_text(), right.replace("weights * allowed", "weights")]
    for source in sources:
        requests.clear()
        assert graded(learnt, source)["status"] == "graded"
        assert requests.count("all") == 1 and "call" not in requests


def test_nothing_is_learnt_from_a_submission(right, requests):
    """What is asked is known after PAYS of them from the solution alone, in whose own child it was asked."""
    with grading.Grader() as grader:
        for number in range(grading.PAYS):
            graded(grader, f"{right}\n# {number}")
            assert not grader.graders.request_log.known
        requests.clear()
        graded(grader, right)
        assert requests.count("all") == 1 and requests.count("call") > 20
        known = grader.graders.request_log.known
        assert {exercise for exercise, _ in known} == {e.name for e in course.find_assignment("02").exercises}
        requests.clear()
        graded(grader, right)
        assert requests.count("all") == 1 and "call" not in requests


@pytest.mark.drawn(1, "classes graded with and without what is fetched ahead", by=lambda name: name[:2])
@pytest.mark.parametrize(
    "name", [n if n[:2] in QUICK else pytest.param(n, marks=pytest.mark.slow("a long lesson")) for n in LESSONS]
)
def test_verdicts_are_what_they_are_without(grader, name, one_by_one):
    """Of a class of the demo: right, wrong in many ways, ending its process. One assignment is diagnosed as well."""
    assignment = course.assignments(ROOT)[name]
    release = json.loads((ROOT / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    students = [s for s in run.read_class(assignment)[2::5] if "timeout" not in {e.status for e in s.expected.values()}]
    solution = (ROOT / "solutions" / name / f"{name}.ipynb").read_bytes()
    notebooks = [solution, *(json.dumps(run.fill_in(release, student)).encode() for student in students)]

    known = None if name.startswith("02") else (lambda exercise, checks: [])

    def verdicts():
        found = []
        for data in notebooks:
            cells = restore(read.read_notebook(data), assignment.cells, assignment)
            graded = grader.grade_cells(cells, assignment.exercises, SEED, "", name, known=known)
            found.append(graded.verdict.to_dict())
        return found

    grader.learn(name, SEED)
    prefetched = verdicts()
    one_by_one()
    plain = verdicts()
    assert prefetched == plain
    assert any(check["passed"] for check in checks_of(plain)) and not all(check["passed"] for check in checks_of(plain))


def checks_of(verdicts):
    return [check for verdict in verdicts for exercise in verdict["exercises"] for check in exercise["checks"]]


ENDS_LATER = """
import os
def attention(query, key, value, mask=None):
    if query.dtype == torch.float16:  # in one check alone, after others
        {end}
    if query.dim() == 3 and query.shape[0] > 1 and not query.requires_grad:
        return query
    return right(query, key, value, mask)
"""


@pytest.mark.slow("it waits for a deadline, as those of test_deadlines.py do")
@pytest.mark.parametrize("end", ["os._exit(1)", "raise SystemExit", "while True: pass"])
def test_what_goes_wrong_does_so_in_its_own_check(learnt, right, requests, one_by_one, monkeypatch, end):
    grader = learnt
    monkeypatch.setattr(grader.parent, "limits", dataclasses.replace(grader.parent.limits, call=1.5))
    source = right.replace("def attention", "def right") + ENDS_LATER.format(end=end)
    requests.clear()
    found = graded(grader, source)
    assert requests.count("all") == 1 and "call" in requests
    one_by_one()
    plain = graded(grader, source)
    assert found == plain and plain["score"] < plain["max_score"]


def test_a_check_that_asks_for_something_else_is_made_anew():
    asked = RecordingTransport(Local({"double": lambda x: 2 * x}))
    x = torch.tensor([1.0, float("nan")])
    Submission(asked).function("double")(x)
    witnessed = {
        "devices": [],
        "changed": [],
        "products": 0,
        "work": 0,
        "largest": 0,
        "kept": 0,
        "drew": False,
        "replaced": False,
    }
    answers = [({"ok": True, **witnessed, "value": {"value": "known"}}, []) for _ in asked.requests]
    assert Submission(ReplayedTransport(Local({}), asked, answers)).function("double")(x.clone()) == "known"
    for other in (torch.tensor([1.0, 2.0]), x.double(), torch.cat([x, x])):
        with pytest.raises(NotPrefetched):
            Submission(ReplayedTransport(Local({}), asked, answers)).function("double")(other)
    with pytest.raises(NotPrefetched):
        Submission(ReplayedTransport(Local({}), asked, answers)).function("triple")(x)
    again = Submission(ReplayedTransport(Local({}), asked, answers)).function("double")
    again(x)
    with pytest.raises(NotPrefetched):
        again(x)


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"replies": [{}], "tensors": [0]},
        {"replies": [{}, {}], "tensors": [0]},
        {"replies": [{}, 3], "tensors": [0, 1]},
        {"replies": [{}, {}], "tensors": [0, 2]},
        {"replies": [{}, {}], "tensors": [2, -1]},
        {"replies": [{}, {}], "tensors": [0, True]},
        {"replies": "ab", "tensors": [0, 1]},
    ],
)
def test_replies_that_do_not_add_up_are_refused(reply):
    with pytest.raises(wire.WireError):
        replies.split(reply, [torch.ones(1)], 2)


def test_replies_get_their_tensors():
    one, two = torch.ones(1), torch.zeros(2)
    reply = {"replies": [{"a": 1}, {}, {"b": 2}], "tensors": [1, 0, 1]}
    assert replies.split(reply, [one, two], 3) == [({"a": 1}, [one]), ({}, []), ({"b": 2}, [two])]


def test_what_others_answered_takes_no_points(grader):
    """After answers that read loosely are the right ones, and after the right ones, of two attackers: all points."""
    exercise = course.exercises(ROOT)["CharTokenizer"]
    attack = ROOT / "tests" / "hostile" / "forging" / "half_characters_in_replies" / "submission.py"
    honest = sorted((ROOT / "autograder" / "exercises" / "CharTokenizer" / "answers").glob("*.py"))
    grader.learn(exercise.assignment, SEED)
    for path in (attack, honest[0], attack, honest[1]):
        cells = [grading.RestoredCell("code", path.read_text(), "")]
        (outcome,) = grader.grade_cells(cells, [exercise], SEED).verdict.exercises
        assert outcome.score == (0 if path == attack else exercise.points), outcome
