"""The class report: one HTML file for the instructor, made from Verdicts and from what the gradebook holds.

Everything in it may come from a student (names, messages, code), so the template escapes everything; the page contains
no script and loads nothing.
"""

import functools
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Template
from markupsafe import Markup

from .. import course
from ..grading import store
from ..groups.grouping import Group, Grouping
from ..groups.names import is_unnamed
from ..submission.read import StrPath
from ..verdict import FULL, LEVELS, Check, Outcome, Verdict
from . import gradebook_marks, measured, outcome_text
from .gradebook_marks import Mark, Member, Roster
from .outcome_text import NOT_STARTED, STATUS, points
from .pages import environment

BARS = ("0", "under ¼", "¼ to ½", "½ to ¾", "over ¾", "full")
TENTHS = 10  # bars of the whole assignment
NAMED = 100  # the most students that a list names; the table has them all
TAUGHT = 5  # mistakes that are not folded
SHOWN = 12  # groups of wrong answers without a name that are shown with their code
ENOUGH = 30  # students that a correlation needs to mean something
MARKS = {"full": "✓", "partial": "◐", "zero": "✗", "none": "–"}

Examples = Callable[[Group], Sequence[tuple[str, str]]]  # (student, code) of some answers of a group


def write(
    root: StrPath,
    assignment: course.Assignment,
    verdicts: Iterable[tuple[str, Verdict]],
    roster: Roster | None = None,
    examples: Examples = lambda group: (),
) -> Path:
    """Write reports/<assignment>.html from pairs of a student and a verdict; returns its path.

    The picture of an exercise of which something is measured is also in a file of its own, to be shown to the class.
    """
    path = Path(root) / "reports" / f"{assignment.name}.html"
    page, pictures = _made(assignment, verdicts, roster, examples)
    texts = {path: page} | {path.with_name(f"{assignment.name}-{name}.svg"): svg for name, svg in pictures.items()}
    for place, text in texts.items():
        store.write(place, text)
        place.chmod(0o644)
    return path


def render(
    assignment: course.Assignment,
    verdicts: Iterable[tuple[str, Verdict]],
    roster: Roster | None = None,
    examples: Examples = lambda group: (),
) -> str:
    """The report as HTML text. Without a `roster`, it is made as if nobody had graded anything by hand."""
    return _made(assignment, verdicts, roster, examples)[0]


def _made(
    assignment: course.Assignment, verdicts: Iterable[tuple[str, Verdict]], roster: Roster | None, examples: Examples
) -> tuple[str, dict[str, Markup]]:
    """(the report, the pictures by exercise)."""
    if roster is None:
        verdicts = list(verdicts)
        roster = gradebook_marks.of_verdicts(assignment, verdicts)
    headline, mistakes, groups = Headline(roster), Mistakes(), Grouping()
    exercises = [ExerciseTally(exercise) for exercise in assignment.exercises]
    people = {one.student: Person(number, one) for number, one in enumerate(roster.members, 1)}
    latest: dict[str, Verdict] = {}  # without checks: those of a large class do not fit into memory
    for student, verdict in verdicts:
        person = people.get(student)
        if person is None or not person.member.standing:
            continue  # taken out of the gradebook
        latest[student] = replace(verdict, exercises=[replace(outcome, checks=[]) for outcome in verdict.exercises])
        headline.add(person, verdict)
        groups.add(student, verdict)
        mistakes.add(person, verdict)
        for tally in exercises:
            tally.add(person, verdict.exercise(tally.name), verdict.score)
    nameless = [Nameless(group, people, examples(group) if n < SHOWN else ()) for n, group in enumerate(groups.all())]
    graded = list(latest.items())
    names = measured.pseudonyms(graded)
    dots = {e.name: measured.dots(e.name, graded, names) for e in assignment.exercises}
    pictures = {name: measured.picture(name, found) for name, found in dots.items() if found}
    in_group = {(s, one.group.exercise): one for one in nameless for s in one.group.students}
    rows = [
        student_row(p, latest.get(p.member.student), assignment, roster, mistakes, in_group, names)
        for p in people.values()
    ]
    page = _template().render(
        title=assignment.name,
        headline=headline.summary(),
        teach=teach(mistakes, nameless),
        taught=TAUGHT,
        exercises=[tally.summary(mistakes) | {"picture": pictures.get(tally.name)} for tally in exercises],
        names=[e.name for e in assignment.exercises],
        by_hand=roster.by_hand,
        nameless=nameless[:SHOWN],
        more_nameless=len(nameless[SHOWN:]),
        students=rows,
        marks=MARKS,
        named=NAMED,
        enough=ENOUGH,
    )
    return page, pictures


