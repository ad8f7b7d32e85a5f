"""`pytest autograder/exercises --submission PATH`: from any folder, in each form of the option, in each course.

From a wheel: tests/sandbox/test_installed.py.
"""

import json
import os
import shlex
import subprocess
import sys
from importlib import metadata
from unittest import mock

import pytest
from conftest import ROOT, cell_of, load
from small_course import first

from autograder.grading import by_hand
from autograder.submission.read import read_file
from autograder.verdict import FULL

FORM = pytest.mark.drawn(1, "forms of each command that starts pytest", each="test")
THREE = pytest.mark.slow("three processes of pytest start")

SOFTMAX = "autograder/exercises/softmax"
SOLUTIONS = ROOT / "solutions" / "01_self_attention" / "01_self_attention.ipynb"
OTHERS = """[pytest]
addopts = --strict-markers
python_files = foo_*.py
python_functions = foo_*
python_classes = Foo
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a course, `mine`, and a project with settings for its own tests, `project`."""
    folder = tmp_path_factory.mktemp("plain")
    first(folder / "mine")
    (folder / "project").mkdir()
    (folder / "project" / "pytest.ini").write_text(OTHERS)
    (folder / "project" / "conftest.py").write_text("raise RuntimeError('of another project')\n")
    source = (folder / "mine" / "source" / "01_first" / "01_first.ipynb").read_bytes()
    for part in ("", "mine", "mine/exercises/rescale", "project"):
        (folder / part / "my work.ipynb").write_bytes(source)
    return folder


def run(folder, *arguments, program=(sys.executable, "-m", "pytest"), **environment):
    """(exit code, all that is printed) of pytest."""
    environment = {**os.environ, **environment}
    command = [*program, "-p", "no:cacheprovider", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert "INTERNALERROR" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_environment_has_the_plugin():
    """An environment that was made before pyproject.toml had it lacks it, and `make setup` makes a new one."""
    names = [point.name for point in metadata.entry_points(group="pytest11") if point.value == "autograder_pytest"]
    assert names == ["autograder_pytest"], "install the kit again: pip install --no-deps --editable ."


FORMS = {
    "a space": ("mine", "exercises --submission 'my work.ipynb'"),
    "an equals sign": ("mine", "exercises --submission='my work.ipynb'"),
    "the option first": ("mine", "--submission 'my work.ipynb' exercises"),
    "no folder in a course": ("mine", "--submission 'my work.ipynb'"),
    "an exercise's folder": ("", "mine/exercises/rescale --submission 'my work.ipynb'"),
    "a file of checks": ("", "--submission 'my work.ipynb' mine/exercises/rescale/checks.py"),
    "inside an exercise": ("mine/exercises/rescale", "--submission 'my work.ipynb'"),
    "workers": ("", "mine/exercises --submission 'my work.ipynb' -n 2"),
    "the same file twice": ("", "mine/exercises --submission 'my work.ipynb' --submission './my work.ipynb'"),
    "in another project": ("project", "../mine/exercises --submission 'my work.ipynb'"),
    "first in another project": ("project", "--submission 'my work.ipynb' ../mine/exercises"),
}


@FORM
@pytest.mark.parametrize("form", [pytest.param(form, marks=THREE if form == "workers" else ()) for form in FORMS])
def test_a_submission_is_graded_in_each_form(place, form):
    folder, arguments = FORMS[form]
    code, said = run(place / folder, *shlex.split(arguments))
    assert code == 0 and "2 passed" in said, said


def test_what_is_graded_is_what_was_found_to_be_readable(place, monkeypatch):
    """The file is read when pytest starts, and not once more when its checks run."""
    path = place / "changing.ipynb"
    path.write_bytes((place / "my work.ipynb").read_bytes())
    workspaces = by_hand.Workspaces(read_file(path), FULL)
    path.write_text("{}")
    made = mock.Mock(**{"return_value.kinds.return_value": {"rescale": "function"}})
    monkeypatch.setattr(by_hand, "WarmParent", mock.Mock())
    monkeypatch.setattr(by_hand, "Workspace", made)
    workspaces.of(place / "mine", "rescale")
    assert "def rescale" in "".join(cell.source for cell in made.call_args.args[1])


@pytest.mark.slow("it starts pytest, as others here do")
def test_it_is_graded_by_the_command_and_by_pytests_own_variable(place):
    command = (os.path.join(os.path.dirname(sys.executable), "pytest"),)
    code, said = run(
        place / "project", "../mine/exercises", program=command, PYTEST_ADDOPTS="--submission 'my work.ipynb'"
    )
    assert code == 0 and "2 passed" in said, said


@pytest.mark.slow("it starts pytest, as others here do")
def test_some_of_the_checks_are_run_or_listed(place):
    code, said = run(place, "mine/exercises", "--submission", "my work.ipynb", "-k", "values")
    assert code == 0 and "1 passed, 1 deselected" in said, said
    code, said = run(place, "mine/exercises", "--submission", "my work.ipynb", "--collect-only", "-q")
    assert code == 0 and said.count("checks.py::test_") == 2, said


@pytest.mark.slow("it starts pytest, as others here do")
@pytest.mark.parametrize("how", ["", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "-p no:autograder_pytest"])
def test_the_kits_checks_need_no_plugin_that_pytest_finds(tmp_path, how):
    """So they run where plugins are not loaded, too, and not only from the course's folder."""
    arguments = [ROOT / SOFTMAX, "--submission", SOLUTIONS, *how.split()[: 2 * how.startswith("-p")]]
    environment = {how: "1"} if how.isupper() else {}
    code, said = run(tmp_path, *arguments, **environment)
    assert code == 0 and "10 passed" in said, said


# --- what cannot be graded is a sentence, and no success -----------------------------------------------


@FORM
@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("mine/exercises --submission none.ipynb", "{place}/none.ipynb: There is no such file."),
        ("mine/exercises --submission mine", "{place}/mine: It is a folder"),
        ("mine/exercises --submission ''", "--submission needs the name of a notebook or .py file, and it is empty."),
        ("mine/exercises --submission mine/README.md", "{place}/mine/README.md: It is a Markdown document"),
        ("mine/exercises --submission a.py --submission b.py", "takes one file at a time, and not a.py and b.py."),
        ("mine/source --submission 'my work.ipynb'", "runs the checks of a course, and there are none in mine/source"),
        ("mine/exercises --submission 'my work.ipynb' -k no_such_check", "No check was run on {place}/my work.ipynb"),
    ],
)
def test_what_cannot_be_graded_is_a_sentence(place, arguments, sentence):
    code, said = run(place, *shlex.split(arguments))
    sentence = sentence.format(place=place)
    assert code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED) and sentence in said, said
    assert "Traceback" not in said and "passed" not in said


