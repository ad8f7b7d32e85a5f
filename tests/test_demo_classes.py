"""What the demo's students hand in comes out as it was noted beforehand. `make demo` grades them in a course."""

import pytest
from conftest import ROOT

from autograder import course
from autograder.demo import made_up, run
from autograder.verdict import CREDIT

# but for what is no notebook, which the demo's own test hands in
STUDENTS = {
    f"{name[:2]}-{student.name}": (assignment, student)
    for name, assignment in course.assignments().items()
    for student in made_up.read_class(assignment)
    if student.raw is None
}


@pytest.mark.drawn(4, "students of the demo")
@pytest.mark.parametrize("who", STUDENTS)
def test_each_exercise_comes_out_as_noted(grader, tmp_path, who):
    assignment, student = STUDENTS[who]
    (tmp_path / "release").symlink_to(ROOT / "release")
    run.hand_in(tmp_path, assignment, [student])
    path = tmp_path / "submitted" / student.name / assignment.name / f"{assignment.name}.ipynb"
    found = (one.credited(CREDIT) for one in grader.grade_file(path, seed=1).verdict.exercises)
    outcomes = {one.exercise: one for one in found}
    for exercise, expected in student.expected.items():
        assert run.fits(outcomes[exercise], expected), f"{exercise}: not {expected}: {run.describe(outcomes[exercise])}"
