"""What is done for a whole class: its submissions graded and recorded, its feedback and report written."""

import contextlib
import errno
import fcntl
import os
import sys

DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO}  # what goes wrong for everybody, not for one


class UsageError(Exception):
    """What was asked for cannot be done; the message says why and what to do."""


def grade_class(root, assignment, who, jobs, device, unsafe, renew=False):
    """Grade the submissions of the students `who`, record them, print a summary; returns the exit code."""
    from . import batch, pool
    from .notebooks.nbgrader_runs import Course
    from .verdicts import show
    from .verdicts.store import Store

    runs = Course(root, unsafe=unsafe, device=device)
    require_build(runs, assignment)
    with alone(root, assignment.name):
        fresh, known = batch.grade(
            root,
            assignment,
            who,
            lambda tasks: pool.graded(tasks, jobs, device, unsafe),
            device=device,
            renew=renew,
            progress=lambda items, total: progress("grading", items, total),
        )
        lost = for_each("recording", who, lambda student: runs.autograde(assignment.name, student))
    latest = Store(root).latest(assignment.name)
    print(show.class_table({s: latest[s] for s in who if s in latest}, assignment))
    print(f"{fresh} graded, {known} unchanged since an earlier run, {len(who) - fresh - known} unreadable.")
    return 2 if lost else 0


@contextlib.contextmanager
def alone(root, assignment):
    """Let no other run work on this assignment meanwhile. The lock goes with the process. Raises UsageError.

    Runs on different assignments share nothing but the gradebook, which stands that.
    """
    from .verdicts.store import FOLDER

    folder = os.path.join(root, FOLDER, "locks")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, assignment), "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"Another run is at work on {assignment}: wait for it, or stop it.") from None
        yield


def require_build(runs, assignment):
    """The gradebook must know the assignment as its source has it. Raises UsageError."""
    from nbgrader.api import MissingEntry

    from .notebooks.releasing import ORIGINAL

    advice = f"Run `autograder build {assignment.name.split('_')[0]}` first."
    try:
        with runs.gradebook() as gradebook:
            cells = {c.name: c.source for c in gradebook.find_notebook(assignment.name, assignment.name).source_cells}
    except MissingEntry:
        raise UsageError(f"The gradebook does not know {assignment.name}. {advice}") from None
    expected = {c.grade_id: c.source for c in assignment.cells}
    locked = [c.grade_id for c in assignment.cells if c.locked and not ORIGINAL.search(c.source)]
    if cells.keys() != expected.keys() or any(cells[name] != expected[name] for name in locked):
        raise UsageError(f"The source of {assignment.name} has changed since it was built. {advice}")


def report_class(root, assignment):
    """Write feedback/ and reports/ of an assignment; returns the exit code."""
    from .notebooks.nbgrader_runs import Course
    from .verdicts import report as reports
    from .verdicts.store import Store

    latest = Store(root).latest(assignment.name)
    if not latest:
        raise UsageError(f"Nothing of {assignment.name} is graded yet: run `autograder grade` first.")
    runs = Course(root)
    lost = for_each("feedback", latest, lambda student: runs.feedback(assignment.name, student))
    path = reports.write(root, assignment, latest)
    print(f"feedback/STUDENT/{assignment.name}/{assignment.name}.html and {os.path.relpath(path, root)} are written")
    return 2 if lost else 0


def for_each(what, students, do):
    """Do something for every student. Where nbgrader gives up on one, say so and go on; returns how many those were."""
    from .notebooks.nbgrader_runs import NbgraderError
    from .verdicts.show import name_of

    problems = []
    for student in progress(what, students):
        try:
            do(student)
        except NbgraderError as problem:
            problems.append(f"autograder: {name_of(student)}: {name_of(str(problem))}")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return len(problems)


def progress(what, items, total=None):
    """The items, with a progress bar on a terminal's stderr."""
    from tqdm import tqdm

    return tqdm(items, what, total=total, file=sys.stderr, disable=None, leave=False)
