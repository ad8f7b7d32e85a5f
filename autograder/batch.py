"""Grades all submissions of an assignment: known results from the store, the others by a pool of warm sandboxes."""

import contextlib
import ctypes
import hashlib
import os
import signal
import time
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing import connection, get_context
from pathlib import Path

from . import course
from .notebooks import reading
from .notebooks.restoring import restore
from .sandbox.jail import SandboxError
from .verdicts import record
from .verdicts.store import Store

ATTEMPTS = 3  # how often a submission may take its worker along
PATIENCE = 3600.0  # seconds for one submission: far beyond all deadlines that a worker keeps itself
PR_SET_PDEATHSIG = 1
READY = "ready"


@dataclass(frozen=True)
class Task:
    """One submission to be graded: its bytes, which are all that a worker gets of it."""

    student: str
    key: str
    data: bytes
    assignment: str
    seed: int


def students(root, assignment):
    """The names of all who handed something in, in order."""
    submitted = Path(root) / "submitted"
    return sorted(p.parent.name for p in submitted.glob(f"*/{assignment}")) if submitted.is_dir() else []


def grade(root, assignment, who, jobs=1, device="cpu", unsafe=False, renew=False, progress=iter):
    """Fill the result store for the students `who`: (how many were graded, how many were there already).

    `progress` wraps the iterable of finished gradings. Unreadable submissions are left to the writer, which says why.
    """
    results = Store(root)
    seed = results.seed(assignment.name, renew=renew)
    results.sweep()
    tasks, fresh, known = {}, 0, 0
    for student in who:
        path = Path(root) / "submitted" / student / assignment.name / f"{assignment.name}.ipynb"
        try:
            data = reading.read_bytes(path)
            reading.read_notebook(data)
        except reading.Unreadable:
            continue
        key = results.key(hashlib.sha256(data).hexdigest(), assignment.name, seed, device)
        if results.get(key) is not None:
            known += 1
        else:
            tasks[key] = Task(student, key, data, assignment.name, seed)  # equal submissions are graded once
            fresh += 1
    for task, graded in progress(_graded(list(tasks.values()), jobs, device, unsafe), len(tasks)):
        results.put(task.key, graded)
    return fresh, known


def _graded(tasks, jobs, device, unsafe):
    """(task, Graded) in the order in which they are done; every task comes out, whatever becomes of the workers.

    A worker that dies is replaced, and its task is given to another one; a task that ATTEMPTS workers died of gets 0.
    Raises SandboxError where there is no sandbox. However it ends, no worker is left.
    """
    waiting, deaths, workers = deque(tasks), Counter(), []
    try:
        while waiting or any(worker.task for worker in workers):
            while waiting and len(workers) < min(jobs, len(tasks)):
                workers.append(_Worker(device, unsafe))
            for worker in _answering(workers):
                task, answer = worker.take()
                if isinstance(answer, SandboxError):
                    raise answer
                if answer is None:  # it is dead
                    workers.remove(worker)
                    worker.end()
                    key = task and task.key
                    deaths[key] += 1
                    if task is None and deaths[key] > ATTEMPTS * jobs:
                        raise SandboxError("The grading processes end before they begin.")
                    if task is not None and deaths[key] < ATTEMPTS:
                        waiting.append(task)
                    elif task is not None:
                        yield task, _failed(task, "killed", "Whenever it was graded, the grading process ended.")
                    continue
                if task is not None:
                    yield task, answer
                if waiting:
                    worker.give(waiting.popleft())
    finally:
        for worker in workers:
            worker.end()


def _answering(workers):
    """The workers that have begun or have an answer, are dead, or have been silent for too long."""
    busy = [worker for worker in workers if worker.asked]
    left = min(worker.until for worker in busy) - time.monotonic()
    found = connection.wait([worker.connection for worker in busy], max(0.0, left))
    return [w for w in busy if w.connection in found or w.until < time.monotonic()]


class _Worker:
    """A process that grades one task after another, at the other end of a pipe of its own.

    It says READY when it has begun. Were the pipe shared, a worker that dies while it writes would stop the others.
    """

    def __init__(self, device, unsafe):
        self.task = None
        self.asked = True
        self.until = time.monotonic() + PATIENCE
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, os.getpid(), device, unsafe), daemon=True)
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited: Ctrl-C is for the head, which ends them
        try:
            self.process.start()
        finally:
            signal.signal(signal.SIGINT, usual)
        theirs.close()

    def give(self, task):
        self.task = task
        self.asked = True
        self.until = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):  # it may be dead: `take` will say so
            self.connection.send(task)

    def take(self):
        """(its task or None, what it answers), or (its task or None, None) if it is dead or as good as dead."""
        task, self.task, self.asked = self.task, None, False
        try:
            return task, self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            return task, None

    def end(self):
        """End it: one that has nothing to do by itself, so that it clears up, and any other at once."""
        self.connection.close()
        if not self.asked:
            self.process.join(10.0)
        self.process.kill()
        self.process.join()


def _work(pipe, head, device, unsafe):
    """What a worker does: grade tasks until the head closes the pipe, or is gone."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != head:
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from .grading import Grader

    with Grader(device=device, unsafe=unsafe) as grader, contextlib.suppress(EOFError, ConnectionError):
        pipe.send(READY)
        while True:
            pipe.send(_grade(grader, pipe.recv()))


def _grade(grader, task):
    """The Graded of a task, or the SandboxError that stops all grading."""
    try:
        found = course.find_assignment(task.assignment)
        return grader.grade_cells(_cells(task), found.exercises, task.seed, "", task.assignment)
    except SandboxError as error:
        return error
    except Exception as mistake:
        from .grading import kits_mistake

        return _failed(task, "error", kits_mistake(mistake))


def _cells(task):
    found = course.find_assignment(task.assignment)
    return restore(reading.read_notebook(task.data), found.cells, found)


def _failed(task, status, message):
    """The Graded of a task that no worker could grade: 0 points, and why."""
    from .grading import Graded

    exercises = course.find_assignment(task.assignment).exercises
    outcomes = [record.without_grade(e.name, e.points, status, message) for e in exercises]
    return Graded(record.Verdict("", outcomes, task.seed, task.assignment), _cells(task), {})
