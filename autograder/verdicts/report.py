"""The class report: one HTML file for the instructor, made from Verdicts alone.

Everything in it may come from a student (names, messages), so the template escapes all of it; the page holds no script
and loads nothing.
"""

import os
import re
import statistics
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from . import store
from .show import STATUS, code_spans, points

BARS = ("0", "under ¼", "¼ to ½", "½ to ¾", "over ¾", "full")
MARKS = {"full": "✓", "partial": "◐", "zero": "✗", "none": "–"}


def write(root, assignment, verdicts):
    """Write reports/<assignment>.html from the verdicts by student; returns its path."""
    path = Path(root) / "reports" / f"{assignment.name}.html"
    store.write(path, render(assignment, verdicts))
    path.chmod(0o644)
    return path


def render(assignment, verdicts):
    """The report as HTML text."""
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
    verdicts = dict(sorted(verdicts.items()))
    return environment.get_template("report.html.j2").render(
        title=assignment.name,
        headline=headline(verdicts),
        exercises=[exercise_summary(e, verdicts) for e in assignment.exercises],
        names=[e.name for e in assignment.exercises],
        students=[student_row(student, v, assignment) for student, v in verdicts.items()],
        marks=MARKS,
    )


def headline(verdicts):
    """The class in numbers, and what could not be graded."""
    scores = [v.score for v in verdicts.values()]
    reasons = {}
    for student, verdict in verdicts.items():
        for outcome in verdict.exercises:
            if outcome.status != "graded":
                reasons.setdefault(outcome.status, {}).setdefault(student, []).append(outcome.exercise)
    return {
        "students": len(verdicts),
        "mean": statistics.fmean(scores) if scores else 0.0,
        "median": statistics.median(scores) if scores else 0.0,
        "max": max((v.max_score for v in verdicts.values()), default=0.0),
        "full": sum(v.full for v in verdicts.values()),
        "ungraded": len({student for students in reasons.values() for student in students}),
        "reasons": [_reason(status, reasons[status], verdicts) for status in STATUS if status in reasons],
    }


def _reason(status, students, verdicts):
    """Which exercises of whom share a status; of a student with no exercise graded, the name alone."""
    who = [
        {"student": s, "exercises": [] if len(exercises) == len(verdicts[s].exercises) else exercises}
        for s, exercises in students.items()
    ]
    return {"text": STATUS[status], "who": who}


def exercise_summary(exercise, verdicts):
    """One exercise over the whole class: scores, mistakes, checks."""
    outcomes = {student: v.exercise(exercise.name) for student, v in verdicts.items()}
    outcomes = {student: o for student, o in outcomes.items() if o is not None}
    scores = [o.score for o in outcomes.values()]
    return {
        "name": exercise.name,
        "points": exercise.points,
        "mean": statistics.fmean(scores) if scores else 0.0,
        "share": statistics.fmean(scores) / exercise.points if scores and exercise.points else 0.0,
        "graded": sum(o.status == "graded" for o in outcomes.values()),
        "bars": distribution(scores, exercise.points),
        "mistakes": mistakes(outcomes),
        "checks": checks(outcomes.values()),
    }


def distribution(scores, highest):
    """How many scores fall into each of the six bars, and each bar's height as a share of the tallest."""
    counts = [0] * len(BARS)
    for score in scores:
        share = score / highest if highest else 0.0
        counts[0 if share <= 0 else 5 if share >= 1 else 1 + int(share * 4)] += 1
    tallest = max(counts) or 1
    return [{"label": label, "count": n, "height": n / tallest} for label, n in zip(BARS, counts)]


def mistakes(outcomes):
    """The mistakes that were named, the most common first."""
    found = {}
    for student, outcome in outcomes.items():
        for diagnosis in outcome.diagnosis:
            found.setdefault(diagnosis.id, {"says": diagnosis.message, "students": []})["students"].append(student)
    rows = [{"id": id, **row} for id, row in found.items()]
    return sorted(rows, key=lambda row: (-len(row["students"]), row["id"]))


def checks(outcomes):
    """The checks, those that fail most often first."""
    found = {}
    for outcome in outcomes:
        for check in outcome.checks:
            found.setdefault(check.name, []).append(check)
    rows = [
        {
            "sentence": sentence(seen),
            "category": seen[0].category,
            "points": seen[0].points,
            "failed": sum(not c.passed for c in seen),
            "of": len(seen),
            "rate": sum(not c.passed for c in seen) / len(seen),
        }
        for seen in found.values()
    ]
    return sorted(rows, key=lambda row: -row["rate"])


def sentence(checks):
    """What a check asks for: the message of one who passed it, else what all the failing messages share."""
    passed = next((c.message for c in checks if c.passed), None)
    if passed is not None:
        return passed
    messages = [c.message for c in checks]
    shared = os.path.commonprefix(messages)
    if shared in messages:
        return shared
    whole = re.match(r".*[.:?!](?=\s)", shared + " " if shared.endswith(".") else shared, re.DOTALL)
    return whole[0] if whole else shared.strip() + " …"


def student_row(student, verdict, assignment):
    """A student's line in the table."""
    cells = []
    for exercise in assignment.exercises:
        outcome = verdict.exercise(exercise.name)
        if outcome is None:
            cells.append({"level": "none", "score": None, "max": exercise.points, "named": [], "status": "", "why": ""})
            continue
        level = "zero" if outcome.score <= 0 else "full" if outcome.score >= outcome.max_score else "partial"
        named = [d.id for d in outcome.diagnosis]
        status = STATUS[outcome.status]
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
