"""Makes the page of an attempt in a process of its own, since a notebook can be made to take long to show."""

from __future__ import annotations

import contextlib
import hashlib
import signal
import threading
import time
import zlib
from collections.abc import Collection, Mapping
from multiprocessing import connection, get_context
from typing import Any

from cachetools import LRUCache, TTLCache

from .. import course
from ..batch.processes import without_interrupts
from ..grading.store import Store, as_data, graded_from
from ..report import feedback_page
from ..report.gradebook_marks import GradedNotebook, Mark, Standing
from ..submission.read import read_notebook
from ..submission.restore import restore
from ..submission.written import empty, unanswered
from ..verdict import Graded, Verdict
from . import costs
from .record import Attempt

SECONDS = 10.0  # for a page; most take a tenth of one
FAILED = 600.0  # for which a page is not tried again that could not be made
WAITS = 10.0  # for those before it; then an attempt is shown without its report
STARTS = 60.0  # for the process to get ready
KEPT = 16 * 2**20  # bytes of pages that are kept, packed


class Painter:
    """One process that makes pages; any thread may ask it. It starts when it is first needed."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        self.kept: LRUCache[Any, bytes] = LRUCache(KEPT, getsizeof=len)
        self.failed: TTLCache[Any, bool] = TTLCache(1000, FAILED)
        self.process: Any = None
        self.connection: Any = None

    def close(self) -> None:
        with self.alone:
            self._end()

    def page(self, attempt: Attempt, verdict: Verdict, graded: Graded | None, data: bytes, above: str) -> str:
        """The page with what `verdict` has, which is what may be told; plainly, if it takes too long otherwise.

        `above` is HTML that comes before all else. Returns "" if no page can be made, or not
        soon, because others are before it.
        """
        key = attempt.id, hashlib.sha256(f"{verdict.to_json()}{above}".encode("utf-8", "surrogatepass")).digest()
        if not self.alone.acquire(timeout=WAITS):
            return ""
        try:
            if key in self.failed:
                return ""
            if key not in self.kept:
                about = attempt.assignment, attempt.name, attempt.arrived, verdict.to_dict(), data, above
                whole = as_data(graded) if graded else None
                made = self._asked((*about, whole, False)) or self._asked((*about, whole, True))
                made = made or self._asked((*about, None, True))
                if made is None:
                    self.failed[key] = True
                    return ""
                with contextlib.suppress(ValueError):  # larger than all that is kept
                    self.kept[key] = zlib.compress(made.encode("utf-8", "surrogatepass"), 1)
                return made
            return zlib.decompress(self.kept[key]).decode("utf-8", "surrogatepass")
        finally:
            self.alone.release()

    def _asked(self, job: tuple[Any, ...]) -> str | None:
        """What the process makes of a job; None if it takes too long or dies of it."""
        try:
            pipe = self.connection or self._start()
            begun = time.monotonic()
            try:
                pipe.send(job)
                if pipe.poll(SECONDS):
                    return pipe.recv()
            finally:
                costs.also(time.monotonic() - begun)
        except (EOFError, OSError):
            pass
        self._end()
        return None

    def _start(self) -> Any:
        """Start the process; returns the connection to it, once it is ready."""
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with without_interrupts():
            self.process.start()
        theirs.close()
        pipe: Any = self.connection
        if not pipe.poll(STARTS):
            raise EOFError
        pipe.recv()
        return pipe

    def _end(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
        self.connection = self.process = None


def _work(pipe: connection.Connection) -> None:
    """The process's main loop: make pages until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):
        from ..nbgrader import shown_cells  # noqa: F401  takes its second now

        pipe.send("ready")
        while True:
            job = pipe.recv()
            signal.alarm(int(SECONDS) + 1)  # ends this process, in case the desk itself has ended
            try:
                pipe.send(made(*job))
            except (ValueError, KeyError, RecursionError):
                pipe.send(None)
            signal.alarm(0)


def made(
    assignment: str,
    name: str,
    arrived: Any,
    verdict: Mapping[str, Any],
    data: bytes,
    above: str,
    graded: Mapping[str, Any] | None,
    plainly: bool,
) -> str:
    """The page as HTML."""
    from ..nbgrader.preprocessors import metadata_of, notebook_cells, write_outputs
    from ..nbgrader.shown_cells import shown_cells

    about, told = course.find_assignment(assignment), Verdict.from_dict(verdict)
    cells = restore(read_notebook(data), about.cells, about)
    notebook = notebook_cells(cells, {cell.grade_id: {"nbgrader": metadata_of(cell)} for cell in about.cells})
    known = graded_from(graded, whole=False) if graded else None
    if known is not None and len(known.cells) == len(cells):
        write_outputs(notebook, cells, Graded(told, cells, known.outputs))
    shown = shown_cells({"cells": notebook}, plainly)
    released = Store(course.root()).released(assignment)
    blank = unanswered(cells, about, released)
    own = empty({cell.known.grade_id: cell.source for cell in cells if cell.known}, about, released)
    found = GradedNotebook("", name, Standing(marks(about, told, blank), arrived.replace(tzinfo=None)), {})
    return feedback_page.render(found, told, shown, {}, about, arrived, plainly, above, own)


def marks(assignment: course.Assignment, verdict: Verdict, blank: Collection[str]) -> tuple[Mark, ...]:
    """The points of the exercises that were told, and of a whole notebook the questions: 0 for those left `blank`.

    The others wait for a person.
    """
    exercises = {e.grade_id: e for e in assignment.exercises}
    is_whole = len(verdict.exercises) > 1 or len(exercises) == 1
    found = []
    for cell in assignment.cells:
        exercise = exercises.get(cell.grade_id)
        outcome = verdict.exercise(exercise.name) if exercise else None
        if outcome is not None:
            found.append(Mark(cell.grade_id, outcome.exercise, outcome.score, None, 0.0, outcome.max_score, False))
        elif cell.grade and exercise is None and is_whole:
            none = cell.grade_id in blank
            found.append(Mark(cell.grade_id, "", 0.0 if none else None, None, 0.0, cell.points, not none))
    return tuple(found)
