"""Writes the feedback of one student after another: nbgrader's own converter, which keeps what it read and compiled."""

import contextlib
import functools
import glob

from nbconvert.filters import clean_html
from nbconvert.writers import FilesWriter
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

from . import nbgrader_patch
from .remembering import remembering

SOLUTIONS = ("SolutionCell", "TaskCell")  # what may have a comment; a task counts where nothing else has its name
GRADED = ("GradeCell", "TaskCell")


class Feedback(GenerateFeedback):
    """nbgrader's GenerateFeedback with one exporter for all students, and their grades read at once."""

    def prepare(self):
        """Make the exporter and what it needs."""
        nbgrader_patch.quicken()
        self._names = None
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.exporter_class(parent=self, config=self.config)
        for preprocessor in self.preprocessors:
            self.exporter.register_preprocessor(GetGradesAtOnce if preprocessor is GetGrades else preprocessor)
        filters = getattr(self.exporter, "environment", self).filters
        if filters.get("clean_html") is clean_html:
            self.exporter.register_filter("clean_html", remembering(clean_html))

    def write(self, student):
        """Write one student's feedback. The working directory must be the course's folder."""
        self.coursedir.student_id = glob.escape(student)
        self.init_notebooks()
        self.convert_notebooks()

    def init_notebooks(self):
        """The notebooks of the student, as the gradebook named them for the first one."""
        if self._names is None:
            with _reading(self.coursedir.db_url) as gradebook:
                self._names = nbgrader_patch.notebooks_of(gradebook, self.coursedir.assignment_id)
        nbgrader_patch.take_notebooks(self, self._names)


class GetGradesAtOnce(GetGrades):
    """nbgrader's GetGrades with three queries for a notebook, where nbgrader makes two or more for each cell."""

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        with _reading(where["db_url"]) as gradebook:
            db = gradebook.db
            submitted = db.execute(_submission(where["notebook"], where["assignment"], where["student"])).first()
            if submitted is None:
                raise MissingEntry(f"The gradebook has no {where['notebook']} of {where['student']}")
            self.grades = _by_cell(db, submitted, Grade, GRADED, Grade.score, Grade.max_score)
            self.comments = _by_cell(db, submitted, Comment, SOLUTIONS, Comment.comment)
        nb, resources = NbGraderPreprocessor.preprocess(self, nb, resources)
        penalty = submitted.late_submission_penalty or 0
        where["score"] = sum((row.score for row in self.grades.values()), 0.0) - penalty
        where["max_score"] = submitted.max_score
        where["late_penalty"] = penalty
        return nb, resources

    def _get_comment(self, cell, resources):
        cell.metadata.nbgrader["comment"] = _of(cell, self.comments).comment

    def _get_score(self, cell, resources):
        found = _of(cell, self.grades)
        cell.metadata.nbgrader["score"] = found.score
        cell.metadata.nbgrader["points"] = found.max_score


@contextlib.contextmanager
def _reading(url):
    """The gradebook, opened once; afterwards no transaction is open, which would keep others from writing."""
    gradebook = _gradebook(url)
    try:
        yield gradebook
    finally:
        gradebook.db.remove()


@functools.lru_cache(maxsize=1)
def _gradebook(url):
    return Gradebook(url)


def _submission(notebook, assignment, student):
    return (
        select(
            SubmittedNotebook.id,
            SubmittedNotebook.notebook_id,
            SubmittedNotebook.late_submission_penalty,
            SubmittedNotebook.max_score,
        )
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Notebook.name == notebook, Assignment.name == assignment, SubmittedAssignment.student_id == student)
    )


def _by_cell(db, submitted, table, types, *columns):
    """Rows of Grade or Comment by the name of their cell.

    Found through the cells: there is an index on (cell, submission), but none on the submission, so that otherwise the
    rows of the whole class would be searched for each student.
    """
    rows = db.execute(
        select(BaseCell.name, *columns)
        .join(table, table.cell_id == BaseCell.id)
        .where(BaseCell.notebook_id == submitted.notebook_id, table.notebook_id == submitted.id)
        .where(BaseCell.type.in_(types))
        .order_by(BaseCell.type.desc())
    )
    return {row.name: row for row in rows}


def _of(cell, rows):
    name = cell.metadata["nbgrader"]["grade_id"]
    if name not in rows:
        raise MissingEntry(f"The gradebook has nothing of this student for the cell {name}")
    return rows[name]
