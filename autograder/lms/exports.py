"""Grades and feedback in the layouts that Moodle, Canvas, Gradescope and exercism take in.

- Moodle's grading worksheet: the importer (mod/assign/feedback/offline/importgradeslib.php) needs the columns
  Identifier, with the participant's number as its last digits, Grade, and Last modified (grade); it ignores a row
  without a grade, with one out of range, or with one that somebody has changed since the worksheet was downloaded.
- Moodle's feedback files: a zip with a folder `NAME_NUMBER_assignsubmission_file` for each student, as it was
  downloaded (importziplib.php); "Upload multiple feedback files in a zip".
- Canvas's gradebook: Student (or LastName and FirstName), ID, SIS User ID, SIS Login ID, Section, then `Title (id)`; a
  row Points Possible, by which Canvas sets the assignment's points, so it is always Canvas's own number
  (lib/gradebook_importer.rb). It has a text in the first column, no ID, and comes before the students. Canvas knows it
  by that text alone, so no student's row has the text there.
- Canvas's submissions: a zip of files called as they were downloaded. Canvas finds the student and the file by the two
  numbers in the name, and gives its own name to what it hands to the student: so for a notebook it has to be one.
- Gradescope, exercism: `report/results_json.py`.

Who is excused has EX in Canvas's gradebook, which its importer takes for that (`casecmp?("EX")`). Moodle's worksheet
has no such mark, and its importer leaves a grade as it is where the cell is empty; so the cell is, and no other table
has points or a highest score for them.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import MissingEntry

from ..errors import Unreadable, UsageError
from ..intake.identity import address
from ..intake.layouts import MOODLE
from ..intake.tables import is_canvas_student
from ..intake.unpacking import is_archive
from ..intake.worksheet import COLUMNS, Worksheet
from ..nbgrader import exporting
from ..nbgrader.deadlines import Deadlines
from ..nbgrader.standings import standings
from ..report import outcome_text, results_json
from ..submission import read

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store
    from ..intake.people import Roster, Student
    from ..intake.tables import Table
    from ..nbgrader.runs import NbgraderCourse
    from ..report.gradebook_marks import Standing
    from ..verdict import Verdict

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
CANVAS_HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_NAMES = ("Student", "LastName", "FirstName")
CANVAS_KEYS = ("ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account", "Section")
POINTS = "Points Possible"
EXCUSED = "EX"  # in Canvas's gradebook
LATE_DAYS = "late days"  # a column
PLAIN_NUMBER = re.compile(r"[0-9]+(?:[.,](?![0-9]{3}$)[0-9]+)?")  # 1,000 may be a thousand, or one


@dataclass(frozen=True)
class Grade:
    """A student's grade in one assignment, without a `standing` for somebody who handed in nothing.

    `note` is what `collect` noted of the hand-in. `is_excused`: the assignment does not count for the student.
    """

    student: Student
    standing: Standing | None
    note: dict[str, Any]
    is_excused: bool = False

    @property
    def score(self) -> float | None:
        """The points so far, late penalties taken off; None for who handed in nothing, or is excused."""
        return self.standing.score if self.standing and not self.is_excused else None

    @property
    def participant(self) -> str:
        """Moodle's number of the student in this assignment, or ""."""
        return str(self.note.get("participant") or "")

    @property
    def canvas_id(self) -> str:
        """The student's id in Canvas, or ""; that of another system may be another student's there."""
        own = self.note.get("lms_id") if self.note.get("system") == "canvas" else ""
        return str(own or "") or self.student.lms_user_id

    @property
    def waits(self) -> bool:
        """Whether an answer waits for being graded by hand; the score is without it."""
        return bool(self.standing and self.standing.waiting) and not self.is_excused


