"""The processes that write a class's feedback, one student after another, each with a converter of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from multiprocessing import connection, get_context
from typing import TypeAlias

from ..errors import NbgraderError, UsageError
from ..submission.read import StrPath
from .processes import die_with, without_interrupts

STARTS = 10  # students per process that make starting it worthwhile: its first seconds go mostly to imports
DEADLINE = 60.0  # seconds for one page; most pages take less than a second
BEGIN = 300.0  # seconds for a process to get ready
DEATHS = 3  # processes that may end before they are ready
PLAIN = "its feedback took too long or crashed its process, and is a plain page now"
LONGEST = 1000  # characters of a message about a student
READY = "ready"

Page: TypeAlias = tuple[str, bool]  # a student, and whether to write the page plainly


def feedback(
    root: StrPath, assignment: str, students: Sequence[str], jobs: int
) -> Generator[tuple[str, str, bool], None, None]:
    """Write the feedback of these students: yields (student, what went wrong or "", whether there is a page) for each.

    A page that takes longer than DEADLINE, or that kills its process, is written once more as a plain page.
    Raises any error that would affect all students. However it ends, no process is left running and no page is cut
    short.
    """
    jobs = min(jobs, 1 + len(students) // STARTS)
    coming: deque[Page] = deque((student, False) for student in students)
    writers: list[_Writer] = []
    deaths = 0
    try:
        while coming or any(writer.page for writer in writers):
            while len(writers) < min(jobs, len(coming)):
                writers.append(_Writer(str(root), assignment))
            for writer in writers:
                if writer.is_free and coming:
                    writer.give(coming.popleft())
            for writer in _answering(writers):
                page, answer = writer.page, writer.take()
                if isinstance(answer, Exception):
                    raise answer
                if answer is not None:
                    if page:
                        yield page[0], answer or (PLAIN if page[1] else ""), not answer
                    continue
                writers.remove(writer)
                writer.end()
                if page is None:
                    deaths += 1
                    if deaths > DEATHS:
                        raise UsageError(
                            "The processes that write the feedback are killed before they start, perhaps because "
                            "memory runs out. Run the same command again, with fewer --jobs if that is the cause."
                        )
                elif page[1]:
                    yield page[0], "its feedback could not be written, not even as a plain page", False
                else:
                    coming.appendleft((page[0], True))
    finally:
        for writer in writers:
            writer.end()


def _answering(writers: Sequence[_Writer]) -> list[_Writer]:
    """The writers that are ready or done with a page, are dead, or have run out of time."""
    busy = [writer for writer in writers if not writer.is_free]
    left = min(writer.until for writer in busy) - time.monotonic()
    found = connection.wait([writer.connection for writer in busy], max(0.0, left))
    return [w for w in busy if w.connection in found or w.until < time.monotonic()]


class _Writer:
    """A process that writes one page after another, connected by a pipe of its own.

    It sends READY once it has started.
    """

    def __init__(self, root: str, assignment: str) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid(), root, assignment), daemon=True)
        with without_interrupts():  # the head handles Ctrl-C and ends its processes
            self.process.start()
        theirs.close()
        self._owes(None, BEGIN)

    def _owes(self, page: Page | None, seconds: float) -> None:
        self.page, self.is_free, self.until = page, False, time.monotonic() + seconds

    def give(self, page: Page) -> None:
        self._owes(page, DEADLINE)
        with contextlib.suppress(OSError):  # the process may be dead: `take` will notice
            self.connection.send(page)

    def take(self) -> str | Exception | None:
        """The process's answer, or None if it is dead or past its deadline."""
        try:
            answer = self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            answer = None
        self.page, self.is_free = None, answer is not None
        return answer

    def end(self) -> None:
        """End the process: at once if it is busy, otherwise after giving it time to end by itself."""
        self.connection.close()
        if self.is_free:
            self.process.join(5.0)
        self.process.kill()
        self.process.join()


def _work(pipe: connection.Connection, head: int, root: str, assignment: str) -> None:
    """The writer's main loop: write pages until the head closes the pipe or ends."""
    die_with(head)
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            from ..nbgrader.runs import NbgraderCourse

            write = NbgraderCourse(root).feedback(assignment)
            pipe.send(READY)
            while True:
                pipe.send(_written(write, *pipe.recv()))
        except (EOFError, ConnectionError):
            raise
        except Exception as error:
            pipe.send(error)


def _written(write: Callable[[str, bool], None], student: str, plainly: bool) -> str:
    """Write one page; returns what went wrong, or "" if nothing did."""

    try:
        write(student, plainly)
    except NbgraderError as problem:
        return str(problem)[:LONGEST]
    return ""
