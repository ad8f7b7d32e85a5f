"""Builds assignments: updates their points and makes sure that they can be graded; nbgrader does the rest."""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .. import course
from ..course import Assignment
from ..grading import course_faults, gate
from ..grading.grader import Grader
from ..grading.rounds import Rounds
from ..grading.store import Store
from ..sandbox import jail
from ..sandbox.parent import WarmParent
from . import changing, colab, desk_cell, diagrams, for_students, options, points, readme
from .runs import NbgraderCourse


def build(
    root: Path, names: Sequence[str], runs: NbgraderCourse, made: dict[str, str] | None = None
) -> Iterator[str | Assignment]:
    """Make release/ and solutions/ for assignments; yields sentences on what has changed, and each finished assignment.

    `made` gets the SHA-256 of each file of release/ that was made, by its path in the course.

    Raises CourseError if an assignment could not be graded as it is, before anything of it is released.
    """
    gate.refuse(course_faults.of_source(root / "source"))
    wanted = options.points_wanted(runs.config)
    colab.configured(runs.config)  # raises now if it is no address
    desk_cell.configured(runs.config)
    known = {name: _known(runs, name) for name in names}
    with Grader(WarmParent(level=jail.own_level())) as grader:
        for name in names:
            gate.require_modules(course.assignments(root)[name])
            path = course.assignments(root)[name].path
            for_students.require_publishable(path)
            gate.require_cells(course.assignments(root)[name])
            changing.require_possible(known[name], course.assignments(root)[name])
            with runs.gradebook() as gradebook:
                changing.require_own_name(gradebook, course.assignments(root)[name], course.assignments(root))
            yield from points.write(path, grader.worth(), wanted)
        course.forget()  # it was read before the points were written
        results = Store(root)
        for name in names:
            seed = Rounds(results, name).first()
            judge = functools.partial(grader.grade_trial, seed=seed)
            yield from gate.require(course.assignments(root)[name], judge, wanted, results, seed)
        drawn = {
            name: diagrams.pictures(grader.parent, name, course.cells_in(course.assignments(root)[name].path))
            for name in names
        }
        for name in names:
            yield from changing.notes(known[name], course.assignments(root)[name])
            for path in for_students.of_solutions_alone(course.assignments(root)[name].path):
                yield f"{path.relative_to(root)} is left out of release/: only a solution or a scheme shows it"
            runs.build(name)
            diagrams.store(runs, name, drawn[name])
            desk_cell.write(Path(root), name, runs.config)
            _note(root, (Path(root) / "release" / name).rglob("*"), made)
            yield course.assignments(root)[name]
    _note(root, for_students.release(Path(root), desk_cell.configured(runs.config)), made)
    readme.write(Path(root) / "README.md", course.assignments(root).values())


def _note(root: Path, paths: Iterable[Path], made: dict[str, str] | None) -> None:
    """Keep what the files with these paths hold, right after they were made; hidden files are not for students."""
    for path in paths:
        place = path.relative_to(root)
        if made is not None and path.is_file() and not path.is_symlink() and not place.as_posix().count("/."):
            made[place.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()


def _known(runs: NbgraderCourse, name: str) -> changing.Known | None:
    with runs.gradebook() as gradebook:
        return changing.known(gradebook, name)
