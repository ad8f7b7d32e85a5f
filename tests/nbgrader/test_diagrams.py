"""Stored diagrams: what they draw is in both notebooks, the same each time, and needs nothing of a student's."""

import base64
import json
from io import BytesIO

import nbformat
import pytest
import small_course
from bs4 import BeautifulSoup
from conftest import load
from nbconvert import HTMLExporter
from PIL import Image

from autograder import course
from autograder.errors import CourseError
from autograder.nbgrader import diagrams
from autograder.nbgrader.runs import NbgraderCourse
from autograder.submission import files

NAME = small_course.NAME
LINE = "import matplotlib.pyplot as plt\n\nplt.figure(figsize=(4, 1))\nplt.plot([1, 2, 3])\nplt.show()"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The course about averages, in which the test works."""
    made = small_course.copy(tmp_path / "course")
    monkeypatch.chdir(made)
    yield made
    course.forget()


def add(place, id, source, *tags):
    """Add a cell to the end of the source notebook."""
    about = {"cell_type": "code", "metadata": {"tags": list(tags)}, "outputs": [], "execution_count": None}
    small_course.edit(place, lambda notebook: notebook["cells"].append({**about, "id": id, "source": source}))


def source(place):
    return load(place / "source" / NAME / f"{NAME}.ipynb")["cells"]


def outputs_of(notebook, id):
    return next(cell["outputs"] for cell in notebook["cells"] if cell["id"] == id)


def stored(place, grader, folder="release"):
    runs = NbgraderCourse(place)
    runs.build(NAME)
    diagrams.store(runs, NAME, diagrams.pictures(grader.parent, NAME, source(place)))
    return load(place / folder / NAME / f"{NAME}.ipynb")


@pytest.mark.parametrize("folder", ["release", "solutions"])
def test_a_diagram_is_stored_and_no_other_output(place, grader, folder):
    """What it prints is not, and neither is what a lesson's other cells draw."""
    add(place, "prepares", "points = [1, 2, 3]", "lesson", "diagram")
    add(place, "draws", LINE.replace("[1, 2, 3]", "points") + "\nprint('drawn')", "lesson", "diagram")
    add(place, "draws-too", LINE, "lesson")
    notebook = stored(place, grader, folder)
    nbformat.validate(nbformat.from_dict(notebook))
    (output,) = outputs_of(notebook, "draws")
    assert list(output["data"]) == ["image/png"]
    picture = Image.open(BytesIO(base64.b64decode("".join(output["data"]["image/png"]))))
    assert 300 < picture.width < 500 and picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    others = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and cell["id"] != "draws"]
    assert [cell["outputs"] for cell in others] == [[]] * len(others)
    assert all(cell["execution_count"] is None for cell in notebook["cells"] if cell["cell_type"] == "code")


def test_what_a_picture_shows_is_stored_in_words_too(place, grader):
    add(place, "draws", LINE, "diagram")
    alt = 'A line from 1 to 3, <b> and "so on"'
    small_course.edit(place, lambda notebook: notebook["cells"][-1]["metadata"].update(alt=alt))
    notebook = stored(place, grader)
    nbformat.validate(nbformat.from_dict(notebook))
    (output,) = outputs_of(notebook, "draws")
    assert output["metadata"] == {"image/png": {"alt": alt}} and "".join(output["data"]["text/plain"]) == alt
    page, _ = HTMLExporter(template_name="classic").from_filename(place / "release" / NAME / f"{NAME}.ipynb")
    assert BeautifulSoup(page, "html.parser").img["alt"] == alt


def test_it_is_the_same_each_time_and_smaller_than_drawn(place, grader):
    add(place, "draws", LINE, "diagram")
    first, second = (diagrams.pictures(grader.parent, NAME, source(place)) for _ in range(2))
    assert first == second and len(first["draws"][0]["data"]["image/png"]) < 5_000


def test_of_rich_output_the_picture_is_stored(place, grader):
    """A slider shows HTML where scripts run, and a picture elsewhere."""
    source = (
        "class Rich:\n    def _repr_html_(self):\n        return '<script>x</script>'\n"
        "    def _repr_png_(self):\n        import io, matplotlib.pyplot as plt\n        file = io.BytesIO()\n"
        "        plt.figure(figsize=(2, 1)).savefig(file, format='png')\n        plt.close()\n"
        "        return file.getvalue()\n\n\nRich()"
    )
    add(place, "draws", source, "diagram")
    (output,) = outputs_of(stored(place, grader), "draws")
    assert list(output["data"]) == ["image/png"]


def test_a_diagram_that_needs_a_students_answer_is_refused_before_anything_is_released(place, grader):
    exercise = next(iter(course.exercises(place)))
    add(place, "draws", f"{exercise}\n{LINE}", "diagram")
    said = f"The diagrams of {NAME} cannot be drawn: the cell draws stops with NameError: name '{exercise}' is not"
    with pytest.raises(CourseError, match=said):
        diagrams.pictures(grader.parent, NAME, source(place))
    code, out, err = small_course.autograder(place, "build")
    assert code and said in err.replace("\n", " ") and not (place / "release").exists()


def test_build_stores_what_a_diagram_draws(place):
    add(place, "draws", LINE, "diagram")
    code, _, err = small_course.autograder(place, "build")
    assert not code, err
    for folder in ("release", "solutions"):
        (output,) = outputs_of(load(place / folder / NAME / f"{NAME}.ipynb"), "draws")
        assert list(output["data"]) == ["image/png"]


def test_nothing_is_started_where_no_cell_has_the_tag(place):
    assert diagrams.pictures(None, NAME, source(place)) == {}


def test_a_hand_in_is_the_same_with_stored_outputs_and_without(place, grader):
    add(place, "draws", LINE, "lesson", "diagram")
    with_output = stored(place, grader)
    path = place / "release" / NAME / f"{NAME}.ipynb"
    cells = files.read_submission(path).cells
    outputs_of(with_output, "draws").clear()
    path.write_text(json.dumps(with_output))
    assert files.read_submission(path).cells == cells
