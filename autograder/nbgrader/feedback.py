"""Writes feedback student by student: nbgrader's own converter, which keeps what it has read and compiled."""

from __future__ import annotations

import contextlib
import functools
import glob
import json
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbconvert.writers.files import FilesWriter
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.converters import GenerateFeedback
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor
from sqlalchemy import select

from ..grading.store import write
from . import patches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbformat import NotebookNode
    from nbgrader.coursedir import CourseDirectory
    from sqlalchemy import Row, Select

SOLUTIONS = ("SolutionCell", "TaskCell")  # cells that may have a comment; a task counts if no other cell has its name
GRADED = ("GradeCell", "TaskCell")

PLAIN = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{max-width: 60rem; margin: 2rem auto; font: 16px/1.4 sans-serif}} pre {{white-space: pre-wrap}}</style>
</head>
<body>
<h1>{title} (Score: {score} / {points})</h1>
<p>This is a plain page: making the usual one took too long, or ended before it was done.</p>
{cells}
</body>
</html>
"""


class Feedback(GenerateFeedback):
    """nbgrader's GenerateFeedback, with one exporter for all students and few queries for the grades of each."""

    coursedir: CourseDirectory

    def prepare(self) -> None:
        """Make the exporter and what it needs."""
        patches.apply()
        self._names = None
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.exporter_class(parent=self, config=self.config)
        for preprocessor in self.preprocessors:
            self.exporter.register_preprocessor(GetGradesAtOnce if preprocessor is GetGrades else preprocessor)

    def write(self, student: str) -> None:
        """Write one student's feedback. The working directory must be the course's folder."""
        self.coursedir.student_id = glob.escape(student)
        self.init_notebooks()
        self.convert_notebooks()

    def write_plainly(self, student: str) -> None:
        """Write one student's feedback without anything that may take long: points, comments, and cells as text."""
        self.coursedir.student_id = glob.escape(student)
        self.init_notebooks()
        for path in next(iter(self.assignments.values())):
            name = os.path.splitext(os.path.basename(path))[0]
            given = Given(self.coursedir.db_url, name, self.coursedir.assignment_id, student)
            made = os.path.join(self._format_dest(self.coursedir.assignment_id, student), f"{name}.html")
            write(Path(made), _plain_page(name, path, given))
            os.chmod(made, int(str(self.permissions), 8))

    def init_notebooks(self) -> None:
        """Find the student's notebooks; their names are read from the gradebook once, for the first student."""
        if self._names is None:
            with _reading(self.coursedir.db_url) as gradebook:
                self._names = patches.notebooks_of(gradebook, self.coursedir.assignment_id)
        patches.take_notebooks(self, self._names)


