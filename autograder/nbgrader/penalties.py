"""Late penalties, as the course's late-submission plug-in determines them from a student's points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties

from ..grading.store import Store
from .standings import standings

if TYPE_CHECKING:
    from nbgrader.converters import Autograde

    from .. import course
    from .runs import NbgraderCourse


def assign(converter: Autograde, db_url: str, assignment: str, student: str) -> None:
    """Assign a student's penalty; the gradebook has the points and the times already."""
    where = {"student": student, "assignment": assignment, "notebook": assignment, "db_url": db_url}
    resources: Any = {"nbgrader": where}
    AssignLatePenalties(parent=converter).preprocess(nbformat.v4.new_notebook(), resources)


def settle(runs: NbgraderCourse, assignment: course.Assignment, student: str | None = None) -> None:
    """Assign all penalties of an assignment again, or that of one `student`: points or dates may be others now.

    Where the course takes nothing off, penalties stay: a person may have set them.
    """
    converter = runs.autograding()
    if AssignLatePenalties not in converter.autograde_preprocessors or not _may_cost(converter):
        return
    with runs.gradebook() as gradebook:
        found = standings(gradebook, Store(runs.root), assignment, student)
    for student, standing in found.items():
        if standing.penalty or standing.late:
            assign(converter, runs.directory.db_url, assignment.name, student)


def _may_cost(converter: Autograde) -> bool:
    """Whether the course's plug-in may take anything off."""
    by = AssignLatePenalties(parent=converter)
    by.init_plugin()
    return type(by.plugin_inst) is not LateSubmissionPlugin or by.plugin_inst.penalty_method != "none"
