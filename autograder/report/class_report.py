"""The class report: one HTML file for the instructor, made from Verdicts alone.

Everything in it may come from a student (names, messages), so the template escapes everything; the page contains no
script and loads nothing.
"""

import os
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .. import course
from ..grading import store
from ..submission.read import StrPath
from ..verdict import FULL, LEVELS, Check, Outcome, Verdict
from .outcome_text import NOT_STARTED, STATUS, code_spans, points

BARS = ("0", "under ¼", "¼ to ½", "½ to ¾", "over ¾", "full")
NAMED = 100  # the most students that a list names; the table has them all
MARKS = {"full": "✓", "partial": "◐", "zero": "✗", "none": "–"}


def write(root: StrPath, assignment: course.Assignment, verdicts: Iterable[tuple[str, Verdict]]) -> Path:
    """Write reports/<assignment>.html from pairs of a student and a verdict, in order; returns its path."""
    path = Path(root) / "reports" / f"{assignment.name}.html"
    store.write(path, render(assignment, verdicts))
    path.chmod(0o644)
    return path


def render(assignment: course.Assignment, verdicts: Iterable[tuple[str, Verdict]]) -> str:
    """The report as HTML text. Of each verdict, only what the page shows is kept in memory."""
    headline = Headline()
    exercises = [ExerciseTally(exercise) for exercise in assignment.exercises]
    students = []
    for student, verdict in verdicts:
        headline.add(student, verdict)
        students.append(student_row(student, verdict, assignment))
        for tally in exercises:
            tally.add(student, verdict.exercise(tally.name))
    return (
        _environment()
        .get_template("class_report.html.j2")
        .render(
            title=assignment.name,
            headline=headline.summary(),
            exercises=[tally.summary() for tally in exercises],
            names=[e.name for e in assignment.exercises],
            students=students,
            marks=MARKS,
            named=NAMED,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code_spans"] = lambda text: Markup(code_spans(text))
    environment.filters["points"] = lambda value: points(round(value, 2))
    environment.filters["percent"] = lambda value: f"{value:.0%}"
    return environment


class Headline:
    """The class in numbers, and what could not be graded."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.max, self.full, self.ungraded = 0.0, 0, 0
        self.levels: Counter[str] = Counter()  # verdicts by the level of the sandbox that made them
        # by status, the students concerned and their exercises; no exercises are listed if it was all of them
        self.reasons: dict[str, list[dict[str, Any]]] = {}

    def add(self, student: str, verdict: Verdict) -> None:
        self.scores.append(verdict.score)
        self.max = max(self.max, verdict.max_score)
        self.full += verdict.full
        self.levels[verdict.sandbox] += 1
        without: dict[str, list[str]] = {}
        for outcome in verdict.exercises:
            if outcome.status != "graded":
                without.setdefault(outcome.status, []).append(outcome.exercise)
        self.ungraded += bool(without)
        for status, names in without.items():
            names = [] if len(names) == len(verdict.exercises) else names
            self.reasons.setdefault(status, []).append({"student": student, "exercises": names})

    def summary(self) -> dict[str, Any]:
        return {
            "students": len(self.scores),
            "mean": statistics.fmean(self.scores) if self.scores else 0.0,
            "median": statistics.median(self.scores) if self.scores else 0.0,
            "max": self.max,
            "full": self.full,
            "levels": [(level, self.levels[level]) for level in LEVELS if level != FULL and self.levels[level]],
            "ungraded": self.ungraded,
            "reasons": [{"text": STATUS[s], "who": self.reasons[s]} for s in STATUS if s in self.reasons],
        }


class ExerciseTally:
    """One exercise over the whole class: scores, mistakes, checks."""

    def __init__(self, exercise: course.Exercise) -> None:
        self.name, self.points = exercise.name, exercise.points
        self.scores: list[float] = []
        self.graded = 0
        self.mistakes: dict[str, dict[str, Any]] = {}
        self.checks: dict[str, CheckTally] = {}

    def add(self, student: str, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        self.scores.append(outcome.score)
        self.graded += outcome.status == "graded"
        for d in [] if outcome.not_started else outcome.diagnosis:
            found = self.mistakes.setdefault(d.id, {"id": d.id, "says": d.message, "students": []})
            found["students"].append(student)
        for check in outcome.checks:
            self.checks.setdefault(check.name, CheckTally(check)).add(check)

    def summary(self) -> dict[str, Any]:
        mean = statistics.fmean(self.scores) if self.scores else 0.0
        return {
            "name": self.name,
            "points": self.points,
            "mean": mean,
            "share": mean / self.points if self.points else 0.0,
            "graded": self.graded,
            "bars": distribution(self.scores, self.points),
            # most common mistakes first; checks that fail most often first
            "mistakes": sorted(self.mistakes.values(), key=lambda m: (-len(m["students"]), m["id"])),
            "checks": sorted((c.summary() for c in self.checks.values()), key=lambda c: -c["rate"]),
        }


class CheckTally:
    """One check over the whole class."""

    def __init__(self, first: Check) -> None:
        self.category, self.points = first.category, first.points
        self.failed = self.of = 0
        self.passed: str | None = None  # the message of a student who passed it
        self.shared = self.shortest = first.message

    def add(self, check: Check) -> None:
        self.of += 1
        if check.passed:
            self.passed = check.message
            return
        self.failed += 1
        self.shared = os.path.commonprefix([self.shared, check.message])
        self.shortest = min(self.shortest, check.message, key=len)

    def summary(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "category": self.category,
            "points": self.points,
            "failed": self.failed,
            "of": self.of,
            "rate": self.failed / self.of,
        }

    def sentence(self) -> str:
        """What the check asks for: the message of a student who passed it, else what all failing messages share."""
        if self.passed is not None:
            return self.passed
        if self.shared == self.shortest:
            return self.shared
        text = self.shared + " " if self.shared.endswith(".") else self.shared
        whole = re.match(r".*[.:?!](?=\s)", text, re.DOTALL)
        return whole[0] if whole else self.shared.strip() + " …"


def distribution(scores: Iterable[float], highest: float) -> list[dict[str, Any]]:
    """How many scores fall into each of the six bars, and each bar's height as a share of the tallest."""
    counts = [0] * len(BARS)
    for score in scores:
        share = score / highest if highest else 0.0
        counts[0 if share <= 0 else 5 if share >= 1 else 1 + int(share * 4)] += 1
    tallest = max(counts) or 1
    return [{"label": label, "count": n, "height": n / tallest} for label, n in zip(BARS, counts, strict=True)]


def student_row(student: str, verdict: Verdict, assignment: course.Assignment) -> dict[str, Any]:
    """A student's row in the table."""
    cells = []
    for exercise in assignment.exercises:
        outcome = verdict.exercise(exercise.name)
        if outcome is None:
            cells.append({"level": "none", "score": None, "max": exercise.points, "named": [], "status": "", "why": ""})
            continue
        level = "zero" if outcome.score <= 0 else "full" if outcome.score >= outcome.max_score else "partial"
        named = [] if outcome.not_started else [d.id for d in outcome.diagnosis]
        status = NOT_STARTED if outcome.not_started else STATUS[outcome.status]
        cells.append(
            {
                "level": level,
                "score": outcome.score,
                "max": outcome.max_score,
                "named": named,
                "status": status,
                "why": outcome.message,
            }
        )
    folder = quote(student, safe="", errors="surrogateescape")
    page = quote(assignment.name, safe="", errors="surrogateescape")
    return {
        "name": student,
        "link": f"../feedback/{folder}/{page}/{page}.html",
        "cells": cells,
        "score": verdict.score,
        "max": verdict.max_score,
        "full": verdict.full,
    }