@pytest.mark.slow("it starts pytest, as others here do")
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_file_with_nothing_of_what_was_asked_is_no_success(place, workers):
    """A test that is skipped would be one: the file is another lesson's, or the folder was mistyped."""
    (place / "other.py").write_text("def rescaled(x):\n    return x\n")
    code, said = run(place, "mine/exercises", "--submission", "other.py", *workers)
    assert code == 1 and f"{place}/other.py has nothing of what was asked: it does not define rescale." in said, said


@pytest.mark.slow("it starts pytest, as others here do")
def test_a_file_with_a_part_of_what_was_asked_is_graded_on_that(place):
    (place / "mine.py").write_text("import torch\n\ndef softmax(x):\n    return torch.softmax(x, -1)\n")
    code, said = run(place, ROOT / SOFTMAX, ROOT / "autograder/exercises/Head", "--submission", "mine.py")
    assert code == 1 and f"{place}/mine.py does not define Head: not graded." in said, said


@pytest.mark.slow("it starts pytest, as others here do")
def test_an_exercise_that_its_own_lesson_lacks_fails(place):
    """To be skipped would be full marks for a cell that was deleted, or that stopped."""
    notebook = load(place / "my work.ipynb")
    cell_of(notebook, "rescale-solution")["source"] = "def rescale(x:\n    return x\n"
    (place / "broken.ipynb").write_text(json.dumps(notebook))
    code, said = run(place, "mine/exercises", "--submission", "broken.ipynb")
    assert code == 1 and "`rescale` is not defined, since its code stopped with SyntaxError" in said, said
    assert "2 failed" in said or "2 error" in said


# --- in all other runs of pytest on the machine ----------------------------------------------------------


def test_another_project_may_have_the_same_options_and_loads_nothing_of_the_kit(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    for name in ('submission', 'seed', 'unsafe'):\n"
        "        parser.addoption(f'--{name}', default='')\n"
    )
    (tmp_path / "checks.py").write_text("raise RuntimeError('no test')\n")
    (tmp_path / "test_one.py").write_text(
        "import os, sys\n\ndef test_one(request):\n    assert request.config.option.submission == 'x'\n"
        "    assert not {'autograder', 'torch'} & {*sys.modules} and 'OMP_NUM_THREADS' not in os.environ\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    for arguments in (["--submission=x"], [".", "--submission", "x", "--seed", "3"]):
        command = [sys.executable, "-m", "pytest", "-p", "no:jaxtyping", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_a_course_of_nbgraders_with_exercises_of_another_kind_is_left_alone(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    (tmp_path / "exercises" / "one").mkdir(parents=True)
    (tmp_path / "exercises" / "one" / "test_one.py").write_text(
        "import sys\n\ndef test_one():\n    assert 'autograder' not in sys.modules\n"
    )
    code, said = run(tmp_path, "exercises")
    assert code == 0 and "1 passed" in said, said
