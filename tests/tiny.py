"""A course of one assignment with one small exercise, its class, and its graders as processes of their own."""

import json
import os
import shutil
import subprocess
import sys

from conftest import ROOT, cell_of, hand_in, load
from nbgrader.api import Gradebook

from autograder.notebooks.nbgrader_runs import Course
from autograder.verdicts.store import Store

NAME = "09_tiny"
SETUP = "import time\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F"
CELLS = ("setup", "causal_mask-solution", "causal_mask")
ANSWERS = {
    "right": "torch.tril(torch.ones(t, t, dtype=torch.bool, device=device))",
    "upside down": "torch.triu(torch.ones(t, t, dtype=torch.bool, device=device))",
    "floats": "torch.tril(torch.ones(t, t, device=device))",
    "on the cpu": "torch.tril(torch.ones(t, t, dtype=torch.bool))",
    "raises": "1 / 0",
}


def course(place):
    """Make the course in the empty folder `place` and build it; returns its released notebook, parsed."""
    source = load(ROOT / "source" / "03_causal_attention" / "03_causal_attention.ipynb")
    source["cells"] = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") in CELLS]
    cell_of(source, "setup")["source"] = SETUP
    hand_in(source, place / "source" / NAME, f"{NAME}.ipynb")
    shutil.copy(ROOT / "nbgrader_config.py", place)
    Course(place).build(NAME)
    return load(place / "release" / NAME / f"{NAME}.ipynb")


def submit(place, release, student, answer="right", cell=""):
    """Hand in an answer for a student: one of ANSWERS, with `cell` run before it."""
    code = f"def causal_mask(t, device=None):\n    return {ANSWERS[answer]}\n"
    cell_of(release, "causal_mask-solution")["source"] = f"# {student}\n{cell}\n{code}"
    return hand_in(release, place / "submitted" / student / NAME, f"{NAME}.ipynb")


def start(place, *arguments, command="grade", before=()):
    """Start `autograder grade` on the course: a Popen. It is the leader of a process group of its own."""
    return subprocess.Popen(
        [*before, sys.executable, "-m", "autograder", command, "09", *map(str, arguments)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def ended(run, seconds=180):
    """(exit code, all that it said) of a run that ends by itself."""
    try:
        said, _ = run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        raise AssertionError(f"it did not end within {seconds} s") from None
    assert "Traceback" not in said, said
    return run.returncode, said


def verdicts(place):
    """What counts of everybody's verdict, by student."""
    found = Store(place).latest(NAME)
    return {
        s: [(e.score, e.status, e.message, [c.passed for c in e.checks]) for e in v.exercises] for s, v in found.items()
    }


def gradebook(place):
    """The score of every submission that the gradebook knows, by student; each student once."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        (check,) = book.db.connection().exec_driver_sql("PRAGMA integrity_check").fetchone()
        assert check == "ok"
        rows = [(s.student.id, s.score) for s in book.assignment_submissions(NAME)]
        grades = [
            (g.notebook.student.id, g.name, g.auto_score)
            for s in book.assignment_submissions(NAME)
            for n in s.notebooks
            for g in n.grades
        ]
    assert len(rows) == len(dict(rows)), "a student has two submissions"
    return dict(rows), sorted(grades, key=str)


def results(place):
    """The stored results: their contents, by file name. Each can be read."""
    found = (place / ".autograder" / "results").rglob("*.json")
    return {path.stem: json.loads(path.read_text()) for path in found}
