"""Workers that misbehave; in a module of their own, since each process that is started imports it."""

import os
import signal
import time

from autograder.batch import tasks
from autograder.verdict import Outcome


def half_an_answer(pipe, *settings):
    """Dies in the middle of its answer for `evil`, and never answers for `silent`."""
    pipe.send("ready")
    while True:
        task = pipe.recv()
        if task.student == "evil":
            os.write(pipe.fileno(), (10**6).to_bytes(4, "big") + b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        if task.student == "silent":
            time.sleep(3600)
        pipe.send(f"graded {task.student}")


def never(*settings):
    """Dies before it has started."""
    os._exit(1)


def counts(pipe, *settings):
    """Answers with the number of workers at work: each keeps a file in the folder that the task's data names."""
    pipe.send("ready")
    while True:
        task = pipe.recv()
        mine = os.path.join(task.data.decode(), task.key)
        open(mine, "x").close()
        time.sleep(0.2)
        pipe.send(len(os.listdir(task.data)))
        os.remove(mine)


def dies_slowly(pipe, *settings):
    """Works for a second, and then dies."""
    pipe.send("ready")
    pipe.recv()
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)


def notes_and_dies(pipe, *settings):
    """Has the outcome of the first exercise by its checks, and dies while it names its mistakes."""
    pipe.send("ready")
    task = pipe.recv()
    first = tasks.wanted(task)[0]
    pipe.send(tasks.Noted(Outcome(first.name, first.points, first.points, "graded")))
    os.kill(os.getpid(), signal.SIGKILL)
