"""What belongs to a solution and is not in the released text stays at home, in release/ and in what doctor finds."""

import json

import pytest
from conftest import load
from small_course import first

from autograder import course
from autograder.doctor import course as looks
from autograder.lms import bundle
from autograder.nbgrader import building, for_students
from autograder.nbgrader.runs import NbgraderCourse

NAME = "01_first"
QUESTION = "question-largest"
DATA = {"image/png": "iVBORw0KGgo="}
SECRET = "secret-of-the-author"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A new course, in which the test works."""
    first(tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    yield tmp_path / "course"
    course.forget()


def source(place):
    return place / "source" / NAME / f"{NAME}.ipynb"


def edit(place, change):
    """Change the source: `change` gets its cells by id, and the notebook."""
    notebook = load(source(place))
    change({cell["id"]: cell for cell in notebook["cells"]}, notebook)
    source(place).write_text(json.dumps(notebook))
    course.forget()


def built(place):
    NbgraderCourse(place).build(NAME)
    return load(place / "release" / NAME / f"{NAME}.ipynb")


def cell(notebook, id):
    return next(cell for cell in notebook["cells"] if cell["id"] == id)


def found(place):
    return list(looks._release(course.find_assignment("01")))


def allow_schemes(place):
    config = place / "nbgrader_config.py"
    allowed = "".join(
        f"c.ClearMarkScheme.{what} = False\n" for what in ("enforce_metadata", "check_attachment_leakage")
    )
    config.write_text(config.read_text() + allowed)


def attach(name, of=QUESTION, text=None):
    def change(cells, notebook):
        cells[of]["attachments"] = {name: DATA}
        if text:
            cells[of]["source"] = text + "\n\n" + "".join(cells[of]["source"])

    return change


def in_the_scheme(cells, notebook):
    cells[QUESTION]["attachments"] = {"model.png": DATA}
    cells[QUESTION]["source"] = "### BEGIN SOLUTION\n![](attachment:model.png)\n### END SOLUTION"


def in_a_mark_scheme(cells, notebook):
    """The region that nbgrader has for tasks, in the cell of an answer."""
    cells[QUESTION]["attachments"] = {"model.png": DATA}
    scheme = "### BEGIN MARK SCHEME\n![](attachment:model.png)\n### END MARK SCHEME"
    cells[QUESTION]["source"] = f"### BEGIN SOLUTION\nIt does.\n### END SOLUTION\n\n{scheme}"


@pytest.mark.parametrize(
    "change",
    [
        in_the_scheme,
        in_a_mark_scheme,
        attach("unused.png"),
        attach("model", text="![](attachment:model.png)"),  # the name of another one
        attach("unused.png", of="question-text"),
        attach("unused.png", of="rescale-solution"),
    ],
)
def test_a_pasted_picture_of_an_answer_stays_at_home(place, change):
    allow_schemes(place)
    edit(place, change)
    assert "attachments" not in json.dumps(built(place)) and found(place) == []


@pytest.mark.parametrize(
    "name, text",
    [
        ("axes.png", "![](attachment:axes.png)"),
        ("my axes.png", "![the axes](attachment:my%20axes.png)"),
        ("axes (1).png", '<img src="attachment:axes (1).png">'),
    ],
)
def test_a_picture_that_the_released_text_shows_is_released(place, name, text):
    edit(place, attach(name, text=text))
    assert cell(built(place), QUESTION)["attachments"] == {name: DATA} and found(place) == []


def test_the_solutions_have_the_pictures_of_their_text(place):
    edit(place, in_the_scheme)
    edit(place, lambda cells, _: cells[QUESTION]["attachments"].update({"old.png": DATA}))
    built(place)
    assert cell(load(place / "solutions" / NAME / f"{NAME}.ipynb"), QUESTION)["attachments"] == {"model.png": DATA}
    allow_schemes(place)
    edit(place, in_a_mark_scheme)
    built(place)
    assert "attachments" not in (place / "solutions" / NAME / f"{NAME}.ipynb").read_text()


def noted(of):
    def change(cells, notebook):
        about = cells[of]["metadata"]
        about["nbgrader"]["note"] = SECRET
        about |= {"note": SECRET, "tags": ["raises-exception", SECRET], "jupyter": {"source_hidden": True, SECRET: 1}}
        about["executionInfo"] = {"user": {"displayName": SECRET}}

    return change


def shown(cells, notebook):
    """As VS Code does it, also below a text."""
    output = {"output_type": "stream", "name": "stdout", "text": [SECRET]}
    cells["rescale-solution"]["outputs"] = [output]
    cells[QUESTION]["outputs"] = [output]


def saved(**metadata):
    return lambda cells, notebook: notebook["metadata"].update(metadata)


@pytest.mark.parametrize(
    "change",
    [
        noted("rescale-solution"),
        noted("rescale-check"),
        noted(QUESTION),
        shown,
        saved(widgets={"application/vnd.jupyter.widget-state+json": {"state": {"a": SECRET}}}),
        saved(colab={"provenance": [{"file_id": SECRET}], "name": "x"}),
    ],
)
def test_nothing_else_of_a_solution_leaves(place, change):
    edit(place, change)
    made = built(place)
    assert SECRET not in json.dumps(made) and found(place) == []
    assert SECRET not in (place / "solutions" / NAME / f"{NAME}.ipynb").read_text()
    assert cell(made, "rescale-check")["metadata"]["nbgrader"]["points"] == 3


def test_what_a_release_needs_stays(place):
    def change(cells, notebook):
        cells["rescale-solution"]["metadata"]["jupyter"] = {"source_hidden": True}
        cells["setup"]["metadata"] |= {"tags": ["mine"], "alt": "a picture"}
        notebook["metadata"] |= {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}

    edit(place, change)
    made = built(place)
    assert cell(made, "rescale-solution")["metadata"]["cellView"] == "form"
    assert cell(made, "setup")["metadata"]["tags"] == ["mine"] and cell(made, "setup")["metadata"]["alt"]
    assert made["metadata"]["accelerator"] == "GPU" and made["metadata"]["colab"] == {"gpuType": "T4"}


def test_the_doctor_says_what_a_release_of_before_gives_away(place):
    made = built(place)
    path = place / "release" / NAME / f"{NAME}.ipynb"
    cell(made, QUESTION)["attachments"] = {"model.png": DATA}
    cell(made, "rescale-solution")["metadata"]["note"] = "x"
    made["metadata"] |= {"widgets": {}, "kernelspec": {"name": "conda-env-ml-py", "display_name": "ml"}}
    path.write_text(json.dumps(made))
    assert [line.removeprefix(f"release/{NAME} gives away ") for line in found(place)] == [
        "'widgets' in its metadata",
        "the name of its author's kernel, 'conda-env-ml-py'",
        "what belongs to the cell 'rescale-solution' and not to its text: note",
        f"what belongs to the cell '{QUESTION}' and not to its text: the attachment 'model.png'",
    ]


KERNELS = {
    "conda": {"kernelspec": {"display_name": "Python [conda env:ml]", "language": "python", "name": "conda-env-ml-py"}},
    "vscode": {
        "kernelspec": {"display_name": ".venv", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "version": "3.12.3", "codemirror_mode": {"name": "ipython"}},
        "vscode": {"interpreter": {"hash": "31f2aee4e71d21fbe5cf8b01ff0e069b9275f58929596ceb00d14d90e3e16cd6"}},
    },
    "colab": {"kernelspec": {"display_name": "Python 3", "name": "python3"}, "colab": {"provenance": []}},
    "none": {"kernelspec": None, "language_info": None},
    "another": {"kernelspec": {"display_name": "XPython", "language": "Python", "name": "xpython"}},
}


@pytest.mark.parametrize("editor", KERNELS)
def test_it_is_released_for_the_kernel_that_every_student_has(place, editor):
    edit(place, saved(**{key: value for key, value in KERNELS[editor].items() if value}))
    if editor == "none":
        edit(place, lambda cells, notebook: notebook["metadata"].clear())
    wanted = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    for made in (built(place), load(place / "solutions" / NAME / f"{NAME}.ipynb")):
        assert made["metadata"] == {"kernelspec": wanted, "language_info": {"name": "python"}}
    assert found(place) == []


@pytest.mark.drawn(1, "encodings of a source")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_source_is_read_as_editors_save_it(place, encoding):
    """nbgrader itself cannot read it: the build writes it as JupyterLab would."""
    text = source(place).read_text(encoding="utf-8")
    source(place).write_text(text, encoding=encoding)
    course.forget()
    list(building.build(place, [NAME], NbgraderCourse(place)))
    assert source(place).read_text(encoding="utf-8") == text and found(place) == []
    source(place).write_text(text.replace("\n", "\r\n"), newline="")
    before = source(place).read_bytes()
    list(building.build(place, [NAME], NbgraderCourse(place)))
    assert source(place).read_bytes() == before, "line ends are the author's"


# --- files beside the notebook --------------------------------------------------------------------


def beside(place, *names):
    for name in names:
        path = source(place).parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x89PNG")


def released(place):
    folder = place / "release" / NAME
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".ipynb")


def test_a_file_that_only_a_solution_shows_stays_at_home(place):
    def change(cells, notebook):
        cells[QUESTION]["source"] = (
            "Look at ![](pictures/axes.png).\n\n### BEGIN SOLUTION\n![](pictures/model.png)"
            " <img src='./my%20model.jpg'> [all of it](derivation.pdf)\n### END SOLUTION"
        )
        text = "".join(cells["rescale-solution"]["source"])
        said = "### BEGIN SOLUTION\n# as in sketch.png, data.csv\n"
        cells["rescale-solution"]["source"] = text.replace("### BEGIN SOLUTION\n", said)

    edit(place, change)
    stay = ["derivation.pdf", "my model.jpg", "pictures/model.png", "sketch.png"]
    go = ["data.csv", "nobody.png", "pictures/axes.png"]
    beside(place, *stay, *go)
    built(place)
    assert released(place) == go and found(place) == []
    assert (place / "solutions" / NAME / "pictures" / "model.png").is_file()
    beside(place, "notes.md")
    (source(place).parent / "notes.md").write_text("See sketch.png")  # which is released
    built(place)
    assert released(place) == ["data.csv", "nobody.png", "notes.md", "pictures/axes.png", "sketch.png"]


def test_the_build_and_the_doctor_name_it(place):
    def change(cells, notebook):
        text = "".join(cells[QUESTION]["source"])
        cells[QUESTION]["source"] = text.replace("**A model answer", "![](only/model.png) **A model answer")

    edit(place, change)
    beside(place, "only/model.png")
    made = {}
    said = [one for one in building.build(place, [NAME], NbgraderCourse(place), made) if isinstance(one, str)]
    assert said == [
        f"source/{NAME}/only/model.png is left out of release/: only a solution or a scheme shows it",
    ]
    assert not any("model.png" in name for name in made) and bundle.strays(place, made) == []
    assert not (place / "release" / NAME / "only").exists()
    (place / "release" / NAME / "only").mkdir()
    (place / "release" / NAME / "only" / "model.png").write_bytes(b"\x89PNG")
    assert found(place) == [
        f"release/{NAME} gives away only/model.png, which only a solution or a scheme shows",
    ]
    assert for_students.of_solutions_alone(source(place)) == [source(place).parent / "only" / "model.png"]
