"""What students get: up to date, clean, with the originals' defects, and without anything that they must not see."""

import ast
import base64
import functools
import io
import json
import re
import shutil
from importlib import metadata

import nbformat
import pytest
from conftest import ROOT, cell_of, load
from nbclient import NotebookClient
from PIL import Image

from autograder import course
from autograder.course import ORIGINAL, original_of
from autograder.doctor import course as looks
from autograder.errors import ChildGone, CourseError, Interrupted
from autograder.mistakes.bank import bank
from autograder.nbgrader import diagrams, for_students
from autograder.nbgrader.releasing import MAY_RAISE
from autograder.nbgrader.runs import NbgraderCourse

TRAINING = ("12",)  # its model is trained when it is graded
SOME = pytest.mark.drawn(
    1, "lessons that are built, and graded as released and solved", by=lambda name, **_: name[:2], never=TRAINING
)

ASSIGNMENTS = sorted(course.assignments(ROOT))


def notebook_of(folder, name):
    return load(ROOT / folder / name / f"{name}.ipynb")


def source_of(cell):
    return "".join(cell["source"])


PICTURES = 130_000  # bytes of all stored pictures of a lesson, as they are in its notebook


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A copy of the course of which nothing is built yet."""
    place = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "source", place / "source")
    shutil.copy(ROOT / "nbgrader_config.py", place)
    return place


@pytest.fixture(scope="module")
def built(place, grader):
    """Builds an assignment from source/, once; returns the folder of that course."""
    runs = NbgraderCourse(place)

    @functools.cache
    def build(name):
        runs.build(name)
        diagrams.store(runs, name, diagrams.pictures(grader.parent, name, notebook_of("source", name)["cells"]))
        return place

    return build


@SOME
@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("folder", ["release", "solutions"])
def test_it_is_up_to_date(built, folder, name):
    """`autograder build` would change nothing."""
    made = (built(name) / folder / name / f"{name}.ipynb").read_text(encoding="utf-8")
    committed = (ROOT / folder / name / f"{name}.ipynb").read_text(encoding="utf-8")
    (made, drawn), (committed, stored) = map(without_pictures, (made, committed))
    assert made == committed and len(drawn) == len(stored), f"run `autograder build {name}` and commit {folder}/"
    if drew_them():
        for picture, other in zip(drawn, stored, strict=True):
            assert pixels(picture) == pixels(other), f"run `autograder build {name}` and commit {folder}/"


PNG = re.compile(r'"(iVBORw0KGgo[^"]*)"')


def without_pictures(text):
    """A notebook without its pictures, whose bytes depend on the processor, and these."""
    return PNG.sub('""', text), PNG.findall(text)


def pixels(picture):
    drawn = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    return drawn.size, drawn.tobytes()


def drew_them():
    """Whether the matplotlib that is pinned is installed, which drew what is stored: others draw otherwise."""
    return f"matplotlib=={metadata.version('matplotlib')} " in (ROOT / "locks" / "requirements.lock").read_text()


def test_every_release_has_its_source():
    beside = [*for_students.RELEASED.values(), for_students.PACKAGES]
    assert sorted(p.name for p in (ROOT / "release").iterdir()) == sorted([*ASSIGNMENTS, *beside])
    assert sorted(p.name for p in (ROOT / "solutions").iterdir()) == ASSIGNMENTS


def test_what_students_get_beside_the_notebooks_is_up_to_date(tmp_path):
    for folder in ("source", "release"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for released in (*for_students.RELEASED.values(), for_students.PACKAGES):
        (tmp_path / "release" / released).unlink()
    for_students.release(tmp_path)
    for name in [*for_students.RELEASED.values(), for_students.PACKAGES]:
        made, committed = ((place / "release" / name).read_text(encoding="utf-8") for place in (tmp_path, ROOT))
        assert made == committed, "run `autograder build` and commit release/"


def test_the_rules_for_assistants_are_released():
    """They name the command that names a mistake, and take no part in any course's notebooks."""
    released = for_students.RELEASED[for_students.RULES]
    text = (ROOT / "release" / released).read_text(encoding="utf-8")
    assert text == (ROOT / "source" / for_students.RULES).read_text(encoding="utf-8"), "run `autograder build`"
    assert "`autograder check NOTEBOOK.ipynb`" in text and "instructor has given win" in text
    assert not [name for name in course.exercises(ROOT) if name in text], "they are the same for every course"
    assert not list((ROOT / "source").rglob(released)), "it would speak to those who write the course"


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("folder", ["source", "release", "solutions"])
def test_notebooks_are_clean(folder, name):
    """The only outputs are pictures of diagrams, where students get them."""
    notebook = notebook_of(folder, name)
    nbformat.validate(nbformat.from_dict(notebook))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert ids == [c["id"] for c in notebook_of("source", name)["cells"]], "ids are the source's"
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            if folder == "source" or diagrams.TAG not in cell["metadata"].get("tags", []):
                assert cell["outputs"] == []
            assert all({*output["data"]} - {"text/plain"} == {"image/png"} for output in cell["outputs"])
            assert cell["execution_count"] is None
            ast.parse(source_of(cell))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_each_lesson_has_diagrams_to_see_and_they_are_small(name):
    _, pictures = without_pictures(json.dumps(notebook_of("release", name)))
    assert pictures and sum(map(len, pictures)) < PICTURES


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_release_leaks_nothing(name):
    """No solution line, hidden test, marker, check or sentence of a mistake is in the release."""
    assignment = course.assignments(ROOT)[name]
    assert len(looks.secret_lines(assignment)) > 10, "there is something to look for"
    assert list(looks.leaks(assignment, notebook_of("release", name)["cells"])) == []


