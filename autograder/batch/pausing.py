"""`autograder pause`: a period that does not count, for everybody or some students; due dates move."""

from __future__ import annotations

import contextlib
import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from .. import course
from ..errors import UsageError
from ..grading import pauses
from ..grading.pauses import Pause
from ..grading.store import Store
from ..nbgrader import penalties
from ..nbgrader.runs import NbgraderCourse
from ..report.gradebook_marks import due_with
from ..verdict import printable
from .commands import locked
from .people import require_student

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DAY = timedelta(days=1)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2})?")
FORM = "Write days as 2026-11-20, or times as 2026-11-20T12:00 (UTC)"
MOST = 200  # pauses of a course
FEW = 100  # students of one
PAUSES = "pauses"  # the name of their lock


def pause_of(
    begin: str,
    end: str,
    students: Sequence[str] = (),
    assignments: Sequence[str] = (),
    kept: Sequence[Pause] = (),
) -> Pause:
    """A Pause from the begin of a day to the end of another, or between two times. Raises UsageError.

    Of assignments, those that a `kept` pause is for need not be in the course any more.
    """
    starts, ends = _moment(begin), _moment(end)
    if len(end.strip()) == len("2026-11-20"):
        ends += DAY
    if ends <= starts:
        raise UsageError(f"{end.strip()} is before {begin.strip()}: give the first day, then the last one.")
    if ends - starts > pauses.LONGEST:
        raise UsageError(f"A pause has at most {pauses.LONGEST.days} days: give a later first or an earlier last day.")
    if len(students) > FEW:
        raise UsageError(f"A pause is for at most {FEW} students by name: leave out --for, and it is for everybody.")
    gone = {name for one in kept for name in one.assignments}
    names = sorted({one if one in gone else course.find_assignment(one).name for one in assignments})
    return Pause(starts, ends, tuple(sorted(set(students))), tuple(names))


def _moment(text: str) -> datetime:
    text = text.strip()
    try:
        when = datetime.fromisoformat(text).replace(tzinfo=UTC) if text.isascii() and DATE.fullmatch(text) else None
    except ValueError:  # such as the 30th of February
        when = None
    if when is None or when >= pauses.LATEST - DAY:
        raise UsageError(f"{text[:40]!a} is no day. {FORM}.")
    return when


def pause(root: Path, wanted: Pause) -> str:
    """Keep a pause; returns which due dates it moves, a line each. Raises UserError."""
    _change(root, wanted, is_new=True)
    moved = [line for line in _moves(root, wanted) if line]
    return "\n".join([f"Paused: {shown(wanted)}", *(moved or ["No due date moves."])])


def undo(root: Path, wanted: Pause) -> str:
    """Take a pause back; returns a sentence. Raises UserError."""
    _change(root, wanted, is_new=False)
    return f"No longer paused: {shown(wanted)}"


def _change(root: Path, wanted: Pause, is_new: bool) -> None:
    """Keep a pause or take it back; late penalties on which it bears are determined again."""
    runs, results = NbgraderCourse(root), Store(root)
    concerned = [one for one in course.assignments(root).values() if one.name in wanted.assignments]
    concerned = concerned or [*course.assignments(root).values()]
    with contextlib.ExitStack() as stack:
        for name in (PAUSES, *(one.name for one in concerned)):
            stack.enter_context(locked(root, name))
        found = results.pauses()  # another instructor may have changed them until now
        kept = [one for one in found if one != wanted]
        if is_new:
            _require_new(runs, results, wanted, kept)
            kept.append(wanted)
        elif wanted not in found:
            raise UsageError("There is no such pause: `autograder pause` lists them, as they are to be typed.")
        results.put_pauses(kept)
        for assignment in concerned:
            for student in wanted.students or (None,):
                penalties.settle(runs, assignment, student)


def _require_new(runs: NbgraderCourse, results: Store, wanted: Pause, others: Sequence[Pause]) -> None:
    """Raises UsageError unless a pause is for students of the class, and there are not too many `others`."""
    if len(others) >= MOST:
        raise UsageError(f"There are {MOST} pauses already: `autograder pause --undo` takes one back.")
    with runs.gradebook() as gradebook:
        for student in wanted.students:
            require_student(gradebook, results, student, must_be_there=True)


def _moves(root: Path, wanted: Pause) -> list[str]:
    """For each due date that a pause moves: when it is now, for the class or for the students of the pause."""
    results = Store(root)
    before = [one for one in results.pauses() if one != wanted]
    lines = []
    with NbgraderCourse(root).gradebook() as gradebook:
        known: Any = gradebook.assignments
        dues = {one.name: one.duedate for one in known}
    for name in course.assignments(root):
        extensions = results.extensions(name)
        for student in wanted.students or ("",):
            due = due_with(dues.get(name), extensions.get(student))
            now = pauses.moved(due, [*before, wanted], student, name)
            if now is not None and now != pauses.moved(due, before, student, name):
                whose = f"{printable(student)}: " if student else ""
                lines.append(f"{whose}{name} is due on {now:%Y-%m-%d %H:%M} UTC.")
    return lines


def shown(one: Pause) -> str:
    """A pause as it is typed."""
    whose = [f"--for {shlex.quote(printable(student))}" for student in one.students]
    where = map(printable, one.assignments)
    return " ".join([_written(one.begin), _written(one.end, is_end=True), *whose, *where])


def in_words(one: Pause) -> str:
    """A pause for a reader."""
    whose = f", for {', '.join(map(printable, one.students))}" if one.students else ""
    where = f", in {', '.join(map(printable, one.assignments))}" if one.assignments else ""
    return f"{_written(one.begin)} to {_written(one.end, is_end=True)}{whose}{where}"


def words(one: Pause) -> dict[str, str]:
    """The same as a form has it; with a name in each line."""
    whose = {"student": "\n".join(one.students), "assignment": "\n".join(one.assignments)}
    return {"begin": _written(one.begin), "end": _written(one.end, is_end=True), **whose}


def _written(when: datetime, is_end: bool = False) -> str:
    if when.hour or when.minute:
        return when.replace(tzinfo=None).isoformat("T", "minutes")  # unlike %Y, with four digits of any year
    return (when - DAY if is_end else when).date().isoformat()


def listing(root: Path) -> str:
    """The pauses, one line each, as they are typed; without those of students who have left alone."""
    results = Store(root)
    dropped = results.dropped()
    found = [one for one in sorted(results.pauses()) if not one.students or {*one.students} - dropped]
    return "\n".join(map(shown, found)) or "There is no pause."


def wanted(root: Path, words: Sequence[str], students: Sequence[str], is_undone: bool) -> str:
    """Do what the words of the command line say; returns what to print. Raises UserError."""
    if not words and not students and not is_undone:
        return listing(root)
    if len(words) < 2:
        raise UsageError(f"Say from when to when: `autograder pause 2026-11-20 2026-11-24`. {FORM}.")
    begin, end, *names = words
    one = pause_of(begin, end, students, names, Store(root).pauses() if is_undone else ())
    return undo(root, one) if is_undone else pause(root, one)
