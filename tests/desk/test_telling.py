"""What is told at each level, and what is not."""

import pytest

from autograder.desk import telling
from autograder.desk.settings import LEVELS
from autograder.verdict import Check, Diagnosis, Outcome, Verdict

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
    told = {level: telling.told(wrong(), level) for level in LEVELS}
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
    text = telling.limited_verdict(verdict, level).to_json()
    assert (SECRET in text) == (level == "all")
    assert "f1ng3r" not in text and "KeyError" not in text and "123" not in text and "submitted" not in text
    assert ("did not end" in text) == (level in ("place", "names", "all"))
    assert (telling.limited_verdict(verdict, level).exercises == []) == (level == "received")


def test_what_could_not_be_graded_says_why_from_the_place_on():
    assert "did not end within 10 s" not in telling.told(stopped(), "points")["sentence"]
    assert telling.told(stopped(), "names")["sentence"] == (
        "`softmax`: 0 of 2 points, it ran too long: `softmax` was stopped: it did not end within 10 s."
    )


def test_of_an_exercise_that_is_withheld_only_that_it_was_received():
    assert telling.told(wrong(), "all", {"attention"})["sentence"] == "`attention` is received."
    verdict = Verdict("", [wrong(), stopped()], 1, "02")
    kept = telling.limited_verdict(verdict, "all", {"attention"})
    assert [outcome.exercise for outcome in kept.exercises] == ["softmax"]


def test_what_changed_is_told_only_of_what_was_told():
    right = Outcome("attention", 10.0, 10.0, "graded", [Check("test_values", "values", 10.0, True, "right")])

    def changed(level, then=None):
        return telling.changes([telling.told(wrong(), level)], [telling.told(right, then or level)])

    fixed = "; fixed: The mask is read the other way round."
    assert changed("names") == [f"`attention`: 4 → 10 of 10{fixed}"]
    assert changed("points") == ["`attention`: 4 → 10 of 10."]
    assert changed("received") == changed("received", "names") == changed("names", "received") == []
    other = wrong()
    other.diagnosis = [Diagnosis("no-scale", "The scores are not scaled.")]
    said = telling.changes([telling.told(wrong(), "names")], [telling.told(other, "names")])
    assert said == ["`attention`: fixed: The mask is read the other way round; new: The scores are not scaled."]
    assert telling.changes([telling.told(wrong(), "names")], [telling.told(wrong(), "names")]) == []
