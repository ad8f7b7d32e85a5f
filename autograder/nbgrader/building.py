"""Builds assignments: updates their points and makes sure that they can be graded; nbgrader does the rest."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import course
from ..course import Assignment
from ..grading import gate
from ..grading.grader import Grader
from ..grading.store import Store
from ..sandbox import jail
from ..sandbox.parent import WarmParent
from . import changing, colab, points, rules
from .runs import NbgraderCourse


def build(root: Path, names: Sequence[str], runs: NbgraderCourse) -> Iterator[str | Assignment]:
    """Make release/ and solutions/ for assignments; yields sentences on what has changed, and each finished assignment.

    Raises CourseError if an assignment could not be graded as it is, before anything of it is released.
    """
    wanted = points.configured(runs.config)
    colab.configured(runs.config)  # raises now if it is no address
    known = {name: _known(runs, name) for name in names}
    with Grader(WarmParent(level=jail.own_level())) as grader:
        for name in names:
            path = course.assignments(root)[name].path
            gate.require_graders(course.assignments(root)[name])
            changing.require_possible(known[name], course.assignments(root)[name])
            yield from points.write(path, grader.worth(), wanted)
        course.forget()  # it was read before the points were written
        for name in names:
            gate.require(course.assignments(root)[name], grader.grade_solution, wanted, Store(root))
            yield from changing.notes(known[name], course.assignments(root)[name])
            runs.build(name)
            yield course.assignments(root)[name]
    rules.release(Path(root))
    points.write_readme(Path(root) / "README.md", {n: a.points for n, a in course.assignments(root).items()})


def _known(runs: NbgraderCourse, name: str) -> changing.Known | None:
    with runs.gradebook() as gradebook:
        return changing.known(gradebook, name)
