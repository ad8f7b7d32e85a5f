"""The door to Colab: one address in the configuration becomes a badge in each release, and changes nothing else."""

import json

import pytest
from conftest import load
from small_course import first

from autograder import course
from autograder.doctor import course as looks
from autograder.errors import CourseError
from autograder.nbgrader import building, colab
from autograder.nbgrader.runs import NbgraderCourse
from autograder.nbgrader.safe_markdown import safe_markdown
from autograder.submission import files
from autograder.submission.restore import restore

NAME = "01_first"
ADDRESS = "https://colab.research.google.com/github/someone/autograder-course/blob/main/release"
PICTURE = "https://colab.research.google.com/assets/colab-badge.svg"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A new course, in which the test works."""
    first(tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    yield tmp_path / "course"
    course.forget()


def set_address(place, address):
    config = place / "nbgrader_config.py"
    config.write_text(config.read_text() + f"\nc.Release.colab = {address!r}\n")


def built(place):
    """The release as nbgrader's generators make it, parsed."""
    NbgraderCourse(place).build(NAME)
    return load(path_of(place))


def path_of(place, folder="release"):
    return place / folder / NAME / f"{NAME}.ipynb"


def restored(path):
    assignment = course.assignments()[NAME]
    return restore(files.read_submission(path).cells, assignment.cells, assignment)


def test_the_badge_is_all_that_an_address_changes(place):
    """The first text begins with it, cells and what grading sees stay the same, and the solutions have none."""
    plain = built(place)
    before = restored(path_of(place))
    assert "colab" not in json.dumps(plain)
    set_address(place, ADDRESS + "/")
    badged = built(place)
    after = restored(path_of(place))
    mark = f"[![Open in Colab]({PICTURE})]({ADDRESS}/{NAME}/{NAME}.ipynb)\n\n"
    first, now = ("".join(notebook["cells"][0].pop("source")) for notebook in (plain, badged))
    assert first.startswith("# 01 First steps") and now == mark + first
    assert badged == plain
    assert [(c.known, c.id) for c in before] == [(c.known, c.id) for c in after]
    assert [c.source for c in before[1:]] == [c.source for c in after[1:]] and not after[0].runs
    assert "colab" not in path_of(place, "solutions").read_text()


def test_names_are_encoded_and_the_badge_is_a_link():
    """Blanks and brackets cannot end the link; on pages without pictures, it reads as its description."""
    mark = colab.badge(ADDRESS, "01 (new)", "é#1")
    assert mark.endswith("/release/01%20%28new%29/%C3%A9%231.ipynb)\n\n")
    page = safe_markdown(mark + "# Title")
    assert f'href="{ADDRESS}/01%20%28new%29/%C3%A9%231.ipynb"' in page and ">Open in Colab</a>" in page
    assert "<img" not in page and PICTURE not in page


@pytest.mark.parametrize(
    "address",
    [
        "colab.research.google.com/github/a/b",
        "javascript:alert(1)",
        "https://",
        "https://a.example/x y",
        "https://a.example/x)[y](https://b.example",
        "https://a.example/x\n",
        "https://a.example/$x$",
        "https://a.example/&copy",
        "https://a.example/100%",
        "https://a.example/?release",
        "https://a.example/#release",
        "https://é.example/",
        ["https://a.example"],
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(CourseError) as raised:
        colab.configured({"Release": {"colab": address}})
    assert str(raised.value).endswith(f"it is {address!r}.")


@pytest.mark.parametrize("address", [ADDRESS, "http://localhost:8888/course/~me/v1.0/%C3%A9", "https://hub.example"])
def test_what_is_an_address_is_not(address):
    assert colab.configured({"Release": {"colab": f"{address}/"}}) == address
    assert colab.configured({"Release": {"colab": ""}}) == colab.configured({}) == ""


def test_nothing_is_built_with_a_wrong_address(place):
    set_address(place, "my course")
    with pytest.raises(CourseError, match="it is 'my course'"):
        next(building.build(place, [NAME], NbgraderCourse(place)))
    assert not (place / "release").exists()


def test_a_notebook_without_a_text_is_refused(place):
    graded = {"cell_type": "markdown", "metadata": {"nbgrader": {}}, "source": "YOUR ANSWER HERE"}
    with pytest.raises(CourseError, match="to carry the badge"):
        colab.welcome([graded, {"cell_type": "code", "metadata": {}, "source": ""}])


def test_the_doctor_knows_the_badge(place):
    """A release without it, or with another one, is out of date; nothing in its address is a leak."""
    built(place)
    assignment = course.find_assignment("01")
    stale = "release/01_first is not what source/ now makes: run `autograder build 01`"
    assert list(looks._release(assignment)) == []
    set_address(place, ADDRESS)
    assert list(looks._release(assignment)) == [stale]
    built(place)
    assert list(looks._release(assignment)) == []
    set_address(place, ADDRESS + "/2026")
    assert stale in list(looks._release(assignment))


def test_what_jupyterlab_folds_is_folded_in_colab(place):
    path = path_of(place, "source")
    source = load(path)
    source["cells"][1]["metadata"]["jupyter"] = {"source_hidden": True}
    path.write_text(json.dumps(source))
    views = [cell["metadata"].get("cellView") for cell in built(place)["cells"]]
    assert views == [None, "form"] + [None] * (len(views) - 2)
