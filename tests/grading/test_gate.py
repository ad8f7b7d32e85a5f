"""What must hold before anything is graded: a course that would grade wrongly is refused, in one sentence."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
from conftest import ROOT

from autograder import course
from autograder.errors import CourseError
from autograder.grading import gate
from autograder.grading.grader import scaled
from autograder.grading.store import Store
from autograder.verdict import Check, Outcome, Verdict

NAME = "01_averages"
CHECKS = [Check("test_a", "values", 1.5, True, "A."), Check("test_b", "values", 0.5, True, "B.")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The course about averages, in which a test works."""
    folder = tmp_path / "course"
    shutil.copytree(ROOT / "tests" / "courses" / "averages", folder)
    monkeypatch.chdir(folder)
    yield folder
    course.forget()


def edit(place, change):
    path = place / "source" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(path.read_text())
    change({cell["id"]: cell for cell in notebook["cells"]})
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def replace(old, new):
    def change(cells):
        for cell in cells.values():
            cell["source"] = "".join(cell["source"]).replace(old, new).splitlines(keepends=True)

    return change


def autograder(place, *arguments):
    return command(place, sys.executable, "-m", "autograder", *arguments)


def command(place, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def right(exercise, checks=CHECKS, **fields):
    return Outcome(exercise, 2.0, 2.0, "graded", checks, **fields)


@pytest.mark.parametrize("slip", ["#exercise: normalise", "# Exercise: normalise"])
def test_a_graded_cell_of_no_exercise_is_refused(place, slip):
    edit(place, replace("# exercise: normalise", slip))
    with pytest.raises(CourseError, match=f"{NAME}: the graded cell 'normalise' belongs to no exercise"):
        gate.require_graders(course.find_assignment("01"))


def test_an_exercise_without_checks_is_refused(place):
    edit(place, replace("# exercise: normalise", "# exercise: normalize"))
    with pytest.raises(CourseError, match="no checks for the exercise 'normalize'.*exercises/normalize/checks.py"):
        gate.require_graders(course.find_assignment("01"))


def test_code_that_is_graded_by_hand_is_let_through(place):
    edit(place, lambda cells: cells["normalise-check"]["metadata"]["nbgrader"].update(solution=True))
    edit(place, replace("# exercise: normalise", ""))
    gate.require_graders(course.find_assignment("01"))


def test_a_solution_with_less_than_full_marks_is_refused():
    failed = [CHECKS[0], Check("test_b", "values", 0.5, False, "B. It is not.")]
    with pytest.raises(
        CourseError, match="the solution of f in source/ does not get full marks.* test_b .* B. It is not."
    ):
        gate.require_full_marks(Verdict("", [right("e"), right("f", failed)], 1, NAME))
    stopped = Outcome("f", 0.0, 2.0, "timeout", message="It ran too long.")
    with pytest.raises(CourseError, match="It ran too long."):
        gate.require_full_marks(Verdict("", [stopped], 1, NAME))
    gate.require_full_marks(Verdict("", [right("e")], 1, NAME))


def test_points_that_disagree_are_refused(place):
    assignment = course.find_assignment("01")
    verdict = Verdict("", [right("normalise"), right("moving_average")], 1, NAME)
    with pytest.raises(CourseError, match="the cell 'moving_average' is worth 3 points, and moving_average is worth 2"):
        gate.require_points(assignment, verdict, {})
    gate.require_points(assignment, verdict, {"moving_average": 3.0})


def test_what_has_passed_is_not_tried_again(place):
    assignment, results, tried = course.find_assignment("01"), Store(place), []

    def solve(assignment):
        tried.append(assignment.name)
        return Verdict("", [right("normalise"), right("moving_average")], 1, NAME)

    for wanted in ({"moving_average": 3.0}, {"moving_average": 3.0, "elsewhere": 1.0}):
        gate.require(assignment, solve, wanted, results)
    assert tried == [NAME]
    with pytest.raises(CourseError):
        gate.require(assignment, solve, {}, results)
    assert tried == [NAME] * 2


@pytest.mark.parametrize("points, score", [(20.0, 20.0), (7.0, 7.0), (1.0, 1.0), (2.0, 2.0)])
def test_checks_are_scaled_to_the_points(points, score):
    checks, got = scaled(CHECKS, points)
    assert got == score and sum(c.points for c in checks) == pytest.approx(points)
    half = [CHECKS[0], Check("test_b", "values", 0.5, False, "B.")]
    assert scaled(half, points)[1] == 0.75 * points


def test_build_grade_and_nbgrader_refuse_and_cost_nobody_points(place):
    """A slip in the course stops `build`; after that, `grade` and `nbgrader autograde`: nothing is recorded."""
    checks = place / "exercises" / "normalise" / "checks.py"
    right_checks = checks.read_text()
    checks.write_text(right_checks.replace("x = draw.normal(7", "x = draw.no_such_thing(7"))
    code, _, said = autograder(place, "build")
    assert code == 2 and said.count("\n") == 1 and not (place / "release").exists(), said
    assert said.startswith(f"autograder: {NAME}: the solution of normalise in source/ does not get full marks"), said

    checks.write_text(right_checks)
    assert autograder(place, "build")[0] == 0
    (place / "submitted" / "ada" / NAME).mkdir(parents=True)
    shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "submitted" / "ada" / NAME)
    checks.write_text(right_checks.replace("deviations.square()", "deviations.no_such_thing()"))
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 2 and "ada" not in out and said.count("\n") == 1 and "normalise in source/" in said, said
    code, _, said = command(place, "nbgrader", "autograde", NAME)
    assert code == 1 and "the solution of normalise in source/ does not get full marks" in said, said
    assert "Traceback" not in said and not (place / "autograded" / "ada").exists()
    with sqlite3.connect(place / "gradebook.db") as database:
        assert database.execute("select count(*) from grade").fetchone() == (0,)

    checks.write_text(right_checks)
    code, out, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 0 and "ada      2/2        3/3             5 / 5" in out, said