def grades(runs: NbgraderCourse, assignment: Assignment, roster: Roster, results: Store) -> list[Grade]:
    """The grades of everybody on the roster, late penalties taken off, as nbgrader exports them."""
    notes, excused = results.handed_in(assignment.name), results.excused(assignment.name)
    with runs.gradebook() as gradebook:
        found = standings(gradebook, results, assignment)
    return [Grade(s, found.get(s.id), notes.get(s.id, {}), s.id in excused) for s in roster]


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
        if score is None or grade.is_excused:
            return ""
        return round(score * most / self.highest if self.scale and self.highest else score, 5)

    def number_or_excused(self, grade: Grade, most: float) -> float | str:
        """The same for a system that has a mark for who is excused."""
        return EXCUSED if grade.is_excused else self.number(grade, most)

    def require_same(self, most: float, where: str) -> None:
        """Raises UsageError if a system's highest grade is another one, and nothing says that it is wanted."""
        if abs(most - self.highest) > 1e-6 and not self.scale:
            raise UsageError(
                f"The highest grade is {most:g} in {where} and {self.highest:g} in the course: set it to"
                f" {self.highest:g} there and download the file again, or convert the grades with --scale."
            )


# --- tables ---------------------------------------------------------------------------------------


def nbgrader_table(runs: NbgraderCourse, assignment: Assignment, roster: Roster, results: Store) -> str:
    """nbgrader's own table, for one assignment; behind it columns for what was measured or is waived, and late days."""
    with runs.gradebook() as gradebook:
        about = gradebook.find_assignment(assignment.name)
        excused = results.excused(assignment.name)
        rows = [exporting.row(gradebook, about, gradebook.find_student(s.id), s.id in excused) for s in roster]
        deadlines = Deadlines(gradebook.db, results, assignment.name)
        spent = [deadlines.spent(s.id) for s in roster]
    latest = [None if s.id in excused else results.latest_of(assignment.name, s.id)[0] for s in roster]
    found = [{**measured_of(verdict), **waived_of(verdict)} for verdict in latest]
    found = [one | ({LATE_DAYS: days} if days else {}) for one, days in zip(found, spent, strict=True)]
    columns = sorted({column for one in found for column in one})
    rows = [(*row, *(one.get(column) for column in columns)) for row, one in zip(rows, found, strict=True)]
    return "".join(map(exporting.line, ((*exporting.COLUMNS, *columns), *rows)))


def measured_of(verdict: Verdict | None) -> dict[str, float]:
    """What was measured of a student's answers, by the names of columns: "MyModel loss"."""
    outcomes = verdict.exercises if verdict else []
    return {f"{one.exercise} {name}": round(value, 4) for one in outcomes for name, value in one.measured.items()}


def waived_of(verdict: Verdict | None) -> dict[str, float]:
    """The points that a student has as everybody does, by the names of columns: "attention waived test_dtypes"."""
    outcomes = verdict.exercises if verdict else []
    return {f"{one.exercise} waived {' '.join(one.waived)}": one.given for one in outcomes if one.waived}


def moodle_table(all_grades: Sequence[Grade], settings: Settings) -> tuple[str, list[str]]:
    """(a grading worksheet for Moodle, made from what `collect` noted, remarks)."""
    rows: list[Sequence[object]] = [MOODLE_HEADER]
    remarks, without = [], []
    for grade in all_grades:
        if number := grade.participant:
            name = grade.student.name or grade.note.get("name")
            score = settings.number(grade, settings.highest)
            rows.append((f"Participant {number}", name, grade.student.email, score, settings.highest, "", ""))
        elif grade.score is not None:
            without.append(grade.student.id)
    if without:
        remarks.append(f"not in the table, because no participant number is known: {', '.join(without)}")
    remarks.append(
        "Moodle did not make this worksheet, so upload it with 'Allow updating records that have been modified more"
        " recently than the file', or use --fill WORKSHEET to fill in Moodle's own"
    )
    return _csv(rows), remarks


