"""Grades and feedback in the layouts that Moodle, Canvas, Gradescope and exercism take in.

- Moodle's grading worksheet: the importer (mod/assign/feedback/offline/importgradeslib.php) needs the columns
  Identifier, whose digits at the end are the participant's number, Grade, and Last modified (grade); it passes over a
  row without a grade, with one out of range, or whose grade somebody has changed since the worksheet was downloaded.
- Moodle's feedback files: a zip with a folder `NAME_NUMBER_assignsubmission_file` for each student, as it was
  downloaded (importziplib.php); "Upload multiple feedback files in a zip".
- Canvas's gradebook: Student, ID, SIS User ID, SIS Login ID, Section, then `Title (id)`; a row Points Possible, by
  which Canvas sets the assignment's points, so it is always Canvas's own number (lib/gradebook_importer.rb).
- Canvas's submissions: a zip of files called as they were downloaded. Canvas finds the student and the file by the two
  numbers in the name, and gives its own name to what it hands to the student: so for a notebook it has to be one.
- Gradescope, exercism: `report/results_json.py`.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry

from ..errors import Unreadable, UsageError
from ..nbgrader import exporting
from ..nbgrader.standings import standings
from ..report import outcome_text, results_json
from ..submission import read
from .handins import is_worksheet
from .layouts import MOODLE

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store
    from ..nbgrader.runs import NbgraderCourse
    from ..report.standing import Standing
    from ..verdict import Verdict
    from .roster import Roster, Student
    from .tables import Table

MOMENT = (1980, 1, 1, 0, 0, 0)  # of every file in a zip, so that equal content gives equal bytes
MAX_PAGE = 64 * 2**20  # bytes of a student's feedback
MOODLE_HEADER = (
    "Identifier",
    "Full name",
    "Email address",
    "Grade",
    "Maximum grade",
    "Last modified (submission)",
    "Last modified (grade)",
)
# the columns of a worksheet that are given back; texts stay away, since Moodle would take them in, too
MOODLE_KEPT = (*MOODLE_HEADER, "ID number", "Status", "Grade can be changed", "Marking workflow state")
CANVAS_HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


@dataclass(frozen=True)
class Grade:
    """A student's grade in one assignment, without a `standing` for somebody who handed in nothing.

    `note` is what `collect` noted of the hand-in.
    """

    student: Student
    standing: Standing | None
    note: dict[str, Any]

    @property
    def score(self) -> float | None:
        """The points so far, late penalties taken off; None for somebody who handed in nothing."""
        return self.standing.score if self.standing else None

    @property
    def waits(self) -> bool:
        """Whether an answer waits for being graded by hand; the score is without it."""
        return bool(self.standing and self.standing.waiting)


def grades(runs: NbgraderCourse, assignment: Assignment, roster: Roster, results: Store) -> list[Grade]:
    """The grades of everybody on the roster, late penalties taken off, as nbgrader exports them."""
    notes = results.handed_in(assignment.name)
    with runs.gradebook() as gradebook:
        found = standings(gradebook, assignment)
    return [Grade(s, found.get(s.id), notes.get(s.id, {})) for s in roster]


def highest(runs: NbgraderCourse, assignment: Assignment) -> float:
    """The points of an assignment in the gradebook. Raises UsageError if it is not built."""
    try:
        with runs.gradebook() as gradebook:
            found: Any = gradebook.find_assignment(assignment.name)
            return float(found.max_score)
    except MissingEntry:
        raise UsageError(f"The gradebook does not know {assignment.name}: run `autograder build` first.") from None


@dataclass
class Settings:
    """How scores are written: `scale` converts them to the system's highest, `zeros` gives 0 for no hand-in."""

    highest: float
    scale: bool = False
    zeros: bool = False

    def number(self, grade: Grade, most: float) -> float | str:
        """The number for a cell; "" leaves it empty, so that a system leaves the grade as it is."""
        score = grade.score if grade.score is not None else 0.0 if self.zeros else None
        if score is None:
            return ""
        return round(score * most / self.highest if self.scale and self.highest else score, 5)

    def require_same(self, most: float, where: str) -> None:
        """Raises UsageError if a system's highest grade is another one, and nothing says that it is wanted."""
        if abs(most - self.highest) > 1e-6 and not self.scale:
            raise UsageError(
                f"The highest grade is {most:g} in {where} and {self.highest:g} in the course: set it to"
                f" {self.highest:g} there and download the file again, or convert the grades with --scale."
            )


