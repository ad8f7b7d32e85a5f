"""A course about something else goes from its source to everybody's feedback, with public names only."""

import csv
import re
import sqlite3

import pytest
from small_course import AVERAGES, NAME, command, copy, real, submit

from autograder import course
from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.diagnosis import diagnose
from autograder.sandbox import view

EXERCISES = ("normalise", "moving_average")
SUMS = "These are the sums of the windows"
PUBLIC = {"autograder.checks", "autograder.mistakes"}  # what a course's exercises may import


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The course, built, with its class graded."""
    folder = copy(tmp_path_factory.mktemp("second") / "course")
    code, out, said = command(folder, "autograder", "build")
    assert (code, said) == (0, "") and f"release/{NAME} and solutions/{NAME} are made" in out
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        wrong = bank("moving_average")["sums"].source
        answers = {"normalise": right_answer("normalise", "std")}
        submit(folder, "ada", {}, "solutions")
        submit(folder, "bela", {"moving_average": wrong}, "solutions")
        submit(folder, "cora", {**answers, "moving_average": right_answer("moving_average", "cumulative")})
        submit(folder, "lena", {})
    code, folder_said, said = real(folder, "autograder", "grade", "01", "--jobs", "1")
    assert (code, said) == (0, "") and "4 graded" in folder_said
    yield folder
    course.forget()


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)
    return place


def scores(place):
    """Everybody's scores in the gradebook."""
    question = """select student.id, base_cell.name, auto_score from grade
        join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
        join student on submitted_assignment.student_id = student.id"""
    with sqlite3.connect(place / "gradebook.db") as database:
        found = {(student, cell): score for student, cell, score in database.execute(question)}
    return {s: tuple(found[s, e] for e in EXERCISES) for s in sorted({student for student, _ in found})}


def test_the_course_uses_public_names_only():
    """In its exercises; its nbgrader_config.py is like ours."""
    imported = set()
    for path in (AVERAGES / "exercises").rglob("*.py"):
        imported |= set(re.findall(r"^(?:from|import) (autograder\S*)", path.read_text(), re.MULTILINE))
    assert imported == PUBLIC


def test_everybody_gets_the_points(place):
    right, nothing = (2.0, 3.0), (0.0, 0.0)
    assert {s: scores(place)[s] for s in ("ada", "cora", "lena")} == {"ada": right, "cora": right, "lena": nothing}
    normalised, averaged = scores(place)["bela"]
    assert normalised == 2.0 and averaged < 3.0


def test_the_export_has_them(place):
    code, _, said = command(place, "nbgrader", "export")
    assert code == 0, said
    with open(place / "grades.csv", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {s: float(row["score"]) for s, row in rows.items()} == {s: sum(x) for s, x in scores(place).items()}
    assert {float(row["max_score"]) for row in rows.values()} == {5.0}


def test_the_feedback_names_the_mistake(place):
    code, out, said = command(place, "autograder", "report", "01", NAME, "--jobs", "1")
    assert (code, said) == (0, "") and out.count("are written") == 1, out
    pages = {s: (place / "feedback" / s / NAME / f"{NAME}.html").read_text() for s in ("ada", "bela", "lena")}
    assert SUMS in pages["bela"] and SUMS not in pages["ada"] and SUMS not in pages["lena"]
    assert "not started" in pages["lena"], "the original as it was released"
    assert SUMS in (place / "reports" / f"{NAME}.html").read_text()


def test_check_grades_the_same(place):
    paths = [place / "submitted" / student / NAME / f"{NAME}.ipynb" for student in ("ada", "bela")]
    code, out, _ = command(place, "autograder", "check", *paths)
    assert code == 1 and SUMS in out and "5 of 5 points" in out


def test_nbgrader_grades_the_same(here):
    """Its own command, on somebody who handed in later."""
    submit(here, "dora", {"moving_average": bank("moving_average")["sums"].source}, "solutions")
    code, _, said = command(here, "nbgrader", "autograde", NAME, "--student", "dora")
    assert code == 0, said
    assert scores(here)["dora"] == scores(here)["bela"]


def test_mistakes_are_rejected_and_named_and_answers_get_full_marks(here):
    graders = Graders()
    assert tuple(graders.checks) == EXERCISES
    for exercise in EXERCISES:
        for id, mistake in bank(exercise).items():
            run = graders.run(exercise, mistake.local(), 1)
            assert run.failed() and [d.id for d in diagnose(run, graders)] == [id]
        for path in (here / "exercises" / exercise / "answers").glob("*.py"):
            namespace = {}
            exec("import torch\n" + path.read_text(), namespace)
            assert graders.run(exercise, Local(namespace), 1).failed() == []


def test_the_courses_exercises_are_hidden_from_students(here):
    hidden = {tuple(pair) for pair in view.secret_inodes()}
    for part in ("", "exercises", "source", "submitted"):
        status = (here / part).stat()
        assert (status.st_dev, status.st_ino) in hidden
    assert not view.of_this_machine().shows(str(here / "exercises" / "normalise" / "checks.py"))
