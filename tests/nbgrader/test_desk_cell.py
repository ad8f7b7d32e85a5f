"""The cell with which a release hands itself in: an address brings it, and grading takes no notice of it."""

import json

import pytest
from conftest import load
from small_course import first

from autograder import course
from autograder.doctor import course as looks
from autograder.errors import CourseError
from autograder.nbgrader import building, desk_cell, for_students
from autograder.nbgrader.runs import NbgraderCourse
from autograder.submission import hand_in_cell, read, written
from autograder.submission.restore import RestoredCell, restore

NAME = "01_first"
ADDRESS = "https://desk.example/attention"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A new course, in which the test works."""
    first(tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    yield tmp_path / "course"
    course.forget()


def set_address(place, address=ADDRESS):
    config = place / "nbgrader_config.py"
    config.write_text(config.read_text() + f"\nc.Desk.address = {address!r}\n")


def built(place):
    runs = NbgraderCourse(place)
    runs.build(NAME)
    desk_cell.write(place, NAME, runs.config)
    return load(place / "release" / NAME / f"{NAME}.ipynb")


def test_the_cell_and_its_file_are_all_that_an_address_changes(place):
    plain = built(place)
    assert sorted(path.name for path in (place / "release" / NAME).iterdir()) == [f"{NAME}.ipynb"]
    set_address(place, ADDRESS + "/")
    desks = built(place)
    cell = desks["cells"].pop()
    assert "".join(cell["source"]).endswith("\nhand_in()") and f"{ADDRESS}/hand_in.py" in "".join(cell["source"])
    assert desks["metadata"].pop("autograder") == {"assignment": NAME}
    assert desks == plain
    assert f'\nADDRESS = "{ADDRESS}"  #' in (place / "release" / NAME / "hand_in.py").read_text()
    assert "hand_in" not in (place / "solutions" / NAME / f"{NAME}.ipynb").read_text()
    assert "hand_in" not in for_students.packages(place) and "hand-in" not in for_students.packages(place)


def test_a_build_writes_and_bundles_it(place):
    set_address(place)
    made = {}
    list(building.build(place, [NAME], NbgraderCourse(place), made))
    assert f"release/{NAME}/hand_in.py" in made


@pytest.mark.parametrize("address", ["desk.example", 'https://a.example/"', "https://a.example/x y", 3, "https://"])
def test_what_is_no_address_is_refused(place, address):
    set_address(place, address)
    with pytest.raises(CourseError, match="c.Desk.address in nbgrader_config.py should be"):
        next(building.build(place, [NAME], NbgraderCourse(place)))


def test_a_configuration_without_the_cell_is_refused(place):
    set_address(place)
    config = place / "nbgrader_config.py"
    without = (
        "from autograder.nbgrader.desk_cell import HandInCell\nc.GenerateAssignment.preprocessors.remove(HandInCell)"
    )
    config.write_text(f"{config.read_text()}\n{without}\n")
    with pytest.raises(CourseError, match="preprocessors lacks HandInCell"):
        built(place)


def test_the_doctor_knows_the_cell(place):
    built(place)
    assignment = course.find_assignment("01")
    stale = "release/01_first is not what source/ now makes: run `autograder build 01`"
    set_address(place)
    assert stale in list(looks._release(assignment))
    built(place)
    assert list(looks._release(assignment)) == []
    (place / "release" / NAME / "hand_in.py").unlink()
    assert stale in list(looks._release(assignment))


def test_grading_leaves_the_cell_out_and_takes_it_for_no_answer(place):
    set_address(place)
    notebook = built(place)
    cells = read.read_notebook(json.dumps(notebook).encode())
    assignment = course.find_assignment("01")
    restored = restore(cells, assignment.cells, assignment)
    assert restored[-1].lesson and not restored[-1].runs
    plain = written.unanswered(restored[:-1], assignment)
    assert plain and written.unanswered(restored, assignment) == plain


@pytest.mark.parametrize(
    "source, is_so",
    [
        (hand_in_cell.text(ADDRESS, "softmax"), True),
        (hand_in_cell.text("http://localhost:8000", "x"), True),
        ('ask("attention")', True),
        ("from hand_in import ask\n\nask('attention');", True),
        ('from hand_in import ask; ask("attention", anyway=True)', True),
        ("hand_in()\n", True),
        ("", False),
        ("# my answer", False),
        ("x = 1\nhand_in()", False),
        ("ask(open('x'))", False),
        ("hand_in() or 1", False),
        ("def attention(): pass\nask('attention')", False),
        ("ask(" * 2000, False),
    ],
)
def test_only_what_does_nothing_else_is_left_out(source, is_so):
    assert hand_in_cell.only_hands_in(source) == is_so
    assert restore([read.SubmittedCell("code", source, "hand-in", None)], [])[0].lesson == is_so


def test_calls_in_a_students_cell_cost_nothing(grader):
    """Before or behind an answer, imported or not, they do nothing while it is graded."""
    plain = "def softmax(x):\n    return x.exp() / x.exp().sum(-1, keepdim=True)"
    code = f"from hand_in import ask\nask('softmax')\n{plain}\nask('softmax')\nhand_in()"
    exercise = course.exercises()["softmax"]
    outcomes = []
    for text in (code, plain):
        graded = grader.grade_cells([RestoredCell("code", text, "a")], [exercise], 1, "")
        assert not any("error" in str(output.get("output_type")) for one in graded.outputs.values() for output in one)
        outcomes.append([check.passed for check in graded.verdict.exercises[0].checks])
    assert outcomes[0] == outcomes[1] and any(outcomes[0])
