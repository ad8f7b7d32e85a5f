"""Makes the release and the solutions from a source notebook: preprocessors for nbgrader's own generators.

The source cell of a fix exercise holds the repaired code between BEGIN/END SOLUTION, and the buggy original between
BEGIN/END ORIGINAL, with every line behind `# `. Students get the original; the solutions get the repaired code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Unicode

from .. import course
from ..errors import CourseError
from ..grading import gate
from ..grading.store import Store
from ..submission.written import released_cells
from . import stripping

if TYPE_CHECKING:
    from nbformat import NotebookNode

MAY_RAISE = "raises-exception"  # a tag: after its cell JupyterLab and nbclient go on, error or not
HIDDEN_TESTS = re.compile(r"\n*### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)


class MarkUnsolved(NbGraderPreprocessor):
    """Lets "Run All" go through an unsolved release: tags the checks and the originals, which may raise.

    To see which cells have an original, it has to come before ReleaseOriginals.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        is_check = cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)
        if is_check or course.original_of(cell.source) is not None:
            tags = cell.metadata.get("tags", [])
            cell.metadata["tags"] = tags if MAY_RAISE in tags else [*tags, MAY_RAISE]  # the author may have set it
        return cell, resources


class ReleaseOriginals(ClearSolutions):
    """nbgrader's ClearSolutions, which also releases the buggy original of a fix exercise in place of a stub.

    Raises CourseError for a notebook with a cell that could not be graded.
    """

    text_stub = Unicode(
        course.PLACEHOLDER, help="The text in the cell of a written answer: c.ClearSolutions.text_stub sets it, too."
    ).tag(config=True)

    def preprocess(self, nb, resources):
        assignment = course.parse(nb, f"{resources['nbgrader']['notebook']}.ipynb")
        gate.require_cells(assignment, nb["cells"])
        Store(course.root()).put_released(assignment.name, released_cells(assignment))
        stripping.strip_metadata(nb.metadata)  # now, since nbgrader goes by the kernel's language
        nb, resources = super().preprocess(nb, resources)
        stripping.strip(nb)
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        original = course.original_of(cell.source)
        if original is None:
            return super().preprocess_cell(cell, resources, cell_index)
        if "### BEGIN SOLUTION" not in cell.source:
            raise CourseError(f"A fix exercise without its solution: {cell.source[:60]!r}")
        cell.source = original
        return cell, resources


class CleanSolutions(NbGraderPreprocessor):
    """Keeps what students may see after the deadline: a source notebook without originals, hidden tests and markers."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        nb, resources = super().preprocess(nb, resources)
        stripping.strip(nb)
        return nb, resources

    def preprocess_cell(self, cell: NotebookNode, resources: Any, cell_index: int) -> tuple[NotebookNode, Any]:
        cell.source = course.answer_of(HIDDEN_TESTS.sub("", cell.source)).rstrip()
        return cell, resources
