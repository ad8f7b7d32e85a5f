"""A graded class as text for terminals: its table, and the summary of the batch that graded it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from .. import course
from ..verdict import FULL, Diagnosis, Outcome, Verdict
from .gradebook_marks import Mark, Standing
from .outcome_text import NOT_STARTED, STATUS, name_of, points

MOST_ROWS = 100  # rows of the table on a terminal, at most


class ClassTable:
    """A table of students x exercises as text: each score, and the mistakes named or why there is no grade.

    Only a class of up to MOST_ROWS students fits a terminal; for a larger one, the text says where to look.
    """

    def __init__(self, assignment: course.Assignment) -> None:
        self.number = assignment.name.split("_")[0]
        self.names = [e.name for e in assignment.exercises]
        self.has_more = assignment.points_by_hand > 0
        self.verdicts: dict[str, Verdict] = {}
        self.total = 0

    def add(self, student: str, verdict: Verdict) -> None:
        self.total += 1
        if self.total <= MOST_ROWS:
            self.verdicts[student] = verdict

    def text(self, standings: Mapping[str, Standing] | None = None) -> str:
        """The table; `standings` has what the gradebook holds, such as points given by hand, where it is known.

        Without it, totals are what the checks give alone.
        """
        if self.total > MOST_ROWS:
            return f"{self.total} submissions; `autograder report {self.number}` shows them all."
        known = standings or {}
        rows = [self._row(student, verdict, known.get(student)) for student, verdict in self.verdicts.items()]
        return _aligned([["student", *self.names, "total"], *sorted(rows)])

    def _row(self, student: str, verdict: Verdict, standing: Standing | None) -> list[str]:
        marks = {name: standing.of_exercise(name) if standing else None for name in self.names}
        score, most = points(verdict.score), points(verdict.max_score)
        total = f"{score} of {most} by checks" if self.has_more else f"{score} / {most}"
        if standing:
            excused = "excused" if standing.is_excused else ""
            total = ", ".join(filter(None, [standing.total(), standing.late_sentence(), excused]))
        return [name_of(student), *(_cell(verdict.exercise(name), marks[name]) for name in self.names), total]


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts, of which the first is the heading, as lines with aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cell(outcome: Outcome | None, mark: Mark | None = None) -> str:
    if outcome is None:
        return "-"
    score = mark.score if mark else outcome.score
    text = f"{points(score)}/{points(outcome.max_score)}"
    by_hand = ["by hand"] * bool(mark and mark.changed_by_hand) + ["with extra"] * bool(mark and mark.extra)
    found = list(dict.fromkeys(_word_for(one) for one in outcome.diagnosis if not outcome.not_started))
    named = ", ".join([*by_hand, *[NOT_STARTED] * outcome.not_started, *found])
    return f"{text} {named or STATUS[outcome.status]}".rstrip()


def _word_for(found: Diagnosis) -> str:
    """A diagnosis in a word or two: ids that are not of a bank mean nothing to a reader."""
    if found.base:
        return f"because of {found.base}"
    return found.id if found.is_name else "without a name"


class Batch(Protocol):
    """What the summary reads of a batch; `batch.run.Batch` documents each attribute."""

    graded: int
    known: list[tuple[str, str]]
    unreadable: dict[str, str]
    statuses: Counter[str]
    sandbox: str
    slowest: list[tuple[float, str, str, float]]


def batch_summary(batch: Batch) -> str:
    """The summary of a batch, in a few lines: how many were graded or known, what failed, what took longest."""
    lines = [
        f"{batch.graded} graded, {len(batch.known)} unchanged since an earlier run, {len(batch.unreadable)} unreadable."
    ]
    failed = [f"{STATUS[status]} ({count})" for status, count in sorted(batch.statuses.items()) if status != "rejected"]
    if failed:
        lines.append(f"Submissions with an exercise that has no grade: {', '.join(failed)}.")
    if batch.sandbox != FULL:
        lines.append(f"Graded with --sandbox {batch.sandbox}: docs/security.md says what that does not stop.")
    slowest = sorted(batch.slowest, reverse=True)
    if slowest:
        lines.append("Slowest:")
    for seconds, student, what, share in slowest:
        lines.append(
            f"  {seconds:6.2f} s  {name_of(student)}, {share:.2f} s of that for {what or 'nothing in particular'}"
        )
    return "\n".join(lines)
