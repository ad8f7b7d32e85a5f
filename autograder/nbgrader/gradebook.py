"""Writes the results of grading into autograded/ and nbgrader's gradebook, many submissions at a time.

It does what `nbgrader autograde` does with the preprocessors of `preprocessors.py`, which takes some sixty database
queries per submission. If a course configures other preprocessors, nbgrader itself records: see `is_stock`.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader import utils
from nbgrader.api import (
    Comment,
    Grade,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.converters.base import BaseConverter
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, OverwriteKernelspec
from sqlalchemy import bindparam, insert, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from ..errors import DISK, NotRecorded
from ..report.gradebook_marks import due_with
from ..submission import files
from ..submission.answers import answers_of, unchanged
from ..submission.restore import restore
from ..submission.written import unanswered
from . import penalties, preprocessors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, timedelta

    from nbformat import NotebookNode
    from sqlalchemy import Connection

    from .. import course
    from ..grading.store import Store
    from ..submission.read import SubmittedCell
    from ..verdict import Graded, Verdict
    from .runs import NbgraderCourse

    Grades = dict[str, float | None]  # points by the name of a cell
    Comments = dict[str, str | None]

MANY = 200  # submissions recorded in one transaction, at most
SECONDS = 2.0  # seconds after which waiting submissions are recorded
LATER = 60.0  # seconds until the next try while another program locks the gradebook
BUSY = (
    "its row could not be written, because another program locks the gradebook (Formgrader, or a shell of the"
    " database): end it and run the same command again; nothing is graded again"
)


def is_stock(runs: NbgraderCourse) -> bool:
    """Whether `nbgrader autograde`, as the course configures it, does exactly what the GradebookWriter does."""
    converter = runs.autograding()
    usual = [preprocessors.RestoreCells, OverwriteKernelspec, CheckCellMetadata]
    after = [preprocessors.GradeInSandbox, preprocessors.SaveVerdict, AssignLatePenalties, CheckCellMetadata]
    return (
        converter.exporter_class is preprocessors.SubmissionExporter
        and list(converter.sanitize_preprocessors) == usual
        and list(converter.autograde_preprocessors) == after
        and converter.create_student
        and not (converter.pre_convert_hook or converter.post_convert_hook)
    )


@dataclass
class Recorded:
    """What the gradebook holds for a submission: points by cell, an extension of its due date, a penalty."""

    grades: dict[str | None, float | None]  # the key None means a cell that the assignment no longer has
    extension: timedelta | None
    penalty: float | None


@dataclass
class Row:
    """What the gradebook is to hold for a submission: points and comments, by the name of a cell.

    Points are None if a person has to give them. `timestamp` is when it was handed in (UTC), or None. `answers` are
    hashes of what the student wrote, and `unchanged` names the cells with the same answers as when recorded
    before.
    """

    student: str
    grades: Grades
    comments: Comments
    timestamp: datetime | None
    verdict: Verdict
    key: str
    answers: dict[str, str]
    unchanged: set[str]

    def recorded(self) -> dict[str, Any]:
        """What identifies this row, to see whether the same was recorded already; it survives a round trip as JSON."""
        return {
            "key": self.key,
            "grades": self.grades,
            "timestamp": str(self.timestamp),
            "answers": self.answers,
        }


class GradebookWriter:
    """Records submissions of one assignment. It is a context manager: on exit, it records the rows still waiting.

    Raises OSError and SQLAlchemy's OperationalError, which concern all submissions.
    While another program locks SQLite's file, rows wait. `unrecorded` lists pairs (student, reason) of those who have
    no row even at the end, or a verdict that could not be kept.
    """

    def __init__(self, runs: NbgraderCourse, assignment: course.Assignment, results: Store) -> None:
        self.assignment = assignment
        self.results = results
        self.converter = runs.autograding()
        self.directory = runs.directory
        self.gradebook = runs.gradebook()
        found: Any = self.gradebook.find_assignment(assignment.name)
        self.id = found.id
        self.duedate: datetime | None = found.duedate
        self.notebooks = {n.name: n.id for n in found.notebooks}
        notebook: Any = self.gradebook.find_notebook(assignment.name, assignment.name)
        self.known, self.metadata = preprocessors.known_cells(notebook)
        self.kernelspec = json.loads(notebook.kernelspec) if notebook.kernelspec else None
        self.cells = {
            n.name: (
                {c.name: c.id for c in (*n.grade_cells, *n.task_cells)},
                {c.name: c.id for c in (*n.solution_cells, *n.task_cells)},
            )
            for n in found.notebooks
        }
        self.exercises = {e.grade_id: e.name for e in assignment.exercises}
        self.released, self.excused = results.released(assignment.name), results.excused(assignment.name)
        self.waiting: list[Row] = []
        self.due, self.is_kept = time.monotonic() + SECONDS, False
        self.unrecorded: list[tuple[str, str]] = []
        self.gradebook.db.rollback()  # everything needed is read: leave no transaction open

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        try:
            if kind is None:
                self.flush()
                self.unrecorded += [(row.student, BUSY) for row in self.waiting]
        finally:
            self.gradebook.close()

    # --- what is there already --------------------------------------------------------------------

    def cached_verdict(self, student: str, key: str) -> Verdict | None:
        """The Verdict of the result `key` if it is already recorded for the student and all is in place, or None.

        If other files lie beside the notebook, or a late penalty may apply, the result is recorded again (None).
        """
        verdict, recorded = self.results.latest_of(self.assignment.name, student)
        timestamp = self._timestamp(student)
        if not isinstance(recorded, dict):
            return None
        if (recorded.get("key"), recorded.get("timestamp")) != (key, str(timestamp)):
            return None
        if self._beside(student) - {"timestamp.txt"}:
            return None
        there = self._in_gradebook.get(student)
        if there is None or there.grades != recorded.get("grades") or there.penalty is not None:
            return None
        path = os.path.join(self._folder("autograded", student), f"{self.assignment.name}.ipynb")
        is_late = student not in self.excused and self._is_late(timestamp, there.extension)
        return verdict if not is_late and os.path.isfile(path) else None

    @functools.cached_property
    def _in_gradebook(self) -> dict[str, Recorded]:
        """What the gradebook holds for every student, read with one query."""
        names = {cell: name for grades, _ in self.cells.values() for name, cell in grades.items()}
        grade, notebook, submission = Grade.__table__, SubmittedNotebook.__table__, SubmittedAssignment.__table__
        rows = self.gradebook.db.execute(
            select(
                submission.c.student_id,
                submission.c.extension,
                notebook.c.late_submission_penalty,
                grade.c.cell_id,
                grade.c.auto_score,
            )
            .join(notebook, notebook.c.assignment_id == submission.c.id)
            .join(grade, grade.c.notebook_id == notebook.c.id)
            .where(submission.c.assignment_id == self.id)
        )
        found: dict[str, Recorded] = {}
        for student, extension, penalty, cell, score in rows:
            there = found.setdefault(student, Recorded({}, extension, penalty))
            there.grades[names.get(cell)] = score
        self.gradebook.db.rollback()
        return found

    def _beside(self, student: str) -> set[str]:
        """The names of the files and folders handed in beside the notebook."""
        return files.names(self._folder("submitted", student)) - {f"{self.assignment.name}.ipynb"}

    # --- one submission ---------------------------------------------------------------------------

    def add(self, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str) -> None:
        """Write the autograded notebook; its rows are written later, together with those of others.

        `key` is the key of the result. Raises NotRecorded.
        """
        if problem := files.problem_of(student):
            raise NotRecorded(problem)
        cells = restore(submitted, self.known, self.assignment)
        if graded.cells and len(graded.cells) != len(cells):
            raise NotRecorded("the gradebook and the source disagree on the assignment's cells: build it again")
        notebook = nbformat.v4.new_notebook()
        notebook.cells = preprocessors.notebook_cells(cells, self.metadata)
        if self.kernelspec:
            notebook.metadata["kernelspec"] = self.kernelspec
        preprocessors.write_outputs(notebook.cells, cells, graded)
        try:
            self._write(student, notebook)
        except OSError as error:
            raise _for_one(error) from None
        grades: Grades = {}
        comments: Comments = {}
        in_files = files.may_hold_answers(self._folder("submitted", student), self._release)
        blank = set() if in_files else unanswered(cells, self.assignment, self.released)
        for cell in notebook.cells:
            self._assess(cell, graded.verdict, blank, grades, comments)
        _, recorded = self.results.latest_of(self.assignment.name, student)
        before, answers = preprocessors.answers_in(recorded), answers_of(cells)
        same = {name for name in grades if unchanged(before, answers, name, name in self.exercises)}
        timestamp = self._timestamp(student)
        self.waiting.append(Row(student, grades, comments, timestamp, graded.verdict, key, answers, same))
        if self.due < time.monotonic() or (len(self.waiting) >= MANY and not self.is_kept):
            self.flush()

    def _assess(
        self, cell: NotebookNode, verdict: Verdict, unanswered: set[str], grades: Grades, comments: Comments
    ) -> None:
        """Set what SaveVerdict would set: the points of a grade cell, the comment on a solution cell."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if utils.is_grade(cell):
            if name in self.exercises or preprocessors.is_by_code(cell):
                grades[name] = preprocessors.score_of(name, verdict.exercise(self.exercises.get(name)))
            else:
                grades[name] = 0.0 if name in unanswered else None
        if utils.is_solution(cell):
            comments[name] = preprocessors.comment_on(cell, unanswered)

    def _write(self, student: str, notebook: NotebookNode) -> None:
        """Make autograded/STUDENT/NN/: the notebook and the files handed in beside it, overwritten by the source's."""
        name, converter = self.assignment.name, self.converter
        target = self._folder("autograded", student)
        if os.path.exists(target):
            utils.rmtree(target)
        os.makedirs(target)
        if self._beside(student):
            BaseConverter.init_assignment(converter, name, student)
        for source, place in self._files_of_source:
            os.makedirs(os.path.dirname(os.path.join(target, place)), exist_ok=True)
            if os.path.exists(os.path.join(target, place)):
                os.remove(os.path.join(target, place))
            shutil.copy(source, os.path.join(target, place))
        text = nbformat.v4.writes(notebook)
        with open(os.path.join(target, f"{name}.ipynb"), "w", encoding="utf-8") as file:
            file.write(text if text.endswith("\n") else text + "\n")
        converter.set_permissions(name, student)

    @functools.cached_property
    def _files_of_source(self) -> list[tuple[str, str]]:
        """(path, place in a submission) of each file beside the source notebook."""
        directory = self.directory
        folder = directory.format_path(directory.source_directory, ".", self.assignment.name)
        kept = {os.path.join(folder, n) for n in self.converter.exclude_overwriting.get(self.assignment.name, [])}
        found = set(utils.find_all_files(folder, [*directory.ignore, "*.ipynb"])) - kept
        return [(path, os.path.relpath(path, folder)) for path in sorted(found)]

    def _folder(self, step: str, student: str) -> str:
        directory = self.directory
        return directory.format_path(getattr(directory, f"{step}_directory"), student, self.assignment.name)

    @property
    def _release(self) -> str:
        directory = self.directory
        return directory.format_path(directory.release_directory, ".", self.assignment.name)

    def _timestamp(self, student: str) -> datetime | None:
        return self.directory.get_existing_timestamp(self._folder("submitted", student))

    # --- many submissions -------------------------------------------------------------------------

    def flush(self) -> None:
        """Record the waiting rows; while another program locks the gradebook, they keep waiting."""
        self.is_kept, self.due = False, time.monotonic() + SECONDS
        while self.waiting and not self.is_kept:
            try:
                self._record_rows(self.waiting[:MANY])
                self.waiting = self.waiting[MANY:]
            except OperationalError as error:
                if not is_kept(error):
                    raise
                self.is_kept, self.due = True, time.monotonic() + LATER

    def _record_rows(self, rows: Sequence[Row]) -> None:
        """Record rows in one transaction; then note that they are recorded."""
        with self.gradebook.engine.begin() as database:  # separate and sorted: others may add the same ones
            _insert_new(database, Student.__table__, [{"id": name} for name in sorted(row.student for row in rows)])
        with self.gradebook.engine.begin() as database:
            submissions = self._submissions(database, rows)
            late = [student for student, (_, is_late) in submissions.items() if is_late and student not in self.excused]
            for name in self.notebooks:
                self._record(database, name, rows, {student: id for student, (id, _) in submissions.items()})
        for student in late:
            penalties.assign(self.converter, self.directory.db_url, self.assignment.name, student)
        for row in rows:
            try:
                self.results.put_latest(self.assignment.name, row.student, row.verdict, row.recorded())
            except OSError as error:
                self.unrecorded.append((row.student, str(_for_one(error))))

    def _submissions(self, database: Connection, rows: Sequence[Row]) -> dict[str, tuple[str, bool]]:
        """Make sure that the submissions exist; returns {student: (the submission's id, whether it is late)}."""
        names = [row.student for row in rows]
        found = {
            s.student_id: s
            for s in database.execute(
                select(SubmittedAssignment.id, SubmittedAssignment.student_id, SubmittedAssignment.extension).where(
                    SubmittedAssignment.assignment_id == self.id, SubmittedAssignment.student_id.in_(names)
                )
            )
        }
        extensions = self.results.extensions(self.assignment.name)
        table = SubmittedAssignment.__table__
        new = [
            {
                "id": new_uuid(),
                "assignment_id": self.id,
                "student_id": row.student,
                "timestamp": row.timestamp,
                "extension": extensions.get(row.student),
            }
            for row in rows
            if row.student not in found
        ]
        timed = [
            {"of": found[row.student].id, "at": row.timestamp} for row in rows if row.student in found and row.timestamp
        ]
        if new:
            database.execute(insert(table), new)
        if timed:
            database.execute(
                update(table).where(table.c.id == bindparam("of")).values(timestamp=bindparam("at")), timed
            )
        ids = {**{s["student_id"]: s["id"] for s in new}, **{student: s.id for student, s in found.items()}}
        extensions |= self._carried(database, found, extensions)
        return {
            row.student: (ids[row.student], self._is_late(row.timestamp, extensions.get(row.student))) for row in rows
        }

    def _carried(
        self, database: Connection, found: Mapping[str, Any], kept: Mapping[str, timedelta]
    ) -> dict[str, timedelta]:
        """The extensions of submissions that exist; those get the `kept` one that have none, as from a failed run."""
        table = SubmittedAssignment.__table__
        carried = {student: kept[student] for student, s in found.items() if not s.extension and student in kept}
        if carried:
            database.execute(
                update(table).where(table.c.id == bindparam("of")).values(extension=bindparam("more")),
                [{"of": found[student].id, "more": more} for student, more in carried.items()],
            )
        return {**{student: s.extension for student, s in found.items() if s.extension}, **carried}

    def _is_late(self, timestamp: datetime | None, extension: timedelta | None) -> bool:
        due = due_with(self.duedate, extension)
        return due is not None and timestamp is not None and timestamp > due

    def _record(self, database: Connection, name: str, rows: Sequence[Row], submissions: dict[str, str]) -> None:
        """Record points and comments of one notebook of the assignment (there is one, but nbgrader allows more)."""
        notebooks = dict(
            database.execute(
                select(SubmittedNotebook.assignment_id, SubmittedNotebook.id).where(
                    SubmittedNotebook.notebook_id == self.notebooks[name],
                    SubmittedNotebook.assignment_id.in_(list(submissions.values())),
                )
            ).all()
        )
        new = [
            {"id": new_uuid(), "notebook_id": self.notebooks[name], "assignment_id": submission}
            for submission in submissions.values()
            if submission not in notebooks
        ]
        if new:
            database.execute(insert(SubmittedNotebook.__table__), new)
        notebooks.update({n["assignment_id"]: n["id"] for n in new})
        by_student = {student: notebooks[submission] for student, submission in submissions.items()}
        if name != self.assignment.name:
            grades = comments = [(notebook, {}) for notebook in by_student.values()]
        else:
            grades = [
                (by_student[row.student], {name: (score, name in row.unchanged) for name, score in row.grades.items()})
                for row in rows
            ]
            comments = [(by_student[row.student], row.comments) for row in rows]
            table = SubmittedNotebook.__table__
            database.execute(
                update(table).where(table.c.id.in_(list(by_student.values()))).values(late_submission_penalty=None)
            )
        grade_cells, comment_cells = self.cells[name]
        _put(database, Grade.__table__, grade_cells, grades, _graded)
        _put(database, Comment.__table__, comment_cells, comments, _commented)


