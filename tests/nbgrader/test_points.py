"""Points come from the marks of the checks, or from the configuration: one number changed is seen everywhere."""

import json
import shutil

import pytest
from conftest import ROOT

from autograder import course
from autograder.errors import CourseError
from autograder.nbgrader import points, readme

WORTH = {"normalise": 2.0, "moving_average": 3.0}
NAME = "01_averages"


@pytest.fixture
def source(tmp_path):
    shutil.copytree(ROOT / "tests" / "courses" / "averages" / "source", tmp_path / "source")
    return tmp_path / "source" / NAME / f"{NAME}.ipynb"


def text(source):
    return "\n".join("".join(cell["source"]) for cell in json.loads(source.read_text())["cells"])


def edit(source, change):
    notebook = json.loads(source.read_text())
    change({cell["id"]: cell for cell in notebook["cells"]})
    source.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def test_what_is_up_to_date_stays_as_it_is(source):
    before = source.read_bytes()
    assert points.write(source, WORTH, {}) == [] and source.read_bytes() == before


@pytest.mark.parametrize("worth, wanted", [({**WORTH, "normalise": 2.5}, {}), (WORTH, {"normalise": 2.5})])
def test_one_number_is_seen_everywhere(source, worth, wanted):
    """A mark, or one number of the configuration: metadata, heading, row and total follow."""
    assert points.write(source, worth, wanted) == [f"{NAME}: normalise is worth 2.5 points now, and was worth 2"]
    exercises = {e.name: e.points for e in course.parse(json.loads(source.read_text()), source).exercises}
    assert exercises == {"normalise": 2.5, "moving_average": 3.0}
    assert "**2.5 points · 5 minutes · easy**" in text(source)
    assert "| 1. `normalise` | fix | 2.5 | 5 |" in text(source) and "| **total** | | **5.5** | **15** |" in text(source)
    assert "| 2. `moving_average` | implement | 3 | 10 |" in text(source)


def test_one_point_is_no_plural(source):
    points.write(source, {**WORTH, "normalise": 1.0}, {})
    assert "**1 point · 5 minutes · easy**" in text(source)


def test_a_cell_changed_by_hand_is_refused_with_what_to_do(source):
    """As JupyterLab's Create Assignment panel changes it: in the metadata alone."""
    edit(source, lambda cells: cells["normalise-check"]["metadata"]["nbgrader"].update(points=20))
    before = source.read_bytes()
    with pytest.raises(CourseError) as raised:
        points.write(source, WORTH, {})
    assert str(raised.value) == (
        "01_averages: the cell 'normalise' is worth 20 points, and normalise is worth 2 by its checks. To make it"
        ' worth 20, write c.Exercises.points = {"normalise": 20} into nbgrader_config.py; otherwise set the points of'
        " the cell itself to 2: JupyterLab's Create Assignment shows them. If a check was unfair, undo the edit, and"
        ' give everybody its points by c.Exercises.waived = {"normalise": ["test_…"]} in nbgrader_config.py.'
    )
    assert source.read_bytes() == before
    assert points.write(source, WORTH, {"normalise": 20.0}) == []  # done as it says
    assert "**20 points · 5 minutes · easy**" in text(source) and "**23**" in text(source)


def test_a_right_number_in_the_heading_alone_is_told_where_the_other_one_is(source):
    """The cell never had these points, so it cannot have them again."""
    edit(source, lambda cells: cells["normalise-check"]["metadata"]["nbgrader"].update(points=1))
    with pytest.raises(CourseError) as raised:
        points.write(source, WORTH, {})
    said = str(raised.value)
    assert "is worth 1 point, and normalise is worth 2 by its checks" in said and "again" not in said
    edit(source, lambda cells: cells["normalise-check"]["metadata"]["nbgrader"].update(points=2))
    assert points.write(source, WORTH, {}) == []  # done as it says


def test_a_table_or_headings_that_do_not_fit_are_told(source):
    edit(source, lambda cells: cells["moving-average-exercise"].update(source=["## 2. No points here\n"]))
    with pytest.raises(CourseError, match="2 cells are graded, and 1 headings"):
        points.write(source, WORTH, {})


def test_a_notebook_without_headings_is_written_too(source):
    for cell in ("moving-average-exercise", "normalise-exercise", "intro"):
        edit(source, lambda cells, cell=cell: cells[cell].update(source=["# Averages\n"]))
    assert points.write(source, WORTH, {"normalise": 4.0}) == [
        "01_averages: normalise is worth 4 points now, and was worth 2"
    ]


def test_the_readme_follows(source, tmp_path):
    path = tmp_path / "README.md"
    path.write_text(
        "| Assignment | What | Hours | Points |\n|---|---|---|---|\n| `01_averages` | means | 9 h 99, and more | 9 |\n"
        "| `02_x` | y | 9 h 99 | 9 |\n\nThere, 1 of the 9\npoints are given by hand.\n"
    )
    (assignment,) = course.assignments(source.parents[2]).values()
    readme.write(path, [assignment])
    assert "| `01_averages` | means | 0 h 15, and more | 5 |\n| `02_x` | y | 9 h 99 | 9 |" in path.read_text()
    assert "There, 0 of the 5\npoints" in path.read_text()
    readme.write(tmp_path / "none.md", [assignment])


@pytest.mark.parametrize("value", [{"normalise": 0}, {"normalise": "6"}, {"normalise": True}, {1: 2.0}, 7])
def test_a_configuration_that_is_wrong_is_told(value):
    with pytest.raises(CourseError, match="c.Exercises.points in nbgrader_config.py should map names"):
        points.configured({"Exercises": {"points": value}})


def test_the_course_is_up_to_date(grader):
    """Every heading, table and total of the course says what its checks are worth together."""
    for assignment in course.assignments(ROOT).values():
        notebook = json.loads(assignment.path.read_text(encoding="utf-8"))
        before = json.dumps(notebook)
        assert points.renew(notebook, assignment.name, grader.worth(), {}) == []
        assert json.dumps(notebook) == before, f"run `autograder build {assignment.name}`"


def test_the_readme_of_the_course_is_up_to_date(tmp_path):
    before = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(before, encoding="utf-8")
    readme.write(tmp_path / "README.md", course.assignments(ROOT).values())
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before
