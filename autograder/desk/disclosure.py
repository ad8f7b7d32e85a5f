"""Decides what a student may see of a verdict, at the level that the course sets. Pages and answers show only this."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from .. import course
from ..report.feedback_page import category_name
from ..report.outcome_text import NOT_STARTED, STATUS, points, said_of, waived
from ..verdict import CATEGORIES, NO_NAMES, Diagnosis, Outcome, Verdict
from .settings import ALL, NAMES, PLACE, POINTS, may_tell

# Facts that quote what code chose while it was checked, names and numbers: it could choose what it saw of the inputs.
# Before all is told, they say this.
GENERAL = {
    "fact-shape-of-a-parameter": "A parameter has another shape than it should: look at where it is made.",
    "fact-biases": "There are biases where there should be none.",
    "fact-weights-at-first": "In a new module, the numbers in a parameter are not what they should be.",
}
LONG = re.compile(r"\d[\d.]{3,}\d")  # numbers that are no honest size
IN_THE_CHECK = re.compile(r", in the check “.*”(?=\.$)", re.DOTALL)  # what a stopped exercise was asked


class Name(TypedDict):
    """A named mistake, as it is told: `line` is the student's own, or ""."""

    id: str
    message: str
    line: str


class Told(TypedDict):
    """What is told of an exercise; what the level does not allow is None or empty.

    `sentence` says all of it in one sentence, for below a cell; `page` is the place on the attempt's page.
    """

    exercise: str
    max_score: float
    score: float | None
    status: str | None
    place: str | None
    names: list[Name]
    sentence: str
    page: str


def limited(outcome: Outcome, level: str, withheld: Collection[str] = ()) -> Outcome | None:
    """The outcome without what may not be told at a level; None if nothing may be told but that it was received."""
    if not may_tell(level, POINTS) or outcome.exercise in withheld:
        return None
    outcome = replace(outcome, fingerprint="", unjudged="", as_graded={})
    if may_tell(level, ALL):
        return outcome
    diagnosis = list(map(_unquoted, outcome.diagnosis)) if may_tell(level, NAMES) else []
    message = _message(outcome, level)
    if may_tell(level, PLACE) and not message and not diagnosis:
        message = place_of(outcome)
    kept = {"diagnosis": diagnosis, "message": message}
    # code could choose what is measured of it by what it saw of the inputs
    return replace(outcome, checks=[], skipped=[], measured={}, waived=[], **kept)


def _message(outcome: Outcome, level: str) -> str:
    """What an exercise's message tells at a level; a hidden check is named only where all is told."""
    if may_tell(level, ALL):
        return outcome.message
    return IN_THE_CHECK.sub("", outcome.message) if may_tell(level, PLACE) else ""


def _unquoted(found: Diagnosis) -> Diagnosis:
    """What was found, without what the code could choose freely while it saw the inputs of checks."""
    if found.is_name:
        return found
    return replace(found, message=GENERAL.get(found.id) or LONG.sub("…", found.message))


def limited_verdict(verdict: Verdict, level: str, withheld: Collection[str] = ()) -> Verdict:
    """The verdict with what may be told of each exercise; without those of which nothing is."""
    kept = [limited(outcome, level, withheld) for outcome in verdict.exercises]
    return replace(verdict, path="", seed=0, exercises=[outcome for outcome in kept if outcome is not None])


def place_of(outcome: Outcome) -> str:
    """Which kinds of checks fail, as a sentence; "" if none does."""
    failed = {check.category for check in outcome.checks if not check.passed}
    kinds = [category_name(kind) for kind in (*CATEGORIES, *sorted(failed - set(CATEGORIES))) if kind in failed]
    if not kinds:
        return ""
    listed = ", ".join(kinds[:-1]) + f" and {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    return f"Checks of {listed} fail."


def told(outcome: Outcome, level: str, withheld: Collection[str] = ()) -> Told:
    """What is told of an exercise's outcome."""
    known = limited(outcome, level, withheld)
    answer: Told = {
        "exercise": outcome.exercise,
        "max_score": outcome.max_score,
        "score": None,
        "status": None,
        "place": None,
        "names": [],
        "sentence": f"`{outcome.exercise}` is received.",
        "page": anchor_of(outcome.exercise),
    }
    if known is None:
        return answer
    answer["score"] = known.score
    answer["status"] = known.status
    if may_tell(level, PLACE):
        answer["place"] = _message(outcome, level) or place_of(outcome) or None
    answer["names"] = [{"id": d.id, "message": said_of(d, known), "line": d.line} for d in known.diagnosis]
    answer["sentence"] = _sentence(known, answer)
    return answer


def _sentence(outcome: Outcome, answer: Told) -> str:
    score = f"`{outcome.exercise}`: {points(round(outcome.score, 2))} of {points(outcome.max_score)} points"
    if outcome.given:
        score += f" ({waived(outcome)})"
    if outcome.not_started:
        return f"{score}, {NOT_STARTED}."
    if outcome.full:
        return f"{score}."
    if answer["names"]:
        first, *more = answer["names"]
        others = f" (and {len(more)} more on the page)" if more else ""
        return f"{score}. {first['message']}{others}"
    if outcome.status != "graded":
        why = f": {answer['place']}" if answer["place"] else "."
        return f"{score}, it {STATUS[outcome.status]}{why}"
    return f"{score}. {answer['place']}" if answer["place"] else f"{score}."


def anchor_of(exercise: str) -> str:
    """The place of an exercise on the page of an attempt, as report/feedback_page.py numbers them."""
    found = course.exercises().get(exercise)
    cells = course.assignments()[found.assignment].cells if found else ()
    graded = [cell.grade_id for cell in cells if cell.grade]
    return f"#part-{graded.index(found.grade_id) + 1}" if found and found.grade_id in graded else ""


def changes(before: Sequence[Told], after: Sequence[Told]) -> list[str]:
    """What changed between two attempts, as sentences made only of what was told of both."""
    earlier = {one["exercise"]: one for one in before}
    said = (_change(earlier[one["exercise"]], one) for one in after if one["exercise"] in earlier)
    return [sentence for sentence in said if sentence]


def _change(before: Told, after: Told) -> str:
    parts = []
    if before["score"] is not None and after["score"] is not None and before["score"] != after["score"]:
        was, now = (points(round(score, 2)) for score in (before["score"], after["score"]))
        parts.append(f"{was} → {now} of {points(after['max_score'])}")
    was_named, is_named = ({name["id"]: name["message"] for name in one["names"]} for one in (before, after))
    for what, names, others in (("fixed", was_named, is_named), ("new", is_named, was_named)):
        told_of = [message for id, message in names.items() if id not in others and not id.startswith(NO_NAMES)]
        parts += [f"{what}: {message.removesuffix('.')}" for message in told_of]
    if parts and (after["score"] is None or before["score"] is None):
        return ""
    return f"`{after['exercise']}`: {'; '.join(parts)}." if parts else ""


def total(all_told: Sequence[dict[str, Any]]) -> float | None:
    """The points of all exercises that were told; None if none were."""
    scores = [one["score"] for one in all_told if one["score"] is not None]
    return sum(scores) if scores else None
