"""Writes the students' feedback pages: an exporter for nbgrader's own commands, and the writer of a whole class."""

from __future__ import annotations

import glob
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbconvert.exporters import Exporter
from nbconvert.writers.files import FilesWriter
from nbformat import NotebookNode
from nbgrader.converters import GenerateFeedback

from .. import course
from ..grading.store import Store, write
from ..report import feedback_page
from ..submission.written import empty
from . import patches
from .graded_notebooks import graded_notebook, reading
from .safe_markdown import plain
from .shown_cells import comment, shown_cells

if TYPE_CHECKING:
    from nbgrader.coursedir import CourseDirectory


class FeedbackExporter(Exporter):
    """Makes the student's page of an autograded notebook, with its record and the gradebook.

    Its preprocessors are those that the course configures for `GenerateFeedback`; the page needs none.
    """

    @property
    def file_extension(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return ".html"

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> tuple[str, Any]:
        resources = {**(resources or {}), "autograder": {"graded": _changed(filename)}}
        return self.from_notebook_node(_read(filename), resources=resources, **kwargs)

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kwargs: Any) -> tuple[str, Any]:
        nb, resources = super().from_notebook_node(nb, resources, **kwargs)
        graded = resources.get("autograder", {}).get("graded")
        return _page(nb, graded=graded, **resources["nbgrader"]), resources


class Feedback(GenerateFeedback):
    """nbgrader's GenerateFeedback, with one exporter for all students."""

    coursedir: CourseDirectory

    def prepare(self) -> None:
        """Make the exporter and what it needs."""
        patches.apply()
        self._names = None
        self.writer = FilesWriter(parent=self, config=self.config)
        self.exporter = self.exporter_class(parent=self, config=self.config)
        for preprocessor in self.preprocessors:
            self.exporter.register_preprocessor(preprocessor)

    def write(self, student: str) -> None:
        """Write one student's feedback. The working directory must be the course's folder."""
        self.coursedir.student_id = glob.escape(student)
        self.init_notebooks()
        self.convert_notebooks()

    def write_plainly(self, student: str) -> None:
        """Write one student's feedback without anything that may take long: the notebook as plain text, no hooks."""
        self.coursedir.student_id = glob.escape(student)
        self.init_notebooks()
        assignment, url = self.coursedir.assignment_id, self.coursedir.db_url
        for path in next(iter(self.assignments.values())):
            name = os.path.splitext(os.path.basename(path))[0]
            page = _page(_read(path), student, assignment, name, url, _changed(path), plainly=True)
            made = os.path.join(self._format_dest(assignment, student), f"{name}.html")
            write(Path(made), page)
            os.chmod(made, int(str(self.permissions), 8))

    def init_notebooks(self) -> None:
        """Find the student's notebooks; their names are read from the gradebook once, for the first student."""
        if self._names is None:
            with reading(self.coursedir.db_url) as gradebook:
                self._names = patches.notebooks_of(gradebook, self.coursedir.assignment_id)
        patches.take_notebooks(self, self._names)


def _page(
    cells: dict[str, Any],
    student: str,
    assignment: str,
    notebook: str,
    db_url: str,
    graded: datetime | None,
    plainly: bool = False,
    **more: Any,
) -> str:
    """The page of one notebook. Raises ValueError, and MissingEntry if the gradebook knows nothing of it."""
    found = graded_notebook(db_url, notebook, assignment, student)
    about = course.assignments().get(assignment) if notebook == assignment else None
    results = Store(course.root())
    verdict = results.latest_of(assignment, student)[0] if about else None
    shown = plain if plainly else comment
    comments = {name: shown(text) for name, (text, _) in found.comments.items()}
    made = shown_cells(cells, plainly)
    known = ((cell["metadata"].get("nbgrader", {}).get("grade_id", ""), cell) for cell in cells["cells"])
    texts = {grade_id: course.source_of(cell) for grade_id, cell in known}
    blank = empty(texts, about, results.released(assignment)) if about else frozenset()
    return feedback_page.render(found, verdict, made, comments, about, graded, plainly, empty=blank)


def _read(path: str) -> NotebookNode:
    """An autograded notebook. The kit wrote it, so it is not compared with nbformat's schema again.

    Raises ValueError.
    """
    try:
        with open(path, encoding="utf-8") as file:
            notebook: Any = nbformat.from_dict(json.load(file))
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, NotebookNode) or "cells" not in notebook:
        raise ValueError(f"{path} is not a notebook: grade it again")
    return notebook


def _changed(path: str) -> datetime:
    """When a file was written last (UTC)."""
    return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
