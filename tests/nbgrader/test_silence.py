"""No grade is wrong in silence: instructors' slips, changes after hand-ins, what waits, what a regrade changes."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from conftest import ROOT, cell_of, load
from small_course import NAME, add_question, autograder, command, copy, edit, graded_cell, submit

WRONG = "def normalise(x):\n    return (x - x.mean()) / x.var(correction=0).sqrt()\n"  # refuses no matrix
CHANCE = """

@check("numerics", points=0.5)
def test_by_chance(submission, draw):
    \"\"\"It is right as often as not, whatever is handed in.\"\"\"
    submission.function("normalise")(draw.normal(3))
    assert draw.normal(1).item() > 0, "Bad luck."
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A course with a written question, built; three students have handed in, and are graded."""
    place = copy(tmp_path_factory.mktemp("silence") / "course")
    edit(place, add_question)
    assert autograder(place, "build")[0] == 0
    hand_in(place, "ada", "Because.")
    hand_in(place, "bela", None)
    hand_in(place, "dora", "It is so.", {"normalise": WRONG})
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert (code, said) == (0, ""), said
    assert "3 answers" not in out and "2 answers wait to be graded by hand, of 2 students." in out
    assert "5 of 5 so far" in out and "5 / 9" in out, "bela wrote nothing, so nothing of hers waits"
    return place


@pytest.fixture
def place(built, tmp_path):
    """A copy of that course for one test."""
    return shutil.copytree(built, tmp_path / "course")


def hand_in(place, student, answer, answers=()):
    path = submit(place, student, dict(answers), "solutions")
    notebook, released = load(path), load(place / "release" / NAME / f"{NAME}.ipynb")
    cell_of(notebook, "why")["source"] = answer or cell_of(released, "why")["source"]
    path.write_text(json.dumps(notebook))


def everything(place):
    """{path: bytes} of what grading and building may write, but for locks."""
    kept = ("release", "solutions", "autograded", "feedback", "reports", ".autograder", "gradebook.db")
    paths = [p for name in kept for p in ([place / name] if (place / name).is_file() else (place / name).rglob("*"))]
    return {str(p.relative_to(place)): p.read_bytes() for p in paths if p.is_file() and "locks" not in p.parts}


def query(place, text):
    with sqlite3.connect(place / "gradebook.db") as database:
        return database.execute(text).fetchall()


def change_by_hand(place, student, cell, score):
    """As Formgrader does it."""
    with sqlite3.connect(place / "gradebook.db") as database:
        done = database.execute(
            """update grade set manual_score = ?, needs_manual_grade = 0 where id in (select grade.id from grade
            join base_cell on grade.cell_id = base_cell.id
            join submitted_notebook on grade.notebook_id = submitted_notebook.id
            join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
            where submitted_assignment.student_id = ? and base_cell.name = ?)""",
            (score, student, cell),
        )
    assert done.rowcount == 1


def marks(place):
    """{(student, cell): (auto, by hand, waits)}."""
    rows = query(
        place,
        """select submitted_assignment.student_id, base_cell.name, auto_score, manual_score, needs_manual_grade from grade
        join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id""",
    )
    return {(student, cell): (auto, by_hand, bool(waits)) for student, cell, auto, by_hand, waits in rows}


# --- six slips ------------------------------------------------------------------------------------


def checks_of(place):
    return place / "exercises" / "normalise" / "checks.py"


def in_the_checks(old, new):
    def slip(place):
        text = checks_of(place).read_text()
        assert old in text
        checks_of(place).write_text(text.replace(old, new))

    return slip


def in_the_source(old, new):
    def change(notebook):
        assert old in json.dumps(notebook)
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"]).replace(old, new).splitlines(keepends=True)

    return lambda place: edit(place, change)


def points(place):
    edit(place, lambda notebook: cell_of(notebook, "normalise")["metadata"]["nbgrader"].update(points=7))


def new_cell(place):
    edit(place, lambda notebook: notebook["cells"].append(graded_cell("more", "Write.", 2, is_answer=True)))


SLIPS = {
    "marker": (in_the_source("# exercise: normalise", "#exercise: normalise"), "belongs to no exercise"),
    "points": (points, "has changed since it was built"),
    "missing grader": (lambda place: checks_of(place).unlink(), "no checks for the exercise 'normalise'"),
    "raising grader": (in_the_checks("deviations.square()", "deviations.no_such()"), "does not get full marks"),
    "edited solution": (in_the_source("x - x.mean()", "x + x.mean()"), "does not get full marks"),
    "new cell after hand-in": (new_cell, "has changed since it was built"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_stops_with_one_sentence_and_nothing_is_written(place, slip):
    """`grade`, and `nbgrader autograde`, which Formgrader's button runs."""
    make, says = SLIPS[slip]
    make(place)
    before = everything(place)
    code, out, said = autograder(place, "grade", "01", "--jobs", "1", "--regrade")
    assert code == 2 and out == "" and said.count("\n") == 1 and (says in said or "has changed since" in said), said
    code, out, said = command(place, "nbgrader", "autograde", NAME, "--force")
    told = [line for line in said.splitlines() if "ERROR" in line]
    assert code == 1 and len({line.split("] ")[1] for line in told}) == 1, said
    assert "has changed since" in told[0] or says in told[0], said
    assert everything(place) == before