RAISES_FOR_SOME = """

@check("numerics", points=0)
def test_ada(submission, draw):
    \"\"\"This check has a mistake of its own, which shows with some answers alone.\"\"\"
    if submission.function("normalise")(draw.normal(3)).dtype is torch.float64:
        draw.no_such_thing()
"""


def test_a_check_that_raises_for_one_student_is_told_to_the_instructor_and_left_to_a_person(place):
    checks = place / "exercises" / "normalise" / "checks.py"
    checks.write_text(checks.read_text() + RAISES_FOR_SOME)
    assert autograder(place, "build")[0] == 0
    notebook = (place / "solutions" / NAME / f"{NAME}.ipynb").read_text()
    for student, text in {"ada": notebook.replace("x - x.mean()", "x.double() - x.mean()"), "bela": notebook}.items():
        (place / "submitted" / student / NAME).mkdir(parents=True)
        (place / "submitted" / student / NAME / f"{NAME}.ipynb").write_text(text)
    code, _, said = autograder(place, "grade", "01", "--jobs", "1")
    assert code == 2
    told = [line for line in said.splitlines() if line.startswith("autograder: ")]
    assert len(told) == 1 and told[0].startswith(
        "autograder: normalise: test_ada ended with AttributeError (normalise/checks.py, line "
    ), said
    assert "for 1 student: a mistake of the check, which costs nobody points" in told[0]
    question = """select student.id, auto_score, needs_manual_grade from grade
        join base_cell on grade.cell_id = base_cell.id
        join submitted_notebook on grade.notebook_id = submitted_notebook.id
        join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
        join student on submitted_assignment.student_id = student.id where base_cell.name = 'normalise'"""
    with sqlite3.connect(place / "gradebook.db") as database:
        assert sorted(database.execute(question).fetchall()) == [("ada", None, 1), ("bela", 2.0, 0)]
