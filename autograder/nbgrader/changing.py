"""Changing a course that has begun: what may change once somebody has handed in, and how the gradebook follows.

Points, texts and read-only cells may change, and cells may be added: who handed in before has 0 for an added one.
Graded cells and answers may not go, since somebody's points or comments hang on them. nbgrader (0.9.6) refuses every
added or removed cell, after it has removed the release.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import (
    Comment,
    Grade,
    GradeCell,
    MissingEntry,
    SolutionCell,
    SourceCell,
    TaskCell,
    new_uuid,
)
from nbgrader.preprocessors import SaveCells
from sqlalchemy import insert, select

from ..course import ORIGINAL
from ..errors import CourseError, UsageError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

    from ..course import Assignment

GO_ON = "Put it back, or put what is new into an assignment of its own, a new folder in source/; nothing was changed."

_create_notebook = SaveCells._create_notebook


@dataclass(frozen=True)
class Known:
    """What the gradebook knows of an assignment's notebook; `students` have handed it in.

    By the names of cells: `sources` are their texts, `graded` the points of those that are graded, `answers` the cells
    with comments, `tasks` nbgrader's tasks, `by_hand` how many marks a person gave in each. `notebooks` has the names
    of all notebooks.
    """

    students: int
    sources: dict[str, str]
    graded: dict[str, float]
    answers: frozenset[str]
    tasks: frozenset[str]
    by_hand: dict[str, int]
    notebooks: frozenset[str]


def known(gradebook: Gradebook, name: str) -> Known | None:
    """What the gradebook knows of an assignment; None if it does not know it.

    Raises UsageError if the assignment of that name is another course's: the students of both would be mixed.
    """
    try:
        notebook: Any = gradebook.find_notebook(name, name)
        others: Any = gradebook.find_assignment(name)
    except MissingEntry:
        return None
    if others.course_id != gradebook.course_id:
        raise UsageError(
            f"The gradebook's {name} belongs to the course {others.course_id!r}, but this is {gradebook.course_id!r}."
            " In nbgrader_config.py, set c.CourseDirectory.course_id back, or give this course a gradebook of its own"
            " (c.CourseDirectory.db_url)."
        )
    graded = [*notebook.grade_cells, *notebook.task_cells]
    answers = [*notebook.solution_cells, *notebook.task_cells]
    marks = gradebook.db.scalars(
        select(Grade.cell_id).where(Grade.cell_id.in_([c.id for c in graded]), Grade.manual_score.is_not(None))
    ).all()
    return Known(
        len(notebook.submissions),
        {c.name: c.source for c in notebook.source_cells},
        {c.name: c.max_score for c in graded},
        frozenset(c.name for c in answers),
        frozenset(c.name for c in notebook.task_cells),
        {c.name: marks.count(c.id) for c in graded},
        frozenset(n.name for n in others.notebooks),
    )


def unknown(assignment: Assignment) -> UsageError:
    """What to raise for an assignment that the gradebook does not know."""
    return UsageError(f"The gradebook does not know {assignment.name}. {_build_first(assignment)}")


def _build_first(assignment: Assignment) -> str:
    return f"Run `autograder build {assignment.name.split('_')[0]}` first."


def require_build(gradebook: Gradebook, assignment: Assignment) -> None:
    """Raises UsageError unless the gradebook knows the assignment as its source has it, points and all."""
    there = known(gradebook, assignment.name)
    if there is None:
        raise unknown(assignment)
    expected = {c.grade_id: c.source for c in assignment.cells}
    locked = [c.grade_id for c in assignment.cells if c.locked and not ORIGINAL.search(c.source)]
    points = {c.grade_id: c.points for c in assignment.cells if c.grade}
    has_changed = there.sources.keys() != expected.keys() or any(there.sources[n] != expected[n] for n in locked)
    if has_changed or there.graded != points:
        only_there = sorted(there.graded.keys() - points.keys())
        what = f": the cell {only_there[0]!r} is no longer graded in it" if only_there else ""
        raise UsageError(
            f"The source of {assignment.name} has changed since it was built{what}. {_build_first(assignment)}"
        )


def require_possible(there: Known | None, assignment: Assignment) -> None:
    """Raises CourseError if the gradebook cannot follow a change of the source, because somebody has handed in."""
    if there is None or not there.students:
        return
    name, handed_in = assignment.name, _handed_in(there.students)
    notebooks = {path.stem for path in Path(assignment.path).parent.glob("*.ipynb")}
    if notebooks != there.notebooks:
        which = ", ".join(sorted(notebooks ^ there.notebooks))
        raise CourseError(
            f"{name}: {handed_in}, so no notebook can be added to its folder or taken away ({which}). {GO_ON}"
        )
    cells = {c.grade_id for c in assignment.cells}
    graded = {c.grade_id for c in assignment.cells if c.grade}
    gone = sorted((there.graded.keys() - graded - there.tasks) | ((there.answers | there.tasks) - cells))
    if gone:
        what = f"cell {gone[0]!r} is" if len(gone) == 1 else f"cells {', '.join(map(repr, gone))} are"
        raise CourseError(
            f"{name}: {handed_in}, and the {what} gone from the source or no longer graded, to which their points or"
            f" comments belong. {GO_ON}"
        )


def require_own_name(gradebook: Gradebook, assignment: Assignment, names: Collection[str]) -> None:
    """Raises CourseError for an assignment that was renamed after somebody had handed in.

    `names` are those of all assignments in the course's source.
    """
    if known(gradebook, assignment.name) is not None:
        return
    graded = {c.grade_id for c in assignment.cells if c.grade}
    others: Any = gradebook.assignments
    for other in others:
        there = None if other.name in names else known(gradebook, other.name)
        if there and there.students and graded and there.graded.keys() == graded:
            raise CourseError(
                f"{assignment.name} has the cells of {other.name}, which is gone from source/, and"
                f" {_handed_in(there.students)}: they would lose their points. Give the folder and its notebook the"
                f" name {other.name} again."
            )


def notes(there: Known | None, assignment: Assignment) -> list[str]:
    """What a change of the source means for those who have handed in already, a sentence for each changed cell."""
    if there is None or not there.students:
        return []
    said, name = [], assignment.name
    for cell in assignment.cells:
        if not cell.grade:
            continue
        before = there.graded.get(cell.grade_id)
        if before is None:
            said.append(
                f"{name}: {cell.grade_id!r} is new, and {_handed_in(there.students)} without it: who did has 0 of its"
                f" {cell.points:g} points, or waits for a look where it may be answered elsewhere, until they hand in"
                " again"
            )
        elif before != cell.points:
            many = there.by_hand.get(cell.grade_id, 0)
            were = "mark that was given by hand stays as it is" if many == 1 else "marks given by hand stay as they are"
            kept = f"; {many} {were}" if many else ""
            said.append(
                f"{name}: {cell.grade_id!r} was worth {before:g} points when {_handed_in(there.students)}, and is worth"
                f" {cell.points:g} now: `autograder grade {name.split('_')[0]}` gives them theirs{kept}"
            )
    return said


def _handed_in(students: int) -> str:
    return "1 student has handed in" if students == 1 else f"{students} students have handed in"


def create_notebook(self: Any, nb: Any) -> None:
    """Replaces SaveCells._create_notebook: where somebody has handed in, cells are added and changed in place.

    All of it is one transaction, so that a kill leaves the gradebook as it was.
    """
    try:
        notebook: Any = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
    except MissingEntry:
        notebook = None
    if notebook is None or not notebook.submissions:
        return _create_notebook(self, nb)
    database = self.gradebook.db
    try:
        kinds = (
            (GradeCell, notebook.grade_cells, self.new_grade_cells),
            (SolutionCell, notebook.solution_cells, self.new_solution_cells),
            (TaskCell, notebook.task_cells, self.new_task_cells),
        )
        for kind, cells, wanted in kinds:
            if gone := {c.name for c in cells} - wanted.keys():
                raise CourseError(f"{self.notebook_id}: {', '.join(sorted(gone))} cannot be removed. {GO_ON}")
            _save(database, notebook, kind, cells, wanted)
        _save(database, notebook, SourceCell, notebook.source_cells, self.new_source_cells)
        for cell in notebook.source_cells:
            if cell.name not in self.new_source_cells:  # a read-only cell, on which nothing hangs
                database.delete(cell)
        database.flush()
        _add_rows(database, notebook)
        database.commit()
    except BaseException:
        database.rollback()
        raise


def _save(database: Any, notebook: Any, kind: Any, cells: Any, wanted: dict[str, dict[str, Any]]) -> None:
    """Add the cells that are new, and bring the others up to date."""
    there = {cell.name: cell for cell in cells}
    for name, info in wanted.items():
        if name not in there:
            database.add(kind(name=name, notebook=notebook, **info))
            continue
        for key, value in info.items():
            setattr(there[name], key, value)


def _add_rows(database: Any, notebook: Any) -> None:
    """Give each submission the rows that nbgrader expects for every cell: 0 points for a cell that was added."""
    database.expire(notebook)
    given = {"auto_score": 0.0, "needs_manual_grade": False}
    graded = [*notebook.grade_cells, *notebook.task_cells]
    commented = [*notebook.solution_cells, *notebook.task_cells]
    for table, cells, values in (
        (Grade.__table__, graded, given),
        (Comment.__table__, commented, {"auto_comment": "No response."}),
    ):
        ids = [cell.id for cell in cells]
        found = database.execute(select(table.c.cell_id, table.c.notebook_id).where(table.c.cell_id.in_(ids)))
        there = {(row.cell_id, row.notebook_id) for row in found}
        new = [
            {"id": new_uuid(), "cell_id": cell, "notebook_id": submitted.id, **values}
            for submitted in notebook.submissions
            for cell in ids
            if (cell, submitted.id) not in there
        ]
        if new:
            database.execute(insert(table), new)
