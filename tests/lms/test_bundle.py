"""`build --bundle`: what the build made, and nothing else that lies in release/."""

import hashlib
import json
import shutil
import zipfile

import pytest
from conftest import ROOT, load
from small_course import autograder, command, first

from autograder import course
from autograder.errors import CourseError
from autograder.lms import bundle
from autograder.nbgrader import for_students

NAME = "01_first"
NONE = '{"cells": []}'  # what a release holds does not matter here
FOR_ALL = ["release/AGENTS.md", "release/README.md", "release/requirements.txt"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    first(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    yield tmp_path / "mine"
    course.forget()


def names(path):
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def built(place, files):
    """The record of a build that made these files, by their paths below release/."""
    made = {}
    for name, text in files.items():
        path = place / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        made[f"release/{name}"] = hashlib.sha256(text.encode()).hexdigest()
    return made


def test_a_solution_in_release_is_not_published(place):
    """By the commands: solutions and a gradebook lie there, and one of them lies in the place of the release itself."""
    assert autograder(place, "build")[0] == 0
    released = (place / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "release" / NAME)
    for copy in (f"{NAME}/answers.ipynb", "gradebook.db", "solutions/x.py"):
        (place / "release" / copy).parent.mkdir(exist_ok=True)
        shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "release" / copy)
    (place / "source" / NAME / ".env").write_text("TOKEN=1")  # nbgrader copies it
    code, out, said = autograder(place, "build", "--bundle")
    assert code == 0 and "exports/release.zip may be published" in out
    left_out = "autograder: 'release/{}' was not made by this build and is left out.\n"
    assert said == "".join(left_out.format(stray) for stray in (f"{NAME}/.env", "gradebook.db", "solutions"))
    with zipfile.ZipFile(place / "exports" / "release.zip") as archive:
        assert archive.namelist() == [f"release/{NAME}/{NAME}.ipynb", *FOR_ALL]
        assert archive.read(archive.namelist()[0]) == released

    # and not by way of source/, from which nbgrader would copy it
    shutil.copy(place / "solutions" / NAME / f"{NAME}.ipynb", place / "source" / NAME / "answers.ipynb")
    code, _, said = autograder(place, "build", "--bundle")
    assert code == 2 and said.count("\n") == 1 and f"source/{NAME} holds answers.ipynb beside {NAME}.ipynb" in said
    code, _, said = command(place, "nbgrader", "generate_assignment", NAME, "--force")
    assert code and "answers.ipynb would be released" in said
    assert not (place / "release" / NAME / "answers.ipynb").exists()


def test_a_release_that_was_changed_is_refused_in_one_sentence(place):
    made = built(place, {f"{NAME}/{NAME}.ipynb": "{}", "README.md": "a"})
    (path,) = bundle.write(place, made)
    before = path.read_bytes()
    (place / "release" / NAME / f"{NAME}.ipynb").write_text("{} ")
    with pytest.raises(CourseError, match=f"^release/{NAME}/{NAME}.ipynb is no longer what"):
        bundle.write(place, made)
    (place / "release" / NAME / f"{NAME}.ipynb").unlink()
    (place / "release" / NAME / f"{NAME}.ipynb").symlink_to(place / "source" / NAME / f"{NAME}.ipynb")
    with pytest.raises(CourseError, match="is no longer what"):
        bundle.write(place, made)
    assert path.read_bytes() == before, "the last bundle stays"


def test_the_same_release_makes_the_same_bytes(place):
    files = {f"{NAME}/{NAME}.ipynb": "{}", f"{NAME}/data/a.txt": "1", "README.md": "a"}
    (path,) = bundle.write(place, built(place, files))
    before = path.read_bytes()
    shutil.rmtree(place / "release")
    (path,) = bundle.write(place, built(place, dict(reversed(files.items()))))
    assert path.read_bytes() == before and names(path) == sorted(f"release/{name}" for name in files)


def test_a_lesson_that_is_named_is_bundled_alone(place):
    shutil.copytree(place / "source" / NAME, place / "source" / "02_next")
    (place / "source" / "02_next" / f"{NAME}.ipynb").rename(place / "source" / "02_next" / "02_next.ipynb")
    made = built(
        place, {f"{NAME}/{NAME}.ipynb": NONE, "02_next/02_next.ipynb": NONE, "02_next/a.csv": "1", "README.md": "a"}
    )
    one, two = bundle.write(place, made, [NAME, "02_next"])
    assert names(one) == [f"release/{NAME}/{NAME}.ipynb", "release/README.md"] and one.name == f"{NAME}.zip"
    assert names(two) == ["release/02_next/02_next.ipynb", "release/02_next/a.csv", "release/README.md"]


KERNEL = "11_a_kernel"


def with_lessons(place, *names):
    """The lessons of the kit's own course's texts, of which these are there, with the first one's cells."""
    for name in names:
        shutil.copytree(place / "source" / NAME, place / "source" / name)
        (place / "source" / name / f"{NAME}.ipynb").rename(place / "source" / name / f"{name}.ipynb")
    course.forget()
    return built(place, {f"{name}/{name}.ipynb": NONE for name in (NAME, *names)})


def readme_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("release/README.md").decode()


def test_lessons_that_are_not_there_are_not_explained(place):
    with_lessons(place)
    (readme,) = [path for path in for_students.release(place) if path.name == "README.md"]
    text = readme.read_text(encoding="utf-8")
    assert KERNEL not in text and "Triton" not in text and "<!--" not in text
    assert "Colab has what the notebooks need" in text
    with_lessons(place, "02_next", KERNEL)
    shutil.rmtree(place / "release" / "02_next")  # not built yet
    for_students.release(place)
    text = readme.read_text(encoding="utf-8")
    assert "Triton" in text and f"| `{KERNEL}` |" in text and "02_next" not in text
    assert "Colab has what all the others need" in text and "what the notebooks need" not in text


def test_a_bundle_of_one_lesson_explains_that_one(place):
    made = with_lessons(place, "02_next", KERNEL)
    made |= {
        f"release/{name}": hashlib.sha256((place / "release" / name).read_bytes()).hexdigest()
        for name in (path.name for path in for_students.release(place))
    }
    one, kernel = map(readme_of, bundle.write(place, made, ["02_next", KERNEL]))
    assert "| `02_next` |" in one and NAME not in one and KERNEL not in one and "Triton" not in one
    assert f"| `{KERNEL}` |" in kernel and "Triton" in kernel and "02_next" not in kernel
    (whole,) = bundle.write(place, made)
    assert readme_of(whole) == (place / "release" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("address", ["", "https://desk.example/attention"])
def test_whoever_has_a_desk_is_told_how_to_hand_in_there(place, address):
    with_lessons(place)
    for_students.release(place, address)
    text = (place / "release" / "README.md").read_text(encoding="utf-8")
    at_desk = ("`hand_in()`" in text, "personal link" in text, "https://desk.example/attention" in text)
    assert at_desk == (bool(address),) * 3 and "<!--" not in text
    assert ("in the way and by the date" in text) == (not address)


def test_a_build_tells_of_the_desk(place):
    config = place / "nbgrader_config.py"
    config.write_text(config.read_text() + '\nc.Desk.address = "https://desk.example"\n')
    assert autograder(place, "build", "01", "--bundle")[0] == 0
    text = readme_of(place / "exports" / f"{NAME}.zip")
    assert "https://desk.example." in text and text == (place / "release" / "README.md").read_text(encoding="utf-8")
    assert "autograder desk" in (place / "README.md").read_text(encoding="utf-8")


def test_what_was_not_made_is_named(place):
    made = built(place, {f"{NAME}/{NAME}.ipynb": "{}", f"{NAME}/data/a.txt": "1", "README.md": "a"})
    built(place, {"03_gone/03_gone.ipynb": "{}", f"{NAME}/data/b.txt": "", "notes/x": "", ".git/config": ""})
    (place / "release" / "link").symlink_to(place / "source")
    strays = [f"release/{name}" for name in (".git", "03_gone", "link", "notes")]
    assert bundle.strays(place, made) == sorted([*strays, f"release/{NAME}/data/b.txt"])
    assert bundle.strays(place, {"release/README.md": ""}) == strays


@pytest.mark.parametrize("mark", for_students.HIDDEN)
def test_a_file_beside_the_notebook_with_a_solution_is_refused(place, mark):
    folder = place / "source" / NAME
    (folder / "data").mkdir()
    (folder / "data" / "numbers.csv").write_text("1,2\n")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "x.ipynb").write_text(mark)  # which nbgrader does not copy
    for_students.require_publishable(folder / f"{NAME}.ipynb")
    (folder / "data" / "answers.py").write_text(f"def f():\n    {mark}\n")
    with pytest.raises(CourseError, match="answers.py would be released as it is"):
        for_students.require_publishable(folder / f"{NAME}.ipynb")


def test_a_program_beside_the_notebook_that_solves_an_exercise_is_refused(place):
    folder = place / "source" / NAME
    (folder / "data").mkdir()
    (folder / "data" / "helper.py").write_text("def rescaled(x):\n    return rescale(x)\n")
    for_students.require_publishable(folder / f"{NAME}.ipynb")
    (folder / "data" / "helper.py").write_text("import torch\n\n\ndef rescale(x):\n    return x\n")
    with pytest.raises(
        CourseError, match=f"source/{NAME}/data/helper.py would be .*, and it defines rescale, which is an"
    ):
        for_students.require_publishable(folder / f"{NAME}.ipynb")


def test_students_get_a_readme_and_the_packages(place):
    """The table of assignments, and the versions that the kit itself asks for, of what their notebooks import."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    release = place / "release" / NAME / f"{NAME}.ipynb"
    notebook = load(place / "source" / NAME / f"{NAME}.ipynb")
    imports = "%matplotlib inline\n!pip list\nimport math, torch.nn\nfrom tqdm import tqdm\n"
    imports += "import yaml, IPython.display\nimport notorious"
    notebook["cells"][1] = {"cell_type": "code", "id": "x", "metadata": {}, "source": imports, "outputs": []}
    notebook["cells"][2] = {"cell_type": "code", "id": "y", "metadata": {}, "source": "def broken(:", "outputs": []}
    release.parent.mkdir(parents=True)
    release.write_text(json.dumps(notebook))
    made = for_students.release(place)
    assert [path.relative_to(place).as_posix() for path in made] == FOR_ALL
    readme = (place / "release" / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# mine\n") and f"| `{NAME}` | First steps | 5 |" in readme and "<!--" not in readme
    wanted = (place / "release" / "requirements.txt").read_text().split()
    assert [line.split(">")[0] for line in wanted] == ["ipython", "notorious", "pyyaml", "torch", "tqdm"]
    assert all(f'"{line}"' in text for line in wanted if line != "notorious")


def test_a_course_without_these_texts_keeps_a_readme_of_its_own(place):
    for name in for_students.RELEASED:
        (place / "source" / name).unlink()
    (place / "release").mkdir()
    (place / "release" / "README.md").write_text("mine")
    assert for_students.release(place) == [] and (place / "release" / "README.md").read_text() == "mine"