@functools.lru_cache(maxsize=1)
def _template() -> Template:
    return environment().get_template("class_report.html.j2")


@dataclass(frozen=True)
class Person:
    """A student on this page: `anchor` is the id of the row in the table."""

    number: int
    member: Member

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def anchor(self) -> str:
        return f"student-{self.number}"


# --- the class ------------------------------------------------------------------------------------


class Headline:
    """The class in numbers: scores, who has not handed in, what waits for a person, and what was stopped."""

    def __init__(self, roster: Roster) -> None:
        self.roster = roster
        self.full = 0
        self.levels: Counter[str] = Counter()  # verdicts by the level of the sandbox that made them
        # by status, the students concerned and their exercises; no exercises are listed if it was all of them
        self.reasons: dict[str, list[dict[str, Any]]] = {}

    def add(self, person: Person, verdict: Verdict) -> None:
        self.full += verdict.full
        self.levels[verdict.sandbox] += 1
        without: dict[str, list[str]] = {}
        for outcome in verdict.exercises:
            if outcome.status != "graded":
                without.setdefault(outcome.status, []).append(outcome.exercise)
        for status, names in without.items():
            names = [] if len(names) == len(verdict.exercises) else names
            self.reasons.setdefault(status, []).append({"person": person, "exercises": names})

    def summary(self) -> dict[str, Any]:
        handed_in = self.roster.handed_in
        scores = [one.score for one in handed_in]
        waiting = Counter(cell for one in handed_in for cell in one.waiting)
        return {
            "students": len(scores),
            "of": len(self.roster.members),
            "mean": statistics.fmean(scores) if scores else 0.0,
            "median": statistics.median(scores) if scores else 0.0,
            "max": self.roster.max_score,
            "full": self.full,
            "levels": [(level, self.levels[level]) for level in LEVELS if level != FULL and self.levels[level]],
            "bars": tenths(scores, self.roster.max_score),
            "missing": self.roster.missing,
            "excused": self.roster.excused,
            "waiting": sorted(waiting.items(), key=lambda one: (-one[1], one[0])),
            "waits": sum(waiting.values()),
            "late": [(one, gradebook_marks.duration(one.late)) for one in handed_in if one.late],
            "reasons": [{"text": STATUS[s], "who": self.reasons[s]} for s in STATUS if s in self.reasons],
        }


def tenths(scores: Sequence[float], highest: float) -> list[dict[str, Any]]:
    """How many scores fall into each tenth of the points, and each bar's height as a share of the tallest."""
    counts = [0] * TENTHS
    for score in scores:
        share = score / highest if highest else 0.0
        counts[min(TENTHS - 1, max(0, int(share * TENTHS + 1e-9)))] += 1
    tallest = max(counts) or 1
    edges = [points(round(highest * n / TENTHS, 1)) for n in range(TENTHS + 1)]
    return [
        {"label": f"{edges[n]} to {edges[n + 1]}", "short": edges[n], "count": many, "height": many / tallest}
        for n, many in enumerate(counts)
    ]


# --- what to teach --------------------------------------------------------------------------------


@dataclass
class MistakeSummary:
    """A named mistake over all exercises: who made it, and in which exercises how many did."""

    id: str
    anchor: str
    says: str
    people: dict[str, Person] = field(default_factory=dict)
    exercises: Counter[str] = field(default_factory=Counter)

    @property
    def many(self) -> int:
        return len(self.people)


class Mistakes:
    """The named mistakes of a class by id, over all exercises."""

    def __init__(self) -> None:
        self.by_id: dict[str, MistakeSummary] = {}

    def add(self, person: Person, verdict: Verdict) -> None:
        for outcome in verdict.exercises:
            for d in named_in(outcome):
                found = self.by_id.setdefault(d.id, MistakeSummary(d.id, f"mistake-{len(self.by_id) + 1}", d.message))
                found.people[person.member.student] = person
                found.exercises[outcome.exercise] += 1

    def of(self, exercise: str) -> list[MistakeSummary]:
        """The mistakes made in an exercise, the most common ones first."""
        found = [one for one in self.by_id.values() if one.exercises[exercise]]
        return sorted(found, key=lambda one: (-one.exercises[exercise], one.id))


