"""However feedback or grades leave, later hand-ins have inputs that nobody has seen; also by nbgrader's own way."""

import json

import pytest
from conftest import ROOT
from small_course import NAME, autograder, command, copy, submit

from autograder.grading.store import Store

TABLE = "def normalise(x):\n    raise KeyError(repr(x))  # {}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = copy(tmp_path_factory.mktemp("rounds") / "course")
    assert autograder(place, "build")[0] == 0
    for student in ("ada", "bela"):
        submit(place, student, {"normalise": TABLE.format(student)})
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0, out + said
    return place


def kept(place):
    return json.loads((place / ".autograder" / "seeds" / f"{NAME}.json").read_text())


def seeds(place):
    return {student: verdict.seed for student, verdict in Store(place).each(NAME)}


@pytest.mark.parametrize(
    "words",
    [
        ("autograder", "report", "01"),
        ("autograder", "export", "01", "csv"),
        ("nbgrader", "generate_feedback", NAME, "--force"),
        ("nbgrader", "export"),
    ],
    ids=" ".join,
)
def test_what_leaves_is_noted(place, words):
    state = kept(place)
    path = place / ".autograder" / "seeds" / f"{NAME}.json"
    path.write_text(json.dumps({**state, "floor": 0}))
    if words[0] == "autograder":
        code, out, said = autograder(place, *words[1:])
    else:
        code, out, said = command(place, *words)
    assert code == 0, out + said
    highest = max(number for theirs in state["rounds"].values() for number in theirs.values())
    assert kept(place) == {**state, "floor": highest + 1}


def test_stock_nbgrader_draws_new_inputs_for_a_later_hand_in_too(place):
    before = seeds(place)
    assert len(set(before.values())) == 1
    submit(place, "ada", {"normalise": TABLE.format("again")})
    for _ in range(2):  # the second time it is a regrade
        code, out, said = command(place, "nbgrader", "autograde", NAME, "--student", "ada", "--force")
        assert code == 0, out + said
        after = seeds(place)
        assert after["ada"] not in before.values() and after["bela"] == before["bela"]
        assert sorted(kept(place)["rounds"]["ada"].values())[0] == 0 and len(kept(place)["rounds"]["ada"]) == 2
    code, out, said = autograder(place, "grade", "01", "--jobs", "1", "--regrade")
    assert code == 0 and seeds(place) == after, "both ways agree"


def test_the_secret_is_not_released(place):
    secret = kept(place)["secret"]
    for folder in ("release", "feedback", "reports", "exports"):
        for path in (place / folder).rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes()
    assert (ROOT / ".gitignore").read_text().count(".autograder")