# --- tables ---------------------------------------------------------------------------------------


def nbgrader_table(runs: NbgraderCourse, assignment: Assignment, roster: Roster) -> str:
    """nbgrader's own table, for one assignment."""
    with runs.gradebook() as gradebook:
        about = gradebook.find_assignment(assignment.name)
        rows = [exporting.row(gradebook, about, gradebook.find_student(s.id)) for s in roster]
    return "".join(map(exporting.line, (exporting.COLUMNS, *rows)))


def moodle_table(all_grades: Sequence[Grade], settings: Settings) -> tuple[str, list[str]]:
    """(a grading worksheet for Moodle, made from what `collect` noted, remarks)."""
    rows: list[Sequence[object]] = [MOODLE_HEADER]
    remarks = []
    for grade in all_grades:
        if number := grade.note.get("participant"):
            name = grade.student.name or grade.note.get("name")
            score = settings.number(grade, settings.highest)
            rows.append((f"Participant {number}", name, grade.student.email, score, settings.highest, "", ""))
        elif grade.score is not None:
            remarks.append(f"{grade.student.id}: not in the table, since no participant's number is known")
    remarks.append(
        "Moodle takes a worksheet that it has not made only with 'Allow updating records that have been modified more"
        " recently than the file'; --fill WORKSHEET fills in Moodle's own"
    )
    return _csv(rows), remarks


def moodle_filled(
    all_grades: Sequence[Grade], settings: Settings, sheet: Table, column: str | None = None
) -> tuple[str, list[str]]:
    """(Moodle's own grading worksheet with the grades filled in, remarks). Raises UsageError."""
    if not is_worksheet(sheet):
        raise UsageError(f"{sheet.path} is no grading worksheet of Moodle's.")
    at, mark = _column(sheet, column or "Grade"), sheet.index("Maximum grade")
    known = {name.casefold() for name in MOODLE_KEPT}
    kept = [i for i, name in enumerate(sheet.header) if i in (0, at) or name.casefold() in known]
    numbers = {g.note["participant"]: g for g in all_grades if g.note.get("participant")}
    emails = {g.student.email.casefold(): g for g in all_grades if g.student.email}
    rows: list[Sequence[object]] = [[sheet.header[i] for i in kept]]
    remarks, missing = [], {g.student.id for g in all_grades if g.score is not None}
    for row in sheet:
        filled: list[object] = [*row]
        filled[at] = ""
        email = sheet.value(row, "Email address").casefold()
        grade = numbers.get(re.sub(r"\D", "", row[0])) or emails.get(email)
        if grade is not None:
            most = settings.highest if mark is None else _float(row[mark], sheet)
            settings.require_same(most, str(sheet.path))
            filled[at] = score = settings.number(grade, most)
            missing.discard(grade.student.id)
            if isinstance(score, float) and score > most:
                remarks.append(f"{grade.student.id}: {score:g} is more than {most:g}, so Moodle will pass over it")
        rows.append([filled[i] for i in kept])
    return _csv(rows), [*remarks, *_not_in(sheet, missing)]


def canvas_table(
    all_grades: Sequence[Grade], settings: Settings, title: str, column: str | None = None
) -> tuple[str, list[str]]:
    """(a gradebook for Canvas with one assignment, remarks)."""
    heading = column or title
    rows: list[Sequence[object]] = [(*CANVAS_HEADER, heading)]
    rows.append(("    Points Possible", "", "", "", "", settings.highest))
    for grade in all_grades:
        student, score = grade.student, settings.number(grade, settings.highest)
        id = grade.note.get("lms_id") or student.lms_user_id
        name = ", ".join(filter(None, (student.last_name, student.first_name))) or student.id
        if id or score != "":
            rows.append((name, id, "", "" if id else student.email, "", score))
    remarks = []
    if not re.search(r"\(\d+\)$", heading):
        remarks.append(
            f"Canvas looks for an assignment called {heading!r}, and makes one if there is none: --fill the gradebook"
            " that it exports, or give its column with --column 'TITLE (ID)'"
        )
    return _csv(rows), remarks


