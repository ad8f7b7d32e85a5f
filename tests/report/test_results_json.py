"""Gradescope's results.json: each field as its specification has it, and nothing of a student's that is markup."""

import json

from autograder.report import gradescope
from autograder.verdict import Check, Diagnosis, Outcome, Verdict, rejected

# of the specification: the fields, and the types and values that they may have
TOP = {"score": float, "output": str, "tests": list, "extra_data": dict}
TEXTS = "output_format test_output_format test_name_format visibility stdout_visibility"
TOP |= dict.fromkeys(TEXTS.split(), str)
TEST = {"name": str, "score": float, "max_score": float, "status": str, "output": str, "visibility": str}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}
VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}


def made(*outcomes):
    return json.loads(json.dumps(gradescope.results(Verdict("a/b.ipynb", list(outcomes), 1, sandbox="process"))))


def right():
    return Outcome("softmax", 2.0, 2.0, "graded", [Check("test_a", "shape", 2.0, True, "It has a shape.")])


def wrong():
    checks = [Check("test_b", "values", 3.0, False, "Values are right. <b>8</b>", "<b>8</b>")]
    return Outcome("attention", 0.1 + 0.2, 3.3, "graded", checks, [Diagnosis("no-scale", "Divide.", "q @ k")])


def test_every_field_is_one_of_the_specification():
    results = made(right(), wrong())
    assert results.keys() == TOP.keys() and all(type(results[name]) is TOP[name] for name in TOP)
    assert {results[f"{what}_format"] for what in ("output", "test_output", "test_name")} <= FORMATS
    assert {results["visibility"], results["stdout_visibility"]} <= VISIBILITY
    for test in results["tests"]:
        assert test.keys() == TEST.keys() and all(type(test[name]) is TEST[name] for name in TEST)
        assert test["status"] in ("passed", "failed") and test["visibility"] in VISIBILITY


def test_scores_add_up_and_what_is_wrong_is_told():
    results = made(right(), wrong())
    assert results["score"] == sum(test["score"] for test in results["tests"]) == 2.3
    assert [test["status"] for test in results["tests"]] == ["passed", "failed"]
    assert results["output"] == "2.3 of 5.3 points" and results["extra_data"]["sandbox"] == "process"
    told = results["tests"][1]["output"]
    assert told.index("Divide.") < told.index("q @ k") < told.index("Values are right.")
    assert results["test_output_format"] == "text", "what is quoted must not become markup"


def test_the_instructor_alone_learns_of_a_mistake_of_the_checks():
    outcome = wrong()
    outcome.unjudged = "test_b raised KeyError"
    *visible, told = made(outcome)["tests"]
    assert told["visibility"] == "hidden" and "KeyError" in told["output"] and told["max_score"] == 0.0
    assert "KeyError" not in json.dumps(visible)


def test_what_cannot_be_read_gets_its_sentence():
    class Exercise:
        name, points = "attention", 3.0

    results = gradescope.results(rejected("", [Exercise()], "It is no notebook.", 1))
    assert results["score"] == 0.0 and results["output"].endswith("It is no notebook.")
