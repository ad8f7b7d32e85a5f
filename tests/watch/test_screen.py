"""The screens of `autograder watch`, from states alone."""

import re

from autograder.course import Hint
from autograder.verdict import Check, Diagnosis, Outcome, Verdict
from autograder.watch.screen import State, as_text, next_exercise

HINTS = [Hint("Hint 1: where to look", "Look at the **softmax**.\n\n1. one\n2. two\n\n| a | b |\n")]


def outcome(name, score, most=2.0, **more):
    passed = Check("test_shape", "shape", score, True, "It has the right shape.")
    reason = "the largest difference is 0.5"
    failed = Check("test_values", "values", most - score, False, f"The values are right. {reason}", reason)
    return Outcome(name, score, most, "graded", [passed] + [failed] * (score < most), **more)


def state(*outcomes, **more):
    return State("mine.ipynb", Verdict("mine.ipynb", list(outcomes), 1), **more)


def test_what_is_done_what_is_next_and_what_is_wrong():
    wrong = outcome("two", 1.0, diagnosis=[Diagnosis("rows", "The softmax runs over the queries.", "x.softmax(0)")])
    fresh = outcome("three", 0.0, not_started=True)
    text = as_text(state(outcome("one", 2.0), wrong, fresh, next="two", hints=HINTS, more_hints=2, keys=True))
    lines = text.split("\n")
    assert "1 of 3 exercises, 3 of 6 points" in text and f"[{'#' * 10}{'-' * 20}]" in text
    assert [line[2:9] for line in lines if " / 2" in line] == ["✓ one  ", "✗ two  ", "· three"]
    order = [
        "Next: two",
        "What went wrong: The softmax",
        "x.softmax(0)",
        "The values are right.",
        "Hint 1",
        "h: the next",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "    1. one\n    2. two\n\n    | a | b |" in text
    assert "\x1b" not in text and all(len(line) <= 80 for line in lines)


def test_colours_change_nothing_else():
    some = state(outcome("one", 2.0), outcome("two", 1.0), next="two", hints=HINTS)
    painted = as_text(some, colours=True)
    assert painted != as_text(some) == re.sub(r"\x1b\[\d+m", "", painted)


def test_a_mistake_that_is_still_to_be_named():
    wrong = outcome("one", 1.0)
    assert "What went wrong: …" in as_text(state(wrong, next="one", settled=False))
    assert "What went wrong" not in as_text(state(wrong, next="one"))


def test_all_solved():
    text = " ".join(as_text(state(outcome("one", 2.0), by_hand=4)).split())
    assert "All solved" in text and "4 more points are given by hand" in text and "Next" not in text


def test_a_blank_answer_is_told():
    blank = ["Question 4: your answer cell is empty."]
    assert "! Question 4: your answer cell is empty." in as_text(state(outcome("one", 2.0), by_hand=4, blank=blank))
    assert "! Question 4" in as_text(state(outcome("one", 1.0), next="one", blank=blank))


def test_what_ran_too_long_and_what_cannot_be_read_is_told():
    endless = Outcome("one", 0.0, 2.0, "timeout", message="`one` was stopped: it did not end within 10 s.")
    assert "It ran too long: `one` was stopped" in as_text(state(endless, next="one"))
    text = as_text(State("mine.ipynb", problem="It is not a notebook.", keys=True))
    assert "! It is not a notebook." in text and "h:" not in text


def test_what_a_file_is_called_does_not_reach_the_terminal_raw():
    assert "\x1b" not in as_text(State("\x1b[2J.ipynb", problem="x"))


def test_the_next_exercise_is_the_one_at_work_or_else_the_first():
    verdict = state(outcome("one", 1.0), outcome("two", 1.0), outcome("three", 2.0)).verdict
    assert next_exercise(verdict, set(), None) == "one"
    assert next_exercise(verdict, {"two"}, "one") == "two"
    assert next_exercise(verdict, {"three"}, "two") == "two"
    assert next_exercise(verdict, set(), "three") == "one"
    assert next_exercise(state(outcome("one", 2.0)).verdict, {"one"}, "one") is None