def canvas_filled(
    all_grades: Sequence[Grade], settings: Settings, title: str, sheet: Table, column: str | None = None
) -> tuple[str, list[str]]:
    """(the gradebook that Canvas has exported, with the grades of one assignment filled in, remarks).

    It has no other assignment, so that none can change. Raises UsageError.
    """
    section = sheet.index("Section")
    if section is None or not sheet.has("Student", "ID"):
        raise UsageError(f"{sheet.path} is no gradebook that Canvas has exported.")
    at = _column(sheet, column or _assignments_column(sheet, title))
    kept = [*range(section + 1), at]
    ids = {id: g for g in all_grades if (id := g.note.get("lms_id") or g.student.lms_user_id)}
    logins = {g.student.email.casefold(): g for g in all_grades if g.student.email}
    rows: list[Sequence[object]] = [[sheet.header[i] for i in kept]]
    missing, most = {g.student.id for g in all_grades if g.score is not None}, settings.highest
    for row in sheet:
        filled: list[object] = [*row]
        id = sheet.value(row, "ID")
        if "Points Possible" in row[0]:
            filled[at] = most = _float(row[at], sheet)
            settings.require_same(most, str(sheet.path))
        elif not id.isdigit():
            continue  # such as the row on how grades are posted
        elif grade := ids.get(id) or logins.get(sheet.value(row, "SIS Login ID").casefold()):
            filled[at] = settings.number(grade, most)
            missing.discard(grade.student.id)
        else:
            filled[at] = ""
        rows.append([filled[i] for i in kept])
    return _csv(rows), _not_in(sheet, missing)


def _not_in(sheet: Table, missing: Iterable[str]) -> list[str]:
    return [f"{student}: not in {sheet.path}, so the grade is in no row" for student in sorted(missing)]


def _assignments_column(sheet: Table, title: str) -> str:
    """The one column of Canvas's gradebook that is called after an assignment. Raises UsageError."""
    number = title.split("_")[0]
    titles = [name for name in sheet.header if re.search(r" \(\d+\)$", name)]
    same = [name for name in titles if name.rsplit(" (", 1)[0].casefold() in (title.casefold(), number)]
    found = same or [name for name in titles if re.search(rf"(?<!\d)0*{re.escape(number.lstrip('0'))}(?!\d)", name)]
    if len(found) != 1:
        raise UsageError(f"Which column is {title}? Give it with --column: {', '.join(titles) or 'there is none'}.")
    return found[0]


def _column(sheet: Table, name: str) -> int:
    index = sheet.index(name)
    if index is None:
        raise UsageError(
            f"{sheet.path} has no column {name!r}: give that of the grades with --column: {', '.join(sheet.header)}."
        )
    return index


def _float(text: str, sheet: Table) -> float:
    """A number in a table, as written in whatever language. Raises UsageError."""
    try:
        return float(text.strip().replace(" ", "").replace(",", "."))
    except ValueError:
        raise UsageError(f"{sheet.path}: {text[:40]!r} should be the highest grade, and is no number.") from None


def _csv(rows: Iterable[Sequence[object]]) -> str:
    """A table in which no name can be a formula."""
    return "".join(exporting.line(None if value == "" else value for value in row) for row in rows)


# --- feedback -------------------------------------------------------------------------------------


def moodle_feedback(root: Path, all_grades: Sequence[Grade], assignment: Assignment) -> tuple[bytes, list[str]]:
    """(the zip of everybody's feedback that Moodle takes, remarks on those who are not in it)."""
    pack, remarks = Pack(), []
    for grade in all_grades:
        given, page = grade.note.get("given", ""), _page(root, grade, assignment)
        if grade.score is None:
            continue
        if page is None:
            remarks.append(f"{grade.student.id}: there is no feedback yet, `autograder report` writes it")
        elif not MOODLE.fullmatch(given):
            remarks.append(f"{grade.student.id}: was not collected from Moodle, so the feedback goes another way")
        else:
            pack.add(f"{given.rstrip('_')}_/{assignment.name}.html", page)
    return pack.done(), remarks