def named_in(outcome: Outcome) -> list[Any]:
    """The mistakes that were named in an outcome. Code as it was released is not one, nor is a mere place.

    Nor are facts, which say something else to each student.
    """
    if outcome.not_started:
        return []
    return [d for d in outcome.diagnosis if d.is_name and not d.base]


@dataclass(frozen=True)
class Nameless:
    """A group of equal wrong answers on this page, with the code of some."""

    group: Group
    people_by_id: dict[str, Person]
    examples: Sequence[tuple[str, str]]

    @property
    def anchor(self) -> str:
        return f"group-{self.group.id}"

    @property
    def many(self) -> int:
        return len(self.group.members)

    @property
    def people(self) -> list[Person]:
        return [self.people_by_id[student] for student in self.group.students]


def teach(mistakes: Mistakes, nameless: Iterable[Nameless]) -> list[dict[str, Any]]:
    """What to teach, the most frequent first: named mistakes, and groups of at least two answers without a name."""
    found: list[dict[str, Any]] = [
        {
            "anchor": one.anchor,
            "id": one.id,
            "says": one.says,
            "many": one.many,
            "people": list(one.people.values()),
            "exercises": one.exercises.most_common(),
            "group": "",
        }
        for one in mistakes.by_id.values()
    ]
    found += [
        {
            "anchor": f"mistake-{one.anchor}",
            "id": one.group.id,
            "says": f"They are wrong in the same way, which has no name yet. {one.group.place}".strip(),
            "many": one.many,
            "people": one.people,
            "exercises": [(one.group.exercise, one.many)],
            "group": one.anchor,
        }
        for one in nameless
        if one.many > 1 and one.examples
    ]
    most = max((one["many"] for one in found), default=1)
    for one in found:
        one["share"] = one["many"] / most
    return sorted(found, key=lambda one: (-one["many"], one["id"]))


# --- exercises ------------------------------------------------------------------------------------


class ExerciseTally:
    """One exercise over the whole class: scores and checks."""

    def __init__(self, exercise: course.Exercise) -> None:
        self.name, self.points, self.cell = exercise.name, exercise.points, exercise.grade_id
        self.scores: list[float] = []
        self.graded = 0
        self.checks: dict[str, CheckTally] = {}
        self.waived: dict[str, float] = {}  # points that everybody has, by the names of checks together

    def add(self, person: Person, outcome: Outcome | None, total: float) -> None:
        """Take a student's outcome into account; `total` is the score of all the student's exercises."""
        if outcome is None:
            return
        mark = person.member.mark(self.cell)
        self.scores.append(mark.score if mark else outcome.score)
        self.graded += outcome.status == "graded"
        if outcome.waived:
            self.waived[", ".join(outcome.waived)] = outcome.given
        for check in outcome.checks:
            self.checks.setdefault(check.name, CheckTally(check)).add(check, total)

    def summary(self, mistakes: Mistakes) -> dict[str, Any]:
        mean = statistics.fmean(self.scores) if self.scores else 0.0
        # checks that fail most often first
        checks = sorted((c.summary() for c in self.checks.values()), key=lambda c: -c["rate"])
        waived = {name for names in self.waived for name in names.split(", ")}
        return {
            "name": self.name,
            "points": self.points,
            "mean": mean,
            "share": mean / self.points if self.points else 0.0,
            "graded": self.graded,
            "bars": distribution(self.scores, self.points),
            "mistakes": [(one, one.exercises[self.name]) for one in mistakes.of(self.name)],
            "waived": self.waived,
            "failing": [check for check in checks if check["failed"]],
            "passing": [check for check in checks if not check["failed"] and check["name"] not in waived],
            "telling": sorted((c for c in checks if c["telling"] is not None), key=lambda c: c["telling"]),
        }


class CheckTally:
    """One check over the whole class."""

    def __init__(self, first: Check) -> None:
        self.name, self.category, self.points = first.name, first.category, first.points
        self.failed = self.of = 0
        self.passed: str | None = None  # the sentence of the check, from a student who passed it
        self.shared = self.shortest = first.message
        self.items: list[float] = []  # whether each student passed it
        self.rests: list[float] = []  # the student's other points

    def add(self, check: Check, total: float) -> None:
        """Take a student's result into account; `total` is the score of all the student's exercises."""
        self.of += 1
        self.items.append(float(check.passed))
        self.rests.append(total - check.points * check.passed)
        if check.passed:
            self.passed = check.message
            return
        self.failed += 1
        self.shared = os.path.commonprefix([self.shared, check.message])
        self.shortest = min(self.shortest, check.message, key=len)

    def summary(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "sentence": self.sentence(),
            "category": self.category,
            "points": self.points,
            "failed": self.failed,
            "of": self.of,
            "rate": self.failed / self.of,
            "telling": self.telling(),
        }

    def telling(self) -> float | None:
        """The correlation of passing it with the student's other points; None if too few tried, or all did the same."""
        if self.of < ENOUGH or not self.failed or self.failed == self.of or len(set(self.rests)) == 1:
            return None
        return statistics.correlation(self.items, self.rests)

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
        counts[bar_of(score, highest)] += 1
    tallest = max(counts) or 1
    return [{"label": label, "count": n, "height": n / tallest} for label, n in zip(BARS, counts, strict=True)]