def moodle_filled(
    all_grades: Sequence[Grade], settings: Settings, sheet: Table, column: str | None = None
) -> tuple[str, list[str]]:
    """(Moodle's own grading worksheet with the grades filled in, remarks). Raises UsageError."""
    own = Worksheet(sheet)
    columns = {name: i for name in COLUMNS if (i := own.index(name)) is not None}
    grade_column, mark = columns.pop("grade"), columns.get("highest")
    at = _column(sheet, column, columns.values()) if column else grade_column
    kept = sorted({at, grade_column, *columns.values()})
    keys = [{"participant": number, "address": address(own.value(row, "email"))} for number, row in own.rows.items()]
    of_rows, remarks = _grades_of(
        keys,
        all_grades,
        lambda g: {"participant": g.participant, "address": address(g.student.email)},
    )
    rows: list[Sequence[object]] = [[sheet.header[i] for i in kept]]
    missing = {g.student.id for g in all_grades if g.score is not None}
    for row, grade in zip(own.rows.values(), of_rows, strict=True):
        filled: list[object] = [*row]
        filled[at] = ""
        if grade is not None:
            most = settings.highest if mark is None else _float(row[mark], sheet)
            settings.require_same(most, str(sheet.path))
            filled[at] = score = settings.number(grade, most)
            missing.discard(grade.student.id)
            if isinstance(score, float) and score > most:
                remarks.append(f"{grade.student.id}: {score:g} is more than {most:g}, so Moodle will ignore it")
        rows.append([filled[i] for i in kept])
    return _csv(rows), [*remarks, *_not_in(sheet, missing)]


def _grades_of(
    rows: Sequence[Mapping[str, str]], all_grades: Iterable[Grade], keys_of: Callable[[Grade], Mapping[str, str]]
) -> tuple[list[Grade | None], list[str]]:
    """(the grade of the student whom the keys of each row tell, or None; remarks on rows that may be two people's).

    No grade goes into two rows, and none into a row with the keys of two students, or that has another number
    than Moodle gave the student in this assignment.
    """
    by_key: dict[tuple[str, str], set[str]] = {}
    grades = {grade.student.id: grade for grade in all_grades}
    for id, grade in grades.items():
        for key in keys_of(grade).items():
            by_key.setdefault(key, set()).add(id)
    found, remarks = [], []
    for keys in rows:
        them = [by_key[key] for key in keys.items() if key[1] and key in by_key]
        same = set.intersection(*them) if them else set()
        found.append(next(iter(same)) if len(same) == 1 else "")
        if them and len(same) != 1:
            said = ", ".join(f"{kind} {value}" for kind, value in keys.items() if value)
            names = " or ".join(sorted(set.union(*them)))
            remarks.append(f"{names}: the row with {said} may be either student's, so it gets no grade")
    twice = {id for id, times in Counter(found).items() if id and times > 1}
    remarks += [f"{id}: two rows of the table are this student's, so neither gets the grade" for id in sorted(twice)]
    numbers = zip(found, (keys.get("participant") for keys in rows), strict=True)
    others = {id for id, number in numbers if id and number and grades[id].participant not in ("", number)} - twice
    if others:
        remarks.append(
            f"{', '.join(sorted(others))}: handed in with another participant number than the row's, so it gets no"
            " grade: is the worksheet from another assignment?"
        )
    return [grades.get(id) if id not in twice | others else None for id in found], remarks


def canvas_table(
    all_grades: Sequence[Grade], settings: Settings, title: str, column: str | None = None
) -> tuple[str, list[str]]:
    """(a gradebook for Canvas with one assignment, remarks)."""
    heading = column or title
    rows: list[Sequence[object]] = [(*CANVAS_HEADER, heading)]
    rows.append((f"    {POINTS}", "", "", "", "", settings.highest))
    remarks, without = [], []
    for grade in all_grades:
        student, score, id = grade.student, settings.number_or_excused(grade, settings.highest), grade.canvas_id
        name = ", ".join(filter(None, (student.last_name, student.first_name))) or student.id
        if id or (score != "" and student.email):
            rows.append((_plain(name, id or student.id), id, "", "" if id else student.email, "", score))
        elif score != "":
            without.append(student.id)
    if without:
        remarks.append(f"not in the table, because neither a Canvas id nor an address is known: {', '.join(without)}")
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
    names = [i for name in CANVAS_NAMES if (i := sheet.index(name)) is not None]
    keys = [i for name in CANVAS_KEYS if (i := sheet.index(name)) is not None]
    id_column = sheet.index("ID")
    if not names or id_column is None or sheet.index("Section") is None:
        raise UsageError(f"{sheet.path} is not a gradebook exported by Canvas.")
    guess, remarks = ("", []) if column else _assignments_column(sheet, title)
    at = _column(sheet, column or guess, [*names, *keys])
    kept = sorted({*names, *keys, at})
    points, students = _rows_of_canvas(sheet, names, keys, id_column)
    most = _float(points[at], sheet)
    settings.require_same(most, str(sheet.path))
    said = [{"id": sheet.value(row, "ID"), "login": address(sheet.value(row, "SIS Login ID"))} for row in students]
    of_rows, doubts = _grades_of(said, all_grades, lambda g: {"id": g.canvas_id, "login": address(g.student.email)})
    rows: list[Sequence[object]] = [[sheet.header[i] for i in kept]]
    rows.append([most if i == at else points[i] for i in kept])
    missing = {g.student.id for g in all_grades if g.score is not None or g.is_excused}
    for row, grade in zip(students, of_rows, strict=True):
        filled: list[object] = [*row]
        for i in names:
            filled[i] = _plain(row[i], row[id_column])
        filled[at] = "" if grade is None else settings.number_or_excused(grade, most)
        if grade is not None:
            missing.discard(grade.student.id)
        rows.append([filled[i] for i in kept])
    return _csv(rows), [*remarks, *doubts, *_not_in(sheet, missing)]


