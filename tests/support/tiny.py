"""A course of small assignments with one small exercise each, its class, and `autograder` processes that grade it."""

import json
import os
import re
import signal
import subprocess
import sys

import warm
from conftest import ROOT, cell_of, hand_in, load

from autograder.grading.rounds import Rounds
from autograder.grading.store import Store, parts_of
from autograder.nbgrader.runs import NbgraderCourse

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


def course(place, names=(NAME,), db_url=None):
    """Make the course in the empty folder `place` and build it; returns its released notebook, parsed.

    All its assignments have the same notebook.
    """
    source = load(ROOT / "source" / "03_causal_attention" / "03_causal_attention.ipynb")
    source["cells"] = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") in CELLS]
    cell_of(source, "setup")["source"] = SETUP
    for name in names:
        hand_in(source, place / "source" / name, f"{name}.ipynb")
    configure(place, db_url)
    for name in names:
        NbgraderCourse(place).build(name)
    pass_the_gate(place, names)
    return load(place / "release" / names[0] / f"{names[0]}.ipynb")


def pass_the_gate(place, names):
    """For stand-ins that grade in this process; real runs check it themselves."""
    before = os.getcwd()
    os.chdir(place)  # what has passed is this course, as it is
    parts_of.cache_clear()
    for name in names:
        results = Store(place)
        results.put_passed(name, {}, Rounds(results, name).first())
    parts_of.cache_clear()
    os.chdir(before)


def configure(place, db_url=None):
    """Write the course's nbgrader_config.py; with `db_url`, a line in it says where the gradebook is."""
    line = f"\nc.CourseDirectory.db_url = {db_url!r}\n" if db_url else ""
    (place / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text() + line)


def submit(place, release, student, answer="right", cell="", name=NAME):
    """Hand in one of ANSWERS for a student, with the code `cell` in front of it."""
    code = f"def causal_mask(t, device=None):\n    return {ANSWERS[answer]}\n"
    cell_of(release, "causal_mask-solution")["source"] = f"# {student!r}\n{cell}\n{code}"
    return hand_in(release, place / "submitted" / student / name, f"{name}.ipynb")


def submit_all(place, release, number, cell):
    """Hand in for `number` students, taking ANSWERS in turn, with the code `cell` in front of each."""
    for student in range(number):
        submit(place, release, f"student{student:02d}", list(ANSWERS)[student % len(ANSWERS)], cell)


def start(place, *arguments, command="grade", name=NAME, before=()):
    """Start `autograder grade` on the course; returns a Popen that leads its own process group."""
    return subprocess.Popen(
        [*before, sys.executable, "-m", "autograder", command, name, *map(str, arguments)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the tests may run where SIGINT is ignored
    )


def graded(place, name=NAME):
    """The same of an undisturbed run in a warm process, without workers: (exit code, all output)."""
    done = warm.run(place, "autograder", "grade", name)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    return done.returncode, said


# Exit codes after Ctrl-C. If it comes while an import makes a class from text, as dataclasses do, Python remembers that
# and ends itself by the signal, whatever exit code it was given (Py_RunMain); a shell says 130 for both.
STOPPED = {130, -signal.SIGINT}


def ended(run, seconds=180):
    """(exit code, all output below the line that names the course) of a run that ends by itself."""
    try:
        said, _ = run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        raise AssertionError(f"it did not end within {seconds} s") from None
    assert "Traceback" not in said, said
    return run.returncode, re.sub(r"^The course in .*\n", "", said)


def verdicts(place, name=NAME):
    """The parts of each verdict that matter, by student."""
    found = Store(place).latest(name)
    return {
        s: [(e.score, e.status, e.message, [c.passed for c in e.checks]) for e in v.exercises] for s, v in found.items()
    }


def gradebook(place, name=NAME):
    """(the score of each student's one submission, all grades and comments) in the gradebook."""
    with NbgraderCourse(place).gradebook() as book:
        if book.engine.name == "sqlite":
            (check,) = book.db.connection().exec_driver_sql("PRAGMA integrity_check").fetchone()
            assert check == "ok"
        rows = [(s.student.id, s.score) for s in book.assignment_submissions(name)]
        grades = [
            (g.notebook.student.id, g.name, g.auto_score, g.manual_score, g.needs_manual_grade)
            for s in book.assignment_submissions(name)
            for n in s.notebooks
            for g in n.grades
        ]
        grades += [
            (c.notebook.student.id, c.name, c.comment)
            for s in book.assignment_submissions(name)
            for n in s.notebooks
            for c in n.comments
        ]
    assert len(rows) == len(dict(rows)), "a student has two submissions"
    return dict(rows), sorted(grades, key=str)


def results(place):
    """The contents of the stored results by file name, all of which must be readable."""
    found = (place / ".autograder" / "results").rglob("*.json")
    return {path.stem: json.loads(path.read_text()) for path in found}
