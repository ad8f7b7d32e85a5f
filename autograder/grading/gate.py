"""What must hold before anything is graded: every graded cell has checks, and the course's own solution is right.

Otherwise a slip in the course could give everybody full marks, or cost everybody points, and nobody would notice.
"""

from collections.abc import Callable, Mapping

from .. import course
from ..course import Assignment
from ..errors import CourseError
from ..verdict import Verdict
from .store import Store


def require(
    assignment: Assignment,
    grade_solution: Callable[[Assignment], Verdict],
    wanted: Mapping[str, float],
    results: Store,
) -> None:
    """Raises CourseError unless an assignment can be graded as it is. An assignment that has passed is not tried again.

    `grade_solution` returns the verdict on the assignment's own solution, with the checks' own points. `wanted` maps
    exercises to the points that the configuration gives them.
    """
    require_graders(assignment)
    wanted = {e.name: wanted[e.name] for e in assignment.exercises if e.name in wanted}
    if results.has_passed(assignment.name, wanted):
        return
    verdict = grade_solution(assignment)
    require_full_marks(verdict)
    require_points(assignment, verdict, wanted)
    results.put_passed(assignment.name, wanted)


def require_graders(assignment: Assignment) -> None:
    """Raises CourseError if a graded code cell belongs to no exercise, or if an exercise has no checks."""
    name = assignment.name
    for cell in assignment.cells:
        if not cell.grade or cell.solution or cell.cell_type != "code":
            continue  # written answers, and code that is graded by hand
        if cell.exercise is None:
            raise CourseError(
                f"{name}: the graded cell {cell.grade_id!r} belongs to no exercise, so nobody would be asked for it."
                " Its source should end with the three lines '### BEGIN HIDDEN TESTS', '# exercise: NAME' and"
                " '### END HIDDEN TESTS'; a cell that only students run should not be graded."
            )
        if course.file_of(cell.exercise, "checks") is None:
            raise CourseError(
                f"{name}: there are no checks for the exercise {cell.exercise!r} of the cell {cell.grade_id!r}: they"
                f" belong into exercises/{cell.exercise}/checks.py."
            )


def require_full_marks(verdict: Verdict) -> None:
    """Raises CourseError unless the course's own solution gets all points in this verdict."""
    for outcome in verdict.exercises:
        failed = next((check for check in outcome.checks if not check.passed), None)
        if outcome.status != "graded" or failed is not None:
            why = f"{failed.name} in its checks.py says: {failed.message}" if failed else outcome.message
            why = f"{outcome.unjudged}." if outcome.unjudged else why
            raise CourseError(
                f"{verdict.assignment}: the solution of {outcome.exercise} in source/ does not get full marks, so"
                f" nothing is graded. {why}"
            )


def require_points(assignment: Assignment, verdict: Verdict, wanted: Mapping[str, float]) -> None:
    """Raises CourseError if a cell is not worth what its checks, or the configuration, say.

    `verdict` is the verdict on the course's own solution, with the checks' own points. `wanted` maps exercises to the
    points that the configuration gives them.
    """
    for exercise in assignment.exercises:
        outcome = verdict.exercise(exercise.name)
        worth = sum(check.points for check in outcome.checks) if outcome else 0.0
        right = wanted.get(exercise.name, worth)
        if exercise.points != right:
            raise CourseError(
                f"{assignment.name}: the cell {exercise.grade_id!r} is worth {exercise.points:g} points, and"
                f" {exercise.name} is worth {right:g}. To make it worth {exercise.points:g}, write c.Exercises.points ="
                f' {{"{exercise.name}": {exercise.points:g}}} into nbgrader_config.py; otherwise run `autograder'
                f" build`, or give the cell {right:g} points again."
            )
