"""Grades all submissions of an assignment: known results from the store, the others by a pool of warm sandboxes."""

import hashlib
import logging
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from . import course
from .notebooks import reading
from .notebooks.restoring import restore
from .verdicts.store import Store

ATTEMPTS = 3

log = logging.getLogger(__name__)


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
    tasks, known = [], 0
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
            tasks.append(Task(student, key, data, assignment.name, seed))
    for task, graded in progress(_graded(tasks, jobs, device, unsafe), len(tasks)):
        results.put(task.key, graded)
    return len(tasks), known


def _graded(tasks, jobs, device, unsafe):
    """(task, Graded) in the order in which they are done."""
    if jobs == 1 or len(tasks) <= 1:
        if tasks:
            _start_worker(device, unsafe)
            try:
                for task in tasks:
                    yield task, _work(task)
            finally:
                _stop_worker()
        return
    left = {task.key: task for task in tasks}
    for _ in range(ATTEMPTS):
        context = get_context("spawn")
        with ProcessPoolExecutor(min(jobs, len(left)), context, _start_worker, (device, unsafe)) as pool:
            futures = {pool.submit(_work, task): task for task in left.values()}
            try:
                for future in as_completed(futures):
                    graded = future.result()
                    task = futures[future]
                    del left[task.key]
                    yield task, graded
            except BrokenProcessPool:
                log.warning("a worker was lost; %d submissions are graded again", len(left))
        if not left:
            return
    # a submission that takes workers along would stop the batch: the writer grades what is left, one by one


_worker = None


def _start_worker(device, unsafe):
    global _worker
    from .grading import Grader

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _worker = Grader(device=device, unsafe=unsafe)


def _stop_worker():
    global _worker
    _worker.close()
    _worker = None


def _work(task):
    found = course.find_assignment(task.assignment)
    cells = restore(reading.read_notebook(task.data), found.cells, found)
    return _worker.grade_cells(cells, found.exercises, task.seed, "", task.assignment)
