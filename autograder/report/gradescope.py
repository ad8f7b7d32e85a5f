"""A Verdict in the form that Gradescope reads: the `results.json` of its autograders."""

from __future__ import annotations

from typing import Any

from ..verdict import Outcome, Verdict
from .outcome_text import as_text, points, verdict_as_text

PLAIN = "text"  # shown as it is: what students wrote is quoted, and shall not become markup


def results(verdict: Verdict) -> dict[str, Any]:
    """The content of `results.json`: one test per exercise, and one that only instructors see if they have to act.

    The fields are those of Gradescope's "Autograder Specifications". The score is the sum of the tests' scores.
    """
    tests = [_test(outcome) for outcome in verdict.exercises]
    tests += [_to_be_given(outcome) for outcome in verdict.exercises if outcome.unjudged]
    heading = verdict_as_text(verdict).split("\n")[0].removeprefix(f"{verdict.path}: ")
    return {
        "score": round(verdict.score, 4),
        "output": _output(heading, verdict),
        "output_format": PLAIN,
        "test_output_format": PLAIN,
        "test_name_format": PLAIN,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"assignment": verdict.assignment, "sandbox": verdict.sandbox},
    }


def _output(heading: str, verdict: Verdict) -> str:
    """The heading, and what concerns all exercises alike: that the file could not be read."""
    said = dict.fromkeys(e.message for e in verdict.exercises if e.status == "rejected")
    return "\n".join([heading, *said])


def _test(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.exercise,
        "score": round(outcome.score, 4),
        "max_score": round(outcome.max_score, 4),
        "status": "passed" if outcome.full else "failed",
        "output": "\n".join(as_text(outcome).split("\n")[1:]) or "Nothing was handed in for this.",
        "visibility": "visible",
    }


def _to_be_given(outcome: Outcome) -> dict[str, Any]:
    """A test that counts nothing: the points of checks with a mistake of their own are to be given by hand."""
    return {
        "name": f"{outcome.exercise}: for the instructor",
        "score": 0.0,
        "max_score": 0.0,
        "status": "failed",
        "output": f"A mistake of the checks, by which up to {points(_lost(outcome))} points are lost here. They are to "
        f"be given by hand: {outcome.unjudged}",
        "visibility": "hidden",
    }


def _lost(outcome: Outcome) -> float:
    return round(outcome.max_score - outcome.score, 4)