def _rows_of_canvas(
    sheet: Table, names: Sequence[int], keys: Sequence[int], id_column: int
) -> tuple[list[str], list[list[str]]]:
    """(the row of possible points, those of students). Raises UsageError.

    The first has a text where names are, no ID and nothing else of a student, and comes before the first one.
    """
    points, students = None, []
    for number, row in sheet.numbered():
        if is_canvas_student(row[id_column], f"{sheet.path}, row {number}"):
            students.append(row)
        elif not students and any(row[i].strip() for i in names) and not any(row[i].strip() for i in keys):
            if points is not None:
                raise UsageError(
                    f"{sheet.path}, row {number}: {row[names[0]].strip()[:40]!r} has no ID, so it may be a student or"
                    " the row of possible points: download the table from Canvas again."
                )
            points = row
    if points is None:
        raise UsageError(
            f"{sheet.path} has no row of possible points before its students: download it from Canvas again."
        )
    return points, students


def _plain(name: str, id: str) -> str:
    """A student's name as Canvas may read it: with "Points Possible" in it, the row would set everybody's points."""
    return f"Student {id}" if POINTS.casefold() in " ".join(name.split()).casefold() else name


def _not_in(sheet: Table, missing: Iterable[str]) -> list[str]:
    return [f"{student}: not in {sheet.path}, so no row gets the grade" for student in sorted(missing)]


def _assignments_column(sheet: Table, title: str) -> tuple[str, list[str]]:
    """(the one column of Canvas's gradebook that is called after an assignment, what to remark). Raises UsageError."""
    number = title.split("_")[0]
    titles = {name: name.rsplit(" (", 1)[0] for name in sheet.header if re.search(r" \(\d+\)$", name)}
    if same := [name for name, plain in titles.items() if plain.casefold() in (title.casefold(), number)]:
        found, remarks = same, []
    else:
        a_number = re.compile(rf"(?<!\d)0*{re.escape(number.lstrip('0'))}(?!\d)")
        found = [name for name, plain in titles.items() if a_number.search(plain)]
        remarks = [
            f"the grades go into the column {name!r}, which has the assignment's number: use --column for another"
            for name in found
        ]
    if len(found) != 1:
        raise UsageError(f"Which column is {title}? Give it with --column: {', '.join(titles) or 'there is none'}.")
    return found[0], remarks


def _column(sheet: Table, name: str, others: Iterable[int]) -> int:
    """The index of the column for the grades, which is none of the `others`. Raises UsageError."""
    index = sheet.index(name)
    if index is None or index in others:
        what = f"has no column {name!r}" if index is None else f"has no grades in its column {name!r}"
        raise UsageError(
            f"{sheet.path} {what}: name the column of the grades with --column: {', '.join(sheet.header)}."
        )
    return index


