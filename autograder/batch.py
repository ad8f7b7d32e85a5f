"""Grades all submissions of an assignment: known results from the store, the others by the workers of an engine."""

import hashlib
from pathlib import Path

from .notebooks import reading
from .tasks import Task
from .verdicts.store import Store


def students(root, assignment):
    """The names of all who handed something in, in order."""
    submitted = Path(root) / "submitted"
    return sorted(p.parent.name for p in submitted.glob(f"*/{assignment}")) if submitted.is_dir() else []


def grade(root, assignment, who, engine, device="cpu", renew=False, progress=iter):
    """Fill the result store for the students `who`: (how many were graded, how many were there already).

    `engine` maps an iterator of tasks to pairs (task, Graded), as `pool.graded` does. `progress` wraps the iterable of
    finished gradings. Unreadable submissions are left to the writer, which says why.
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
    for task, graded in progress(engine(iter(tasks.values())), len(tasks)):
        results.put(task.key, graded)
    return fresh, known
