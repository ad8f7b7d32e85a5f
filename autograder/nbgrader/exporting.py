"""The table that `nbgrader export` writes: nbgrader's own, but no name can act as a spreadsheet formula.

A name such as `=HYPERLINK(…)` gets an apostrophe before the character that makes it a formula; ordinary names stay as
they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry

from ..grading.rounds import Rounds
from ..grading.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbgrader.plugins import CsvExportPlugin

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
# the start of a cell, whichever separators the program that opens the table uses, and what makes it a formula
FORMULA = re.compile(r"""(^|[,;|\t\r\n"'])(\s*)(?=[-=+@\t\r\uff0b\uff0d\uff1d\uff20])""")
SEPARATOR = re.compile(r"""[,;|\t\r\n"]""")


def export(self: CsvExportPlugin, gradebook: Any) -> None:
    """Replaces CsvExportPlugin.export: the same columns and options, without students who were dropped."""
    path = self.to or "grades.csv"
    self.log.info("Exporting grades to %s", path)
    coursedir = getattr(self.parent, "coursedir", None)
    results = Store(coursedir.root) if coursedir else None
    dropped = results.dropped() if results else set()
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(line(COLUMNS))
        for assignment in gradebook.assignments:
            if self.assignment and assignment.name not in map(str, self.assignment):
                continue
            if results:
                Rounds(results, assignment.name).give_out()
            excused = results.excused(assignment.name) if results else {}
            for student in gradebook.students:
                if student.id not in dropped and (not self.student or student.id in map(str, self.student)):
                    file.write(line(row(gradebook, assignment, student, student.id in excused)))


def row(gradebook: Any, assignment: Any, student: Any, is_excused: bool = False) -> tuple[Any, ...]:
    """A student's row for an assignment, with a value for each of COLUMNS; without points, if it does not count."""
    who = student.id, student.last_name, student.first_name, student.email
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        submission = None
    if is_excused:  # no highest score either, or a sum of them would count it
        timestamp = submission.timestamp if submission else None
        return assignment.name, assignment.duedate, timestamp, *who, None, None, None, None
    if submission is None:
        return assignment.name, assignment.duedate, None, *who, 0.0, 0.0, 0.0, assignment.max_score
    penalty, score = submission.late_submission_penalty, submission.score
    scores = score, penalty, max(0.0, score - penalty), assignment.max_score
    return assignment.name, assignment.duedate, submission.timestamp, *who, *scores


def line(values: Iterable[Any]) -> str:
    """A line of the table."""
    return ",".join(map(_cell, values)) + "\n"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, str) and value != "-":  # a lone dash, which Moodle writes for no time, is no formula
        text = FORMULA.sub(r"\1\2'", text)
    return '"' + text.replace('"', '""') + '"' if SEPARATOR.search(text) else text
