"""What checks will ask for is asked for at once: nothing but the number of requests may change by that."""

import dataclasses
import json

import pytest
import torch
from conftest import ROOT

from autograder import course, demo, grading
from autograder.graders import session
from autograder.graders.foresight import Asked, Foreseen, Unforeseen
from autograder.graders.submission import Local, Submission
from autograder.notebooks import reading
from autograder.notebooks.restoring import restore
from autograder.sandbox.inside import wire
from autograder.sandbox.talk import Child

SEED = 7
HONEST = ROOT / "tests" / "honest" / "attention"


@pytest.fixture
def requests(monkeypatch):
    """The kinds of all requests to children, in order."""
    made, request = [], Child.request

    def noted(child, message, *args, **options):
        made.append(message["op"])
        return request(child, message, *args, **options)

    monkeypatch.setattr(Child, "request", noted)
    return made


@pytest.fixture
def one_by_one(monkeypatch):
    """Call it to have nothing foreseen from then on."""
    return lambda: monkeypatch.setattr(grading.Workspace, "ask_all", lambda *args: None)


def graded(grader, source, seed=SEED):
    """What is told of the exercise `attention`, answered by a text."""
    cells = [grading.Cell("code", source, "")]
    (outcome,) = grader.grade_cells(cells, [course.exercises(ROOT)["attention"]], seed).verdict.to_dict()["exercises"]
    return outcome


@pytest.fixture
def right():
    return (HONEST / "einsum.py").read_text()


def test_the_second_right_answer_is_asked_once(grader, right, requests):
    first = graded(grader, right)
    assert requests.count("call") > 20 and "all" not in requests
    requests.clear()
    assert graded(grader, (HONEST / "sdpa.py").read_text()) == first
    assert requests.count("all") == 1 and "call" not in requests


@pytest.fixture
def made(monkeypatch):
    """The names of all checks that are made, in order."""
    names, call = [], session.Collected.call

    def noted(check, *args):
        names.append(check.name)
        return call(check, *args)

    monkeypatch.setattr(session.Collected, "call", noted)
    return names


@pytest.mark.parametrize("mistake", [None, ("weights * allowed", "weights")])
def test_what_was_found_of_the_same_answers_is_kept(grader, right, made, mistake):
    assert graded(grader, right)["score"] == graded(grader, right)["max_score"]
    source = right.replace(*mistake) if mistake else right
    first = graded(grader, source)
    made.clear()
    assert graded(grader, f"{source}\n# other words") == first and made == []
    assert (first["score"] < first["max_score"]) == bool(first["diagnosis"]) == bool(mistake)
    assert graded(grader, source, SEED + 1)["score"] == first["score"] and len(made) > 10


def test_what_depends_on_the_text_is_not_kept(grader, made):
    """`softmax` must be written by hand, which only its text shows: the same answers do not mean the same points."""
    by_hand = "import torch\ndef softmax(scores, dim=-1):\n    return torch.{}softmax(scores, dim)\n"
    exercise = course.exercises(ROOT)["softmax"]

    def verdict(source):
        cells = [grading.Cell("code", source, "")]
        return grader.grade_cells(cells, [exercise], SEED).verdict.to_dict()["exercises"][0]

    honest = (ROOT / "tests" / "honest" / "softmax").glob("*.py")
    assert all(verdict(path.read_text())["score"] for path in honest)
    first = verdict(by_hand.format(""))
    made.clear()
    assert verdict(by_hand.format("")) == first
    assert made


