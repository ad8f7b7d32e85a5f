"""A Verdict as the `results.json` of two systems that run tests: Gradescope's, and exercism's.

Neither holds anything of the checks but what students read anyway.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..verdict import NOT_TRIED, Check, Outcome, Verdict
from .outcome_text import NOT_STARTED, STATUS, as_text, failures, points, said_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST = 65_535  # characters of a message of exercism's
AS_ABOVE = "Not tried, for the reason given above."
WHOLE = "The whole exercise"  # the name of the one test of an exercise that was not judged check by check


def gradescope(verdict: Verdict, visibility: str = "visible") -> dict[str, Any]:
    """What Gradescope reads, by https://gradescope-autograders.readthedocs.io/en/latest/specs/ ("Output format").

    A test is an exercise. `visibility` is one of visible, hidden, after_due_date and after_published. All text is
    plain, so that what a student wrote is never read as HTML. The scores of the tests sum up to the whole score.
    """
    tests: list[dict[str, Any]] = [
        {
            "name": outcome.exercise,
            "name_format": "text",
            "number": str(number),
            "score": outcome.score,
            "max_score": outcome.max_score,
            "status": "passed" if outcome.full else "failed",
            "output": _output(outcome),
            "output_format": "text",
            "tags": [outcome.exercise],
            "visibility": visibility,
        }
        for number, outcome in enumerate(verdict.exercises, start=1)
    ]
    tests += [_to_be_given(outcome) for outcome in verdict.exercises if outcome.unjudged]
    return {
        "score": round(sum(test["score"] for test in tests), 6),
        "output": _summary(verdict),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "extra_data": {"schema": verdict.schema, "assignment": verdict.assignment, "sandbox": verdict.sandbox},
        "tests": tests,
    }


def _output(outcome: Outcome) -> str:
    """All that a student reads of an exercise, but its name and score, which Gradescope shows above."""
    heading, _, rest = as_text(outcome).partition("\n")
    return re.sub("^  ", "", rest, flags=re.MULTILINE) or heading.rpartition(", ")[2]


def _summary(verdict: Verdict) -> str:
    """What a student reads first: the points, each mistake, with its name if it has one, and the next step."""
    lines = [f"{points(verdict.score)} of {points(verdict.max_score)} points"]
    wrong = [outcome for outcome in verdict.exercises if not outcome.full]
    if wrong and all(outcome.status == "rejected" for outcome in verdict.exercises):
        return "\n\n".join([*lines, wrong[0].message])
    lines += ["", *(f"{outcome.exercise}: {said}" for outcome in wrong for said in _said(outcome))]
    if wrong:
        what = "begin with" if wrong[0].not_started else "fix"
        lines += ["", f"Next step: {what} {wrong[0].exercise}. Its test below says more."]
    return "\n".join(lines).strip()


def _said(outcome: Outcome) -> list[str]:
    """What is wrong with an exercise, in short: its named mistakes, else why it was not graded, or what it fails."""
    if outcome.not_started:
        return [NOT_STARTED]
    failed = [check for check in outcome.checks if not check.passed]
    several = f"{len(failed)} of {len(outcome.checks)} checks failed"
    return _named(outcome) or [outcome.message or (failed[0].message if len(failed) == 1 else several)]


def _to_be_given(outcome: Outcome) -> dict[str, Any]:
    """A test that counts nothing, for instructors: the points of checks that have a bug."""
    lost = points(round(outcome.max_score - outcome.score, 4))
    return {
        "name": f"{outcome.exercise}: for the instructor",
        "name_format": "text",
        "score": 0.0,
        "max_score": 0.0,
        "status": "failed",
        "output": f"A bug in the checks. It may cost up to {lost} points, which you should give by hand:"
        f" {outcome.unjudged}",
        "output_format": "text",
        "tags": [outcome.exercise],
        "visibility": "hidden",
    }


def exercism(verdict: Verdict) -> dict[str, Any]:
    """What exercism reads, version 3 of https://exercism.org/docs/building/tooling/test-runners/interface.

    A task is an exercise. `test_code` is left out: the checks are hidden.
    """
    tests = [
        {
            "name": f"{outcome.exercise}: {name}",
            "status": "pass" if passed else "fail" if outcome.status == "graded" else "error",
            "message": None if passed else text[:LONGEST],
            "task_id": number,
        }
        for number, outcome in enumerate(verdict.exercises, start=1)
        for name, passed, _, _, text in _parts(outcome)
    ]
    if tests and all(test["status"] == "error" for test in tests):
        said = "\n".join(dict.fromkeys(str(test["message"]) for test in tests))
        return {"version": 3, "status": "error", "message": said[:LONGEST], "tests": tests}
    passed = bool(tests) and all(test["status"] == "pass" for test in tests)
    return {"version": 3, "status": "pass" if passed else "fail", "message": None, "tests": tests}


def _parts(outcome: Outcome) -> Iterator[tuple[str, bool, float, float, str]]:
    """(name, whether it passed, score, highest score, text) of each check of an exercise, or of the whole.

    An exercise that could not be judged check by check is one part; so is one whose checks do not sum up to its score.
    """
    checks = outcome.checks
    sums = sum(c.points for c in checks if c.passed), sum(c.points for c in checks)
    if not checks or any(abs(a - b) > 1e-6 for a, b in zip(sums, (outcome.score, outcome.max_score), strict=True)):
        why = NOT_STARTED if outcome.not_started else f"{STATUS[outcome.status]}: {outcome.message}"
        lines = [*_named(outcome), *_what_fails(checks)]
        text = "\n".join([why, *lines]).strip(": \n")
        yield WHOLE, outcome.full, outcome.score, outcome.max_score, text
        return
    first = next((check for check in checks if not check.passed), None)
    said = set[str]()
    for check in checks:
        why = _why(check, said)
        # the named mistake explains most of what failed: it comes where a reader begins
        text = "\n".join([*_named(outcome), why]) if check is first else why
        yield check.sentence or check.name, check.passed, check.points if check.passed else 0.0, check.points, text


def _named(outcome: Outcome) -> list[str]:
    return [f"{said_of(d, outcome)}{f' In your line: {d.line}' if d.line else ''}" for d in outcome.diagnosis]


def _what_fails(checks: Sequence[Check]) -> Iterator[str]:
    """The messages of the checks that fail; a reason that several have stands once, above their sentences."""
    for failure in failures(checks):
        yield from [failure.heading] * bool(failure.heading)
        yield from (check.sentence if failure.heading else check.message for check in failure.checks)


def _why(check: Check, said: set[str]) -> str:
    """Why a check failed; of what was not tried for a reason that was `said` before, no more than that."""
    why = "" if check.passed else check.reason or check.message
    if why.startswith(NOT_TRIED):
        if why in said:
            return AS_ABOVE
        said.add(why)
    return why
