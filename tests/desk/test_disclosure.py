"""What is told at each level, and what is not."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of

from autograder import course
from autograder.desk import answers, disclosure
from autograder.desk.settings import LEVELS
from autograder.report import lesson
from autograder.verdict import FACT, Check, Diagnosis, Outcome, Verdict

SECRET = "the hidden check that 17.25 is 17.25"


def wrong():
    return Outcome(
        "attention",
        4.0,
        10.0,
        "graded",
        [
            Check("test_values", "values", 4.0, True, "values are right"),
            Check("test_mask", "masking", 3.0, False, f"{SECRET} they are not", "they are not"),
            Check("test_float", "numerics", 3.0, False, f"{SECRET} nor these", "nor these"),
        ],
        [Diagnosis("mask-inverted", "The mask is read the other way round.", "x.masked_fill(mask)")],
        skipped=[{"name": "test_cuda", "message": SECRET}],
        unjudged="test_mask: KeyError",
        fingerprint="f1ng3r",
    )


def stopped():
    return Outcome("softmax", 0.0, 2.0, "timeout", message="`softmax` was stopped: it did not end within 10 s.")


def test_each_level_tells_more_and_none_the_checks_before_all():
    told = {level: disclosure.told(wrong(), level) for level in LEVELS}
    assert told["received"] == {
        "exercise": "attention",
        "max_score": 10.0,
        "score": None,
        "status": None,
        "place": None,
        "names": [],
        "sentence": "`attention` is received.",
        "page": "#part-3",
    }
    assert (told["points"]["score"], told["points"]["place"], told["points"]["names"]) == (4.0, None, [])
    assert told["points"]["sentence"] == "`attention`: 4 of 10 points."
    assert told["place"]["place"] == "Checks of masking and extreme numbers fail." and told["place"]["names"] == []
    assert told["place"]["sentence"].endswith("points. Checks of masking and extreme numbers fail.")
    assert told["names"]["names"] == [
        {"id": "mask-inverted", "message": "The mask is read the other way round.", "line": "x.masked_fill(mask)"}
    ]
    assert told["names"]["sentence"] == "`attention`: 4 of 10 points. The mask is read the other way round."
    for level in LEVELS:
        text = str(told[level])
        assert SECRET not in text and "f1ng3r" not in text and "KeyError" not in text
        assert ("other way round" in text) == (level in ("names", "all"))


@pytest.mark.parametrize("level", LEVELS)
def test_the_page_of_a_level_is_made_of_what_may_be_told(level):
    verdict = Verdict("/submitted/ada/x.ipynb", [wrong(), stopped()], 123, "02")
    text = disclosure.limited_verdict(verdict, level).to_json()
    assert (SECRET in text) == (level == "all")
    assert "f1ng3r" not in text and "KeyError" not in text and "123" not in text and "submitted" not in text
    assert ("did not end" in text) == (level in ("place", "names", "all"))
    assert (disclosure.limited_verdict(verdict, level).exercises == []) == (level == "received")


def test_what_could_not_be_graded_says_why_from_the_place_on():
    assert "did not end within 10 s" not in disclosure.told(stopped(), "points")["sentence"]
    assert disclosure.told(stopped(), "names")["sentence"] == (
        "`softmax`: 0 of 2 points, it ran too long: `softmax` was stopped: it did not end within 10 s."
    )


def test_of_an_exercise_that_is_withheld_only_that_it_was_received():
    assert disclosure.told(wrong(), "all", {"attention"})["sentence"] == "`attention` is received."
    verdict = Verdict("", [wrong(), stopped()], 1, "02")
    kept = disclosure.limited_verdict(verdict, "all", {"attention"})
    assert [outcome.exercise for outcome in kept.exercises] == ["softmax"]


def test_what_changed_is_told_only_of_what_was_told():
    right = Outcome("attention", 10.0, 10.0, "graded", [Check("test_values", "values", 10.0, True, "right")])

    def changed(level, then=None):
        return disclosure.changes([disclosure.told(wrong(), level)], [disclosure.told(right, then or level)])

    fixed = "; fixed: The mask is read the other way round."
    assert changed("names") == [f"`attention`: 4 → 10 of 10{fixed}"]
    assert changed("points") == ["`attention`: 4 → 10 of 10."]
    assert changed("received") == changed("received", "names") == changed("names", "received") == []
    other = wrong()
    other.diagnosis = [Diagnosis("no-scale", "The scores are not scaled.")]
    said = disclosure.changes([disclosure.told(wrong(), "names")], [disclosure.told(other, "names")])
    assert said == ["`attention`: fixed: The mask is read the other way round; new: The scores are not scaled."]
    assert disclosure.changes([disclosure.told(wrong(), "names")], [disclosure.told(wrong(), "names")]) == []


@pytest.mark.parametrize("level", ["place", "names", "all"])
def test_what_stopped_does_not_say_in_which_hidden_check_before_all_is_told(level):
    message = f"`softmax` was stopped: it did not end within 10 s, in the check “{SECRET}, “of all””."
    outcome = Outcome("softmax", 0.0, 2.0, "timeout", message=message)
    kept = disclosure.limited_verdict(Verdict("", [outcome], 1, "02"), level).to_json()
    said = str(disclosure.told(outcome, level))
    for text in (kept, said):
        assert "did not end within 10 s" in text and (SECRET in text) == (level == "all")
    assert level == "all" or disclosure.told(outcome, level)["place"].endswith("did not end within 10 s.")


QUOTING = [
    ("shape-of-a-parameter", "The parameter `w` should have shape (4, 4), and it has (0, 314159): look at …"),
    ("biases", "There are biases where there should be none: `saw_314159.bias`."),
    ("weights-at-first", "In a new module, each number in `w` is 3.14159."),
    ("beyond-the-last", "What this line looks up has 3 places, and it asks for place 314159: they are counted from 0."),
]


@pytest.mark.parametrize("id, message", QUOTING)
def test_code_that_saw_hidden_inputs_cannot_have_them_quoted(id, message):
    """Shapes, numbers and names that code chooses at run time would carry inputs out to who hands in next."""
    outcome = Outcome("attention", 0.0, 2.0, "graded", diagnosis=[Diagnosis(f"fact-{id}", message, "w[saw]")])
    for text in (
        str(disclosure.told(outcome, "names")),
        disclosure.limited_verdict(Verdict("", [outcome], 1), "names").to_json(),
    ):
        assert "14159" not in text and "w[saw]" in text
    assert "14159" in str(disclosure.told(outcome, "all"))


def test_what_is_said_of_honest_sizes_stays():
    message = "What this line looks up has 12 places, and it asks for place 1024: they are counted from 0."
    outcome = Outcome("attention", 0.0, 2.0, "graded", diagnosis=[Diagnosis("fact-beyond-the-last", message)])
    assert disclosure.told(outcome, "names")["names"][0]["message"] == message


def test_facts_that_quote_are_those_of_the_kit():
    from autograder.mistakes import facts

    text = Path(facts.__file__).read_text()
    for id in disclosure.GENERAL:
        assert f'Fact("{id.removeprefix(FACT)}"' in text


class Recorded:
    """A record of one attempt, whose notebook is `data`."""

    def __init__(self, data):
        self.data = data

    def content(self, sha256):
        return self.data

    def verdict(self, id):
        return Verdict("", [], 1, ASSIGNMENT)

    def before(self, attempt):
        return None


@pytest.mark.parametrize(
    "level, exercise, text, tells",
    [
        ("names", None, "", True),
        ("names", None, "So.", False),
        ("received", None, "", False),
        ("names", "x", "", False),
    ],
)
def test_a_blank_answer_is_told_as_blank_and_not_as_received(release, monkeypatch, level, exercise, text, tells):
    """In the JSON that `hand_in()` reads; of a whole notebook, and where anything is told of it."""
    monkeypatch.chdir(ROOT)
    about = course.assignments()[ASSIGNMENT]
    (question,) = [cell.grade_id for cell in about.cells if cell.grade and not cell.exercise]
    cell_of(release, question)["source"] = text
    desk = SimpleNamespace(record=Recorded(json.dumps(release).encode()), root=ROOT, queue=None)
    desk.path, desk.settings = lambda *parts: "/".join(parts), lambda name: SimpleNamespace(tell="names")
    about_it = {"sha256": "s", "state": "done", "level": level, "withheld": (), "max_score": 4.0, "again": False}
    about_it |= {"id": "a", "number": 1, "assignment": ASSIGNMENT, "exercise": exercise, "told": (), "student": "ada"}
    in_time = SimpleNamespace(is_excused=False, said_of=lambda attempt: "")
    monkeypatch.setattr(answers, "deadlines_of", lambda *about: SimpleNamespace(of=lambda name: in_time))
    said = answers.whole(desk, SimpleNamespace(**about_it, arrived=datetime.now(UTC)))
    heading = lesson.of(about).heading(question)
    assert said["blank"] == ([{"id": question, "message": lesson.empty_sentence(heading)}] if tells else [])
    assert said["written"] == ([] if tells or exercise else [heading])