def _float(text: str, sheet: Table) -> float:
    """The highest grade in a table, as written in whatever language. Raises UsageError."""
    plain = text.strip().replace(" ", "")
    if not PLAIN_NUMBER.fullmatch(plain) or not (found := float(plain.replace(",", "."))):
        raise UsageError(f"{sheet.path}: {text[:40]!r} should be the highest grade, but is not a number above 0.")
    return found


def _csv(rows: Iterable[Sequence[object]]) -> str:
    """A table in which no name can be a formula."""
    return "".join(exporting.line(None if value == "" else value for value in row) for row in rows)


# --- feedback -------------------------------------------------------------------------------------


def moodle_feedback(root: Path, all_grades: Sequence[Grade], assignment: Assignment) -> tuple[bytes, list[str]]:
    """(the zip of everybody's feedback that Moodle takes, remarks on those who are not in it)."""
    pack, remarks, elsewhere = Pack(), [], []
    for grade in all_grades:
        given, page = grade.note.get("given", ""), _page(root, grade, assignment)
        if grade.standing is None:
            continue
        if page is None:
            remarks.append(f"{grade.student.id}: there is no feedback yet, `autograder report` writes it")
        elif not MOODLE.fullmatch(given):
            elsewhere.append(grade.student.id)
        else:
            pack.add(f"{given.rstrip('_')}_/{assignment.name}.html", page)
    return pack.done(), [*remarks, *_not_in_the_zip("Moodle", elsewhere)]


def canvas_feedback(
    root: Path, all_grades: Sequence[Grade], assignment: Assignment, results: Store
) -> tuple[bytes, list[str]]:
    """(the zip of everybody's feedback that Canvas takes as re-uploaded submissions, remarks)."""
    pack, remarks, elsewhere = Pack(), [], []
    for grade in all_grades:
        entry, page = grade.note.get("entry", ""), _page(root, grade, assignment)
        verdict, _ = results.latest_of(assignment.name, grade.student.id)
        if grade.standing is None or verdict is None:
            continue
        if grade.note.get("system") != "canvas":
            elsewhere.append(grade.student.id)
        elif not is_archive(entry):
            pack.add(entry, feedback_notebook(assignment, grade.standing, verdict))
        elif entry.lower().endswith(".zip") and page is not None:
            inner = Pack()
            inner.add(f"{assignment.name}.html", page)
            pack.add(entry, inner.done())
        else:
            why = (
                "there is no feedback yet, `autograder report` writes it"
                if page is None
                else f"{entry} is not a notebook"
            )
            remarks.append(f"{grade.student.id}: {why}")
    return pack.done(), [*remarks, *_not_in_the_zip("Canvas", elsewhere)]


def _not_in_the_zip(system: str, students: Sequence[str]) -> list[str]:
    """A remark on students who handed in by another way, if there are any."""
    return [f"feedback not in the zip, since not collected from {system}: {', '.join(students)}"] if students else []


def _page(root: Path, grade: Grade, assignment: Assignment) -> bytes | None:
    name = assignment.name
    try:
        return read.read_bytes(root / "feedback" / grade.student.id / name / f"{name}.html", most=MAX_PAGE)
    except Unreadable:
        return None


def feedback_notebook(assignment: Assignment, standing: Standing, verdict: Verdict) -> bytes:
    """A student's feedback as a notebook of texts: what Canvas gives back is called like what was handed in."""
    score, most = f"{standing.score:g}", f"{standing.so_far:g}"
    late = f", {standing.penalty:g} deducted because it was late" if standing.penalty else ""
    total = f"{score} of {most} points{late}" + (", not everything is graded yet" if standing.waiting else "")
    excused = "\n\nYou are excused from this assignment: it does not count." if standing.is_excused else ""
    texts = [f"# Feedback on {assignment.name}\n\n**{total}**{excused}"]
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
    """(a student's id, the text of their results.json) for everybody who is graded and not excused."""
    write = {"gradescope": results_json.gradescope, "exercism": results_json.exercism}[system]
    for grade in all_grades:
        verdict, _ = results.latest_of(assignment.name, grade.student.id)
        if verdict is not None and not grade.is_excused:
            yield grade.student.id, json.dumps(write(verdict), indent=1) + "\n"