def test_leaks_are_found():
    """Each kind of them, put into a release."""
    assignment = course.find_assignment("02", ROOT)
    line = '        raise ValueError(f"{name} needs at least 2 dimensions, got shape {tuple(tensor.shape)}")'
    says = bank("attention")["no-scale"].says
    for leak in (f"{line}  # as here", "# exercise: attention", "def test_weights(): pass", says):
        released = notebook_of("release", name := assignment.name)["cells"]
        released[-1]["source"] = [leak]
        assert len(list(looks.leaks(assignment, released))) == 1, (name, leak)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_fixes_release_the_original(name):
    """A fix exercise, by the table at the notebook's start, is released as the buggy original, whole, ready to edit."""
    cells = notebook_of("source", name)["cells"]
    begins = [c for c in cells if ORIGINAL.search(source_of(c))]
    fixes = [c for c in begins if not original_of(source_of(c)).startswith("bring(")]
    assert len(fixes) == source_of(cells[0]).count("| fix |")
    for cell in begins:
        released = source_of(cell_of(notebook_of("release", name), cell["metadata"]["nbgrader"]["grade_id"]))
        assert released == original_of(source_of(cell))


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_solutions_hold_no_hidden_parts(name):
    raw = json.dumps(notebook_of("solutions", name))
    for word in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "ORIGINAL", "NotImplementedError()"):
        assert word not in raw, word


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_source_declares_its_exercises(name):
    """Every graded code cell names its exercise, every exercise has a solution cell and hints."""
    notebook = notebook_of("source", name)
    assignment = course.assignments()[name]
    graded = [c.grade_id for c in assignment.cells if c.grade and c.cell_type == "code"]
    assert graded == [e.grade_id for e in assignment.exercises]
    text = "\n".join(source_of(c) for c in notebook["cells"])
    assert text.count("<details>") >= 3 * len(graded), "three hints for each exercise"
    for grade_id in graded:
        assert cell_of(notebook, f"{grade_id}-solution")["metadata"]["nbgrader"]["solution"]


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\n1\n### END SOLUTION\n### BEGIN ORIGINAL\n# 1\n",
        "### BEGIN SOLUTION\n1\n### END SOLUTION\n### BEGIN ORIGINAL\n1\n### END ORIGINAL",
    ],
)
def test_a_malformed_original_is_refused(source):
    with pytest.raises(CourseError):
        original_of(source)


@SOME
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_released_checks_fail_and_the_solutions_pass(grader, name):
    """Every visible check fails on the release as it is, and passes on the solution.

    The lesson's own cells are run with the solution by tests/lessons; no check needs any of them.
    """
    for folder, passes in (("release", False), ("solutions", True)):
        child = grader.parent.fork()
        try:
            for cell in notebook_of(folder, name)["cells"]:
                of_lesson = "lesson" in cell["metadata"].get("tags", [])
                if cell["cell_type"] != "code" or (passes and of_lesson):
                    continue
                request = {"op": "cell", "source": source_of(cell), "name": cell["id"]}
                reply, _ = child.request(request, seconds=60)
                meta = cell["metadata"].get("nbgrader", {})
                if "error" in reply:
                    assert MAY_RAISE in cell["metadata"].get("tags", []), f"Run All stops at {cell['id']}"
                if meta.get("grade"):
                    assert ("error" not in reply) == passes, cell["id"]
                elif passes or not meta.get("solution"):
                    assert "error" not in reply, (folder, cell["id"], reply.get("error"))
        except (ChildGone, Interrupted) as problem:
            pytest.fail(f"{folder}, {cell['id']}: {problem}")
        finally:
            child.kill()


@pytest.mark.slow("it runs a lesson in a stock kernel")
def test_run_all_goes_through_an_unsolved_release(built):
    """In a stock kernel, as in JupyterLab: with stubs, and with an original that raises when its cell is run."""
    name = "04_multi_head_attention"
    notebook = nbformat.read(built(name) / "release" / name / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    raised = {c.metadata.nbgrader.grade_id for c in code if any(o.output_type == "error" for o in c.outputs)}
    checks = {e.grade_id for e in course.assignments(ROOT)[name].exercises}
    assert raised == checks | {"SelfAttentionWide-solution"}


@SOME
@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_solutions_get_full_marks_and_the_release_does_not(grader, monkeypatch, name):
    """Through the sandbox; on `meta` as well, wherever an exercise has a check for devices."""
    monkeypatch.setattr(grader.diagnostician, "diagnose", lambda run: [])  # costly, and tested elsewhere
    right, released = (
        grader.grade_file(ROOT / folder / name / f"{name}.ipynb", seed=1).verdict for folder in ("solutions", "release")
    )
    assert right.full, [c.message for e in right.exercises for c in e.checks if not c.passed]
    for outcome in released.exercises:
        assert outcome.score < outcome.max_score, outcome.exercise
        assert outcome.status == "graded" or outcome.message
