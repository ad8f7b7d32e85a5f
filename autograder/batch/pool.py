"""Grades tasks on this machine: a pool of processes, each with a warm sandbox of its own."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, get_context
from pathlib import Path
from typing import cast

from ..errors import SandboxError, UserError
from ..grading import start
from ..verdict import FULL, Graded, Outcome
from . import tasks
from .processes import die_with, without_interrupts
from .tasks import ATTEMPTS, PATIENCE, Noted, Task

READY = "ready"


class Pool:
    """The Engine of this machine: `jobs` processes, all of which have ended when it exits.

    They share what they learn of mistakes in the folder `learnt`, if there is one. `tell` is called with the outcomes
    of exercises of a task that `tells`, while the rest of it is still being graded.
    """

    def __init__(
        self,
        jobs: int,
        device: str = "cpu",
        sandbox: str = FULL,
        learnt: Path | None = None,
        tell: Callable[[Task, Outcome], None] = lambda task, outcome: None,
    ) -> None:
        self.jobs = jobs
        self.tell = tell
        self.settings = device, sandbox, learnt
        self.workers: list[_Worker] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        for worker in self.workers:
            worker.connection.close()  # first for all, so that they clean up at the same time
        for worker in self.workers:
            worker.end()

    def warm(self, total: int) -> None:
        """Start as many workers as `total` tasks can use."""
        while len(self.workers) < min(self.jobs, total):
            self.workers.append(_Worker(*self.settings))

    def graded(self, coming: Iterator[Task], total: int, alone: bool = False) -> Iterator[tuple[Task, Graded]]:
        """Yield (task, Graded) as tasks finish; every task comes out, whatever happens to the workers.

        `coming` is an iterator of at most `total` tasks. It is asked for one when a worker is free; with `alone`, only
        when all workers are. A worker that dies is replaced, and its task is given to another one. A task that
        ATTEMPTS workers died of gets what its checks gave before that, and 0 for the rest; so does a task that took
        its workers longer than PATIENCE in all.
        Raises SandboxError if there is no sandbox, GraderError if the checks cannot be used.
        """
        waiting: deque[Task] = deque()
        deaths: Counter[str | None] = Counter()  # by the task's key; None for workers that died before they were ready
        ends: dict[str, float] = {}
        noted: defaultdict[str, dict[str, Outcome]] = defaultdict(dict)  # by the task's key and the exercise

        def are_waiting() -> bool:
            if not waiting and (task := next(coming, None)) is not None:
                waiting.append(task)
            return bool(waiting)

        def give(worker: _Worker) -> None:
            task = waiting.popleft()
            worker.give(task)
            worker.until = ends.setdefault(task.key, worker.until)

        while are_waiting() or any(worker.task for worker in self.workers):
            self.warm(1 if alone else total)
            for worker in self.workers:
                if worker.free and are_waiting() and not (alone and any(other.task for other in self.workers)):
                    give(worker)
            for worker in _answering(self.workers):
                task, answer = worker.task, worker.take()
                if isinstance(answer, UserError):
                    raise answer
                if isinstance(answer, Noted):
                    if task is not None:
                        noted[task.key][answer.outcome.exercise] = answer.outcome
                    continue
                if isinstance(answer, Outcome):
                    if task is not None:
                        self.tell(task, answer)
                    continue
                if answer is None:  # the worker is dead
                    self.workers.remove(worker)
                    worker.end()
                    culprit = task and task.key
                    deaths[culprit] += ATTEMPTS if worker.silent else 1
                    if task is None and deaths[culprit] > ATTEMPTS * self.jobs:
                        raise SandboxError("The grading processes die before they start.")
                    if task is not None and deaths[culprit] < ATTEMPTS:
                        waiting.append(task)
                    elif task is not None:
                        yield task, tasks.killed(task, noted.pop(task.key, {}))
                elif task is not None:
                    noted.pop(task.key, None)
                    if are_waiting():  # first, so that the worker is busy while the head handles this result
                        give(worker)
                    yield task, cast(Graded, answer)


def _answering(workers: Sequence[_Worker]) -> list[_Worker]:
    """The workers that are ready or have an answer, are dead, or have been silent for too long."""
    busy = [worker for worker in workers if worker.asked]
    left = min(worker.until for worker in busy) - time.monotonic()
    found = connection.wait([worker.connection for worker in busy], max(0.0, left))
    return [w for w in busy if w.connection in found or w.until < time.monotonic()]


class _Worker:
    """A process that grades one task after another, connected by a pipe of its own.

    It sends READY once it has started. If the pipe were shared, a worker that dies while writing would block the
    others.
    """

    def __init__(self, device: str, sandbox: str, learnt: Path | None) -> None:
        self.task: Task | None = None
        self.asked = True  # an answer is due: READY, or the Graded of its task
        self.silent = False  # whether that answer did not come in time
        self.until = time.monotonic() + PATIENCE
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid(), device, sandbox, learnt), daemon=True)
        with without_interrupts():  # the head handles Ctrl-C and ends its processes
            self.process.start()
        theirs.close()

    @property
    def free(self) -> bool:
        return not self.asked

    def give(self, task: Task) -> None:
        self.task = task
        self.asked = True
        self.until = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):  # the process may be dead: `take` will notice
            self.connection.send(task)

    def take(self) -> Graded | UserError | Outcome | Noted | str | None:
        """The process's answer, what it tells before that, or None if it is dead or has not answered in time."""
        try:
            self.silent = not self.connection.poll()
            answer = None if self.silent else self.connection.recv()
        except (EOFError, OSError):
            answer = None
        if not isinstance(answer, (Outcome, Noted)):
            self.task, self.asked = None, False
        return answer

    def end(self) -> None:
        """End the process: at once if it is busy, otherwise after giving it time to clean up and end by itself."""
        self.connection.close()
        if not self.asked:
            self.process.join(10.0)
        self.process.kill()
        self.process.join()


def _work(pipe: connection.Connection, head: int, device: str, sandbox: str, learnt: Path | None) -> None:
    """The worker's main loop: grade tasks until the head closes the pipe or ends."""
    die_with(head)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            grader = start.started_grader(device, sandbox, learnt)
        except UserError as error:  # the checks cannot be used
            pipe.send(error)
            return
        with grader:
            pipe.send(READY)
            while True:
                pipe.send(tasks.grade(grader, pipe.recv(), pipe.send, lambda outcome: pipe.send(Noted(outcome))))