@pytest.mark.parametrize("name", list(course.assignments(ROOT)))
def test_verdicts_are_what_they_are_without(grader, name, one_by_one):
    """Of a class of the demo: right, wrong in many ways, ending its process."""
    assignment = course.assignments(ROOT)[name]
    release = json.loads((ROOT / "release" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    students = [s for s in demo.read_class(assignment) if "timeout" not in {e.status for e in s.expected.values()}]
    solution = (ROOT / "solutions" / name / f"{name}.ipynb").read_bytes()
    notebooks = [solution, *(json.dumps(demo.fill_in(release, student)).encode() for student in students[:5])]

    def verdicts():
        found = []
        for data in notebooks:
            cells = restore(reading.read_notebook(data), assignment.cells, assignment)
            found.append(grader.grade_cells(cells, assignment.exercises, SEED, "", name).verdict.to_dict())
        return found

    first, kept = verdicts(), verdicts()  # all but the solution are foreseen at first, and all that is known is kept
    one_by_one()
    plain = verdicts()
    assert first == plain and kept == plain
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


@pytest.mark.parametrize("end", ["os._exit(1)", "raise SystemExit", "while True: pass"])
def test_what_goes_wrong_does_so_in_its_own_check(grader, right, requests, one_by_one, monkeypatch, end):
    monkeypatch.setattr(grader.parent, "limits", dataclasses.replace(grader.parent.limits, call=1.5))
    graded(grader, right)
    source = right.replace("def attention", "def right") + ENDS_LATER.format(end=end)
    requests.clear()
    found = graded(grader, source)
    assert requests.count("all") == 1 and "call" in requests
    one_by_one()
    plain = graded(grader, source)
    assert found == plain and plain["score"] < plain["max_score"]


def test_a_check_that_asks_for_something_else_is_made_anew():
    asked = Asked(Local({"double": lambda x: 2 * x}))
    x = torch.tensor([1.0, float("nan")])
    Submission(asked).function("double")(x)
    answers = [({"ok": True, "value": {"value": "known"}}, []) for _ in asked.requests]
    assert Submission(Foreseen(None, asked, answers)).function("double")(x.clone()) == "known"
    for other in (torch.tensor([1.0, 2.0]), x.double(), torch.cat([x, x])):
        with pytest.raises(Unforeseen):
            Submission(Foreseen(None, asked, answers)).function("double")(other)
    with pytest.raises(Unforeseen):
        Submission(Foreseen(None, asked, answers)).function("triple")(x)
    again = Submission(Foreseen(None, asked, answers)).function("double")
    again(x)
    with pytest.raises(Unforeseen):
        again(x)


def test_answers_are_told_apart():
    """By every bit, by which reply they belong to, and by what kind of number they are."""

    def key(*answers):
        asked = Asked(None)
        asked.requests = [({}, [])] * len(answers)
        return Foreseen(None, asked, list(answers)).key

    x = torch.tensor([0.0, 1.0])
    other = [x.double(), x[None], torch.tensor([-0.0, 1.0]), x.to(torch.int32), x.bfloat16(), torch.empty(0)]
    answers = [[({"ok": True}, [t])] for t in (x, *other)]
    answers += [[({"ok": True}, [x]), ({}, [])], [({"ok": True}, []), ({}, [x])], [({"ok": False}, [x])]]
    keys = [key(*one) for one in answers]
    assert len(set(keys)) == len(keys) and keys == [key(*one) for one in answers]


def test_odd_answers_are_not_kept():
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    asked = Asked(None)
    asked.requests, asked.size = [({}, [])], 8
    for reply, tensors in ((deep, []), ({"ok": True}, [torch.zeros(100)])):
        foreseen = Foreseen(None, asked, [(reply, tensors)])
        if foreseen.is_all:
            foreseen.keep("found")
        assert not asked.findings
    for number in range(100):
        Foreseen(None, asked, [({"ok": number}, [])]).keep("found")
    assert 0 < len(asked.findings) < 100


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
        grading.apart(reply, [torch.ones(1)], 2)


def test_replies_get_their_tensors():
    one, two = torch.ones(1), torch.zeros(2)
    replies = {"replies": [{"a": 1}, {}, {"b": 2}], "tensors": [1, 0, 1]}
    assert grading.apart(replies, [one, two], 3) == [({"a": 1}, [one]), ({}, []), ({"b": 2}, [two])]