def is_kept(error: object) -> bool:
    """Whether a database error says that another program is writing to SQLite's file, or locks it."""
    return "database is locked" in str(getattr(error, "orig", None))


def _for_one(error: OSError) -> NotRecorded:
    """The NotRecorded for a student's file or folder that cannot be written. Raises errors that concern everybody."""
    if error.errno in DISK:
        raise error
    where = f"{os.fsdecode(error.filename2 or error.filename)} " if error.filename else ""
    return NotRecorded(f"{where}cannot be written ({error.strerror or error}): check what is there")


def _graded(given: tuple[float | None, bool] | None, manual_score: float | None, waited: bool) -> dict[str, Any]:
    score, same = given or (None, False)
    return {"auto_score": score, "needs_manual_grade": preprocessors.waits(score, manual_score, waited, same)}


def _commented(comment: str | None, manual_comment: str | None, waited: bool) -> dict[str, Any]:
    return {"auto_comment": comment}


def _put(
    database: Connection,
    table: Any,
    cells: dict[str, str],
    wanted: Sequence[tuple[str, dict[str, Any]]],
    values: Callable[[Any, Any, bool], dict[str, Any]],
) -> None:
    """Insert or update rows by notebook and cell: `wanted` is a list of (a notebook's id, {name of a cell: value}).

    `values` maps a value, the value that a person has given (or None), and whether a person was to look at the cell, to
    columns. A cell without a value gets a row if it has none; an existing row stays as it is.
    """
    is_grade = table is Grade.__table__
    manual = table.c.manual_score if is_grade else table.c.manual_comment
    waits = table.c.needs_manual_grade if is_grade else literal(False)
    found = database.execute(
        select(table.c.id, table.c.notebook_id, table.c.cell_id, manual, waits).where(
            table.c.notebook_id.in_([notebook for notebook, _ in wanted])
        )
    )
    there = {(row.notebook_id, row.cell_id): (row.id, row[3], bool(row[4])) for row in found}
    new, changed = [], []
    for notebook, by_name in wanted:
        for name, cell in cells.items():
            id, given, waited = there.get((notebook, cell), (None, None, False))
            row = values(by_name.get(name), given, waited)
            if id is None:
                new.append({"id": new_uuid(), "notebook_id": notebook, "cell_id": cell, **row})
            elif name in by_name:
                changed.append({"of": id, **{f"new_{column}": value for column, value in row.items()}})
    if new:
        database.execute(insert(table), new)
    if changed:
        columns = [name.removeprefix("new_") for name in changed[0] if name != "of"]
        database.execute(
            update(table)
            .where(table.c.id == bindparam("of"))
            .values({column: bindparam(f"new_{column}") for column in columns}),
            changed,
        )


def _insert_new(database: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the rows with a new `id`."""
    known = set(database.scalars(select(table.c.id).where(table.c.id.in_([row["id"] for row in rows]))))
    new = [row for row in rows if row["id"] not in known]
    if new:
        dialect = {"postgresql": postgresql, "sqlite": sqlite}.get(database.dialect.name)
        statement = dialect.insert(table).on_conflict_do_nothing() if dialect else insert(table)
        database.execute(statement, new)