def canvas_feedback(
    root: Path, all_grades: Sequence[Grade], assignment: Assignment, results: Store
) -> tuple[bytes, list[str]]:
    """(the zip of everybody's feedback that Canvas takes as re-uploaded submissions, remarks)."""
    pack, remarks = Pack(), []
    for grade in all_grades:
        entry, page = grade.note.get("entry", ""), _page(root, grade, assignment)
        verdict, _ = results.latest_of(assignment.name, grade.student.id)
        if grade.standing is None or verdict is None:
            continue
        if grade.note.get("system") != "canvas":
            remarks.append(f"{grade.student.id}: was not collected from Canvas, so the feedback goes another way")
        elif entry.lower().endswith(".ipynb"):
            pack.add(entry, feedback_notebook(assignment, grade.standing, verdict))
        elif entry.lower().endswith(".zip") and page is not None:
            inner = Pack()
            inner.add(f"{assignment.name}.html", page)
            pack.add(entry, inner.done())
        else:
            why = (
                "there is no feedback yet, `autograder report` writes it" if page is None else f"{entry} is no notebook"
            )
            remarks.append(f"{grade.student.id}: {why}")
    return pack.done(), remarks


def _page(root: Path, grade: Grade, assignment: Assignment) -> bytes | None:
    name = assignment.name
    try:
        return read.read_bytes(root / "feedback" / grade.student.id / name / f"{name}.html", most=MAX_PAGE)
    except Unreadable:
        return None


def feedback_notebook(assignment: Assignment, standing: Standing, verdict: Verdict) -> bytes:
    """A student's feedback as a notebook of texts: what Canvas gives back is called like what was handed in."""
    score, most = f"{standing.score:g}", f"{standing.so_far:g}"
    late = f", {standing.penalty:g} taken off since it was late" if standing.penalty else ""
    total = f"{score} of {most} points{late}" + (", not all is graded yet" if standing.waiting else "")
    texts = [f"# Feedback on {assignment.name}\n\n**{total}**"]
    for outcome in verdict.exercises:
        # no blank lines: after one, a student's text would be Markdown
        texts.append(re.sub(r"\n\s*\n", "\n", outcome_text.as_html(outcome)))
        mark = standing.of_exercise(outcome.exercise)
        if mark is not None and abs(mark.score - outcome.score) > 1e-6:
            texts[-1] += f"\n<div>Changed by hand: {mark.score:g} of {mark.max_score:g} points</div>"
    for mark in standing.marks:
        if not mark.exercise and not mark.ungraded:
            texts.append(f"<div><strong>{mark.score:g} of {mark.max_score:g} points</strong> for your answer</div>")
    cells = [
        {"cell_type": "markdown", "id": f"feedback-{number}", "metadata": {}, "source": text}
        for number, text in enumerate(texts, start=1)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


class Pack:
    """A zip in the making: equal files in equal order give equal bytes."""

    def __init__(self) -> None:
        self._made = io.BytesIO()
        self._archive = zipfile.ZipFile(self._made, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, data: bytes) -> None:
        info = zipfile.ZipInfo(name, MOMENT)
        info.external_attr = 0o100644 << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, data)

    def done(self) -> bytes:
        """The finished zip."""
        self._archive.close()
        return self._made.getvalue()


# --- results.json ---------------------------------------------------------------------------------


def results_files(
    system: str, all_grades: Sequence[Grade], assignment: Assignment, results: Store
) -> Iterator[tuple[str, str]]:
    """(a student's id, the text of their results.json) for everybody who is graded."""
    write = {"gradescope": results_json.gradescope, "exercism": results_json.exercism}[system]
    for grade in all_grades:
        verdict, _ = results.latest_of(assignment.name, grade.student.id)
        if verdict is not None:
            yield grade.student.id, json.dumps(write(verdict), indent=1) + "\n"
