"""`autograder excuse`: an assignment does not count for a student, in no export, average or penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import course
from ..errors import UsageError
from ..grading.store import Store
from ..nbgrader import penalties
from ..nbgrader.runs import NbgraderCourse
from ..verdict import printable
from .commands import locked
from .people import require_student

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 200  # characters of a reason


def reason_of(text: str) -> str:
    """A reason in one line, which deceives no reader. Raises UsageError if it is longer than LONGEST."""
    if len(text) > LONGEST:
        raise UsageError(f"The reason has {len(text):,} characters: say it in at most {LONGEST}.")
    return " ".join(printable(text).split())


def excuse(root: Path, assignment: course.Assignment, student: str, why: str) -> str:
    """Have an assignment not count for a student, for a reason that may be ""; returns a sentence. Raises UserError."""
    why = reason_of(why)
    _change(root, assignment, student, why)
    return f"{printable(student)} is excused from {assignment.name}{f': {why}' if why else ''}."


def undo(root: Path, assignment: course.Assignment, student: str) -> str:
    """Have an assignment count again for a student; returns a sentence. Raises UserError."""
    _change(root, assignment, student, None)
    return f"{printable(student)}: {assignment.name} counts."


def _change(root: Path, assignment: course.Assignment, student: str, why: str | None) -> None:
    """Keep or, with None, take back an excuse; a late penalty that the student has is determined again."""
    runs, results = NbgraderCourse(root), Store(root)
    with locked(root, assignment.name):
        kept = results.excused(assignment.name)
        if why is not None or student not in kept:  # what is kept can be taken back of who has left the gradebook, too
            with runs.gradebook() as gradebook:
                require_student(gradebook, results, student, must_be_there=why is not None)
        others = {one: reason for one, reason in kept.items() if one != student}
        results.put_excused(assignment.name, others if why is None else {**others, student: why})
        penalties.settle(runs, assignment, student)


def listing(root: Path) -> str:
    """Who is excused from what, one line each."""
    results, lines = Store(root), []
    dropped = results.dropped()
    for name in course.assignments(root):
        for student, why in sorted(results.excused(name).items()):
            if student not in dropped:
                lines.append(f"{name}  {printable(student)}{f': {printable(why)}' if why else ''}")
    return "\n".join(lines) or "Nobody is excused."


def wanted(root: Path, words: list[str], is_undone: bool) -> str:
    """Do what the words of the command line say; returns what to print. Raises UserError."""
    if not words and not is_undone:
        return listing(root)
    if len(words) not in ((2,) if is_undone else (2, 3)):
        raise UsageError(
            'Say who, what and, if you like, why: `autograder excuse ada 03 "ill"`, or `autograder excuse --undo ada'
            " 03`."
        )
    student, assignment = words[0], course.find_assignment(words[1])
    return undo(root, assignment, student) if is_undone else excuse(root, assignment, student, "".join(words[2:]))