class GetGradesAtOnce(GetGrades):
    """nbgrader's GetGrades with three queries per notebook, where nbgrader makes two or more per cell."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        where = resources["nbgrader"]
        self.given = Given(where["db_url"], where["notebook"], where["assignment"], where["student"])
        nb, resources = NbGraderPreprocessor.preprocess(self, nb, resources)
        where["score"] = self.given.score
        where["max_score"] = self.given.max_score
        where["late_penalty"] = self.given.penalty
        return nb, resources

    def _get_comment(self, cell: NotebookNode, resources: Any) -> None:
        cell.metadata.nbgrader["comment"] = _of(cell, self.given.comments).comment

    def _get_score(self, cell: NotebookNode, resources: Any) -> None:
        found = _of(cell, self.given.grades)
        cell.metadata.nbgrader["score"] = found.score
        cell.metadata.nbgrader["points"] = found.max_score


class Given:
    """The points and comments that a student got for a notebook, by the names of cells. Raises MissingEntry."""

    def __init__(self, url: str, notebook: str, assignment: str, student: str) -> None:
        with _reading(url) as gradebook:
            db = gradebook.db
            submitted = db.execute(_submission(notebook, assignment, student)).first()
            if submitted is None:
                raise MissingEntry(f"The gradebook has no {notebook} of {student}")
            self.grades = _by_cell(db, submitted, Grade, GRADED, Grade.score, Grade.max_score)
            self.comments = _by_cell(db, submitted, Comment, SOLUTIONS, Comment.comment)
        self.penalty = submitted.late_submission_penalty or 0
        self.score = sum((row.score for row in self.grades.values()), 0.0) - self.penalty
        self.max_score = submitted.max_score


def _plain_page(name: str, path: str, given: Given) -> str:
    """The HTML of a plain page, from the autograded notebook at `path`. Raises ValueError."""
    try:
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        parts = [part for cell in cells for part in _plain_parts(cell, given)]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is no notebook: grade it again") from None
    score, points = f"{given.score:g}", f"{given.max_score:g}"
    return PLAIN.format(title=escape(name), score=score, points=points, cells="\n".join(parts))


def _plain_parts(cell: dict[str, Any], given: Given) -> Iterator[str]:
    """A cell's parts on a plain page: its points, its source or what its test found, and a comment."""
    about = cell["metadata"].get("nbgrader", {})
    name = about.get("grade_id")
    is_test = about.get("grade") and not about.get("solution")
    if name in given.grades:
        row = given.grades[name]
        yield f"<h2><code>{escape(name)}</code>: {row.score:g} / {row.max_score:g}</h2>"
    if not is_test:
        source = cell["source"]
        yield f"<pre>{escape(source if isinstance(source, str) else ''.join(source))}</pre>"
    for output in cell.get("outputs", ()) if is_test else ():
        text = output.get("data", {}).get("text/plain", "")
        yield f"<pre>{escape(text if isinstance(text, str) else ''.join(text))}</pre>"
    if name in given.comments and given.comments[name].comment:
        yield f"<pre>{escape(given.comments[name].comment)}</pre>"


@contextlib.contextmanager
def _reading(url: str) -> Iterator[Gradebook]:
    """The gradebook, opened only once. No transaction stays open afterwards, which would keep others from writing."""
    gradebook = _gradebook(url)
    try:
        yield gradebook
    finally:
        gradebook.db.remove()


@functools.lru_cache(maxsize=1)
def _gradebook(url: str) -> Gradebook:
    return Gradebook(url)


def _submission(notebook: str, assignment: str, student: str) -> Select[Any, Any, Any, Any]:
    assigned: Any = Assignment  # nbgrader adds some columns of these two after the class definition
    submitted: Any = SubmittedNotebook
    return (
        select(
            submitted.id,
            submitted.notebook_id,
            submitted.late_submission_penalty,
            submitted.max_score,
        )
        .join(Notebook, Notebook.id == submitted.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == submitted.assignment_id)
        .join(Assignment, assigned.id == SubmittedAssignment.assignment_id)
        .where(Notebook.name == notebook, assigned.name == assignment, SubmittedAssignment.student_id == student)
    )


def _by_cell(db: Any, submitted: Any, table: Any, types: Sequence[str], *columns: Any) -> dict[str, Row[Any]]:
    """Rows of Grade or Comment, by the name of their cell.

    The query goes through the cells: there is an index on (cell, submission) but none on the submission alone, so a
    query by submission would search the rows of the whole class for each student.
    """
    rows = db.execute(
        select(BaseCell.name, *columns)
        .join(table, table.cell_id == BaseCell.id)
        .where(BaseCell.notebook_id == submitted.notebook_id, table.notebook_id == submitted.id)
        .where(BaseCell.type.in_(types))
        .order_by(BaseCell.type.desc())
    )
    return {row.name: row for row in rows}


def _of(cell: NotebookNode, rows: dict[str, Row[Any]]) -> Row[Any]:
    name = cell.metadata["nbgrader"]["grade_id"]
    if name not in rows:
        raise MissingEntry(f"The gradebook has nothing of this student for the cell {name}")
    return rows[name]
