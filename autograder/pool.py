"""Grades tasks on this machine: a pool of processes, each with a warm sandbox of its own."""

import contextlib
import ctypes
import os
import signal
import time
from collections import Counter, deque
from multiprocessing import connection, get_context

from . import tasks
from .sandbox import warm
from .sandbox.jail import SandboxError
from .tasks import ATTEMPTS

PATIENCE = 3600.0  # seconds for one submission: far beyond all deadlines that a worker keeps itself
PR_SET_PDEATHSIG = 1
READY = "ready"


def graded(coming, jobs, device, unsafe):
    """(task, Graded) in the order in which they are done; every task comes out, whatever becomes of the workers.

    `coming` is an iterator of tasks, which is asked for one when a worker is free for it. A worker that dies is
    replaced, and its task is given to another one; a task that ATTEMPTS workers died of gets 0.
    Raises SandboxError where there is no sandbox. However it ends, no worker is left.
    """
    again, deaths, workers = deque(), Counter(), []

    def next_task():
        return again.popleft() if again else next(coming, None)

    try:
        while True:
            while len(workers) < jobs and (task := next_task()):
                workers.append(_Worker(device, unsafe, task))
            if not any(worker.asked for worker in workers):
                return
            for worker in _answering(workers):
                begun, task, answer = worker.begun, worker.task, worker.take()
                if isinstance(answer, SandboxError):
                    raise answer
                if answer is None:  # it is dead
                    workers.remove(worker)
                    worker.end()
                    culprit = task.key if begun else None
                    deaths[culprit] += 1
                    if not begun and deaths[culprit] > ATTEMPTS * jobs:
                        raise SandboxError("The grading processes end before they begin.")
                    if begun and deaths[culprit] >= ATTEMPTS:
                        yield task, tasks.died(task)
                    else:
                        again.append(task)
                elif not begun:
                    worker.give(task)
                else:
                    yield task, answer
                    if following := next_task():
                        worker.give(following)
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

    def __init__(self, device, unsafe, first):
        self.task = first  # given when it has begun
        self.begun = False
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
        self.begun = True
        self.asked = True
        self.until = time.monotonic() + PATIENCE
        with contextlib.suppress(OSError):  # it may be dead: `take` will say so
            self.connection.send(task)

    def take(self):
        """What it answers, or None if it is dead or as good as dead."""
        self.asked = False
        try:
            return self.connection.recv() if self.connection.poll() else None
        except (EOFError, OSError):
            return None

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
    parent = warm.launched(device, unsafe)
    from .grading import Grader

    with Grader(parent=parent) as grader, contextlib.suppress(EOFError, ConnectionError):
        pipe.send(READY)
        while True:
            pipe.send(tasks.grade(grader, pipe.recv()))