def bar_of(score: float, highest: float) -> int:
    """The place among BARS of a score."""
    share = score / highest if highest else 0.0
    return 0 if share <= 0 else len(BARS) - 1 if share >= 1 else 1 + int(share * 4)


# --- students -------------------------------------------------------------------------------------


def student_row(
    person: Person,
    verdict: Verdict | None,
    assignment: course.Assignment,
    roster: Roster,
    mistakes: Mistakes,
    in_group: dict[tuple[str, str], Nameless],
    pseudonyms: dict[str, str],
) -> dict[str, Any]:
    """A student's row in the table."""
    one = person.member
    folder = quote(one.student, safe="", errors="surrogateescape")
    page = quote(assignment.name, safe="", errors="surrogateescape")
    cells = []
    for exercise in assignment.exercises:
        outcome = verdict.exercise(exercise.name) if verdict else None
        group = in_group.get((one.student, exercise.name))
        cells.append(exercise_cell(outcome, one.mark(exercise.grade_id), mistakes, group))
        if outcome and outcome.measured:
            cells[-1]["notes"].append(f"{pseudonyms[one.student]}: {outcome_text.measured(outcome)}")
    return {
        "person": person,
        "handed_in": one.standing is not None,
        "link": f"../feedback/{folder}/{page}/{page}.html",
        "cells": cells,
        "by_hand": [hand_cell(one.mark(cell)) for cell in roster.by_hand],
        "total": one.standing.total() if one.standing else f"0 / {points(roster.max_score)}",
        "late": gradebook_marks.duration(one.late) if one.late else "",
        "late_days": one.standing.late_days if one.standing else 0,
        "penalty": one.penalty,
    }


def exercise_cell(
    outcome: Outcome | None, mark: Mark | None, mistakes: Mistakes, group: Nameless | None
) -> dict[str, Any]:
    """A student's cell for an exercise: the gradebook's score, the mistakes named, and why there is no grade."""
    notes, most = hand_notes(mark), mark.max_score if mark else None
    if outcome is None:
        score = mark.score if mark and not mark.waits else None
        return {"level": level(score, most), "score": score, "named": [], "group": "", "notes": notes, "why": ""}
    score = mark.score if mark else outcome.score
    status = NOT_STARTED if outcome.not_started else STATUS[outcome.status]
    worth = mark.max_score if mark else outcome.max_score
    return {
        "level": level(score, worth),
        "score": score,
        "named": [(d.id, mistakes.by_id[d.id].anchor) for d in named_in(outcome)],
        "group": group.anchor if group and group.many > 1 and group.examples and is_unnamed(outcome) else "",
        "notes": [*([status] if status else []), *notes],
        "why": outcome.message,
        "max": worth,
    }


def hand_cell(mark: Mark | None) -> dict[str, Any]:
    """A student's cell for what is graded by hand."""
    score = mark.score if mark and not mark.waits else None
    notes, most = hand_notes(mark), mark.max_score if mark else None
    if mark and not mark.waits and mark.by_hand is None and not mark.score:
        notes.insert(0, "no answer")
    return {"level": level(score, most), "score": score, "waits": bool(mark and mark.waits), "notes": notes}


def hand_notes(mark: Mark | None) -> list[str]:
    """What a person did to a mark."""
    if mark is None:
        return []
    changed = [f"by hand, from {points(mark.auto or 0.0)}"] if mark.changed_by_hand else []
    return [*changed, *([f"{points(mark.extra)} of it extra"] if mark.extra else [])]


def level(score: float | None, most: float | None) -> str:
    """How good a score is: "full", "partial", "zero", or "none" if there is none."""
    if score is None or most is None:
        return "none"
    return "zero" if score <= 0 else "full" if score >= most else "partial"
