"""What several test files use: one warm sandbox, one grader, the course's folders."""

import compileall
import gc
import json
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "02_queries_keys_values"
SLOW = re.compile(r"^pytestmark = pytest\.mark\.slow\(", re.MULTILINE)  # of all tests of a file

# nbgrader starts alembic by name
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton, as the kit has it
# what is compiled is kept, or each of some hundred processes would compile the kit again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_addoption(parser):
    import sample

    sample.add_options(parser)


def pytest_configure(config):
    """Compile what only sandboxes import, which may write nothing."""
    import sample

    sample.configure(config)
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "autograder" / "sandbox" / "inside", quiet=2)


def pytest_sessionstart(session):
    import sample

    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal and not hasattr(session.config, "workerinput") and (line := sample.first_line()):
        terminal.write_line(line)


def pytest_ignore_collect(collection_path, config):
    """Do not even import a file of tests that are all slow, where those are left out."""
    is_test = config.getoption("sample") and collection_path.suffix == ".py"
    return True if is_test and SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what is not in the sample, and say why some can't run here."""
    import sample

    chosen = sample.THIS.chosen(items)
    config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
    items[:] = chosen
    problems = left_out()
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        about = re.split(r"[^A-Za-z0-9_]", item.nodeid.partition("[")[2])
        about += [one.expect.get("exercise") for one in given.values() if hasattr(one, "expect")]
        if problem := next((problems[name] for name in about if name in problems), None):
            item.add_marker(pytest.mark.skip(reason=problem))


def pytest_collection_finish(session):
    """Leave some million objects of torch and of collected tests, which stay, out of each later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from together import Together

    return Together(config, log)


def left_out():
    """The assignments for which a module is missing here, and their exercises: {name: a sentence}."""
    from autograder import course

    lacking = [one for one in course.assignments(ROOT).values() if one.lacks]
    return {name: one.lacks for one in lacking for name in (one.name, *(e.name for e in one.exercises))}


@pytest.fixture(scope="session")
def grader():
    """A Grader with one warm sandbox, as `autograder check` uses it."""
    from autograder.grading.grader import Grader

    with Grader() as grader:
        yield grader


@pytest.fixture(scope="session")
def graders():
    """The checks of all exercises, for answers in this process."""
    from autograder.checks.runner import Graders

    return Graders()


@pytest.fixture(scope="session")
def diagnostician(graders):
    from autograder.mistakes.diagnosis import Diagnostician

    return Diagnostician(graders)


@pytest.fixture(scope="session")
def sample():
    """What of this run is a sample, see tests/support/sample.py."""
    import sample

    return sample.THIS


@pytest.fixture(scope="session")
def runs(graders):
    """The run of a mistake of the bank, made once; those of one exercise are kept, whose tests follow one another."""
    from autograder.mistakes.bank import bank

    known = {}

    def run(exercise, id, seed):
        if known and next(iter(known))[0] != exercise:
            known.clear()
        if (exercise, id, seed) not in known:
            known[exercise, id, seed] = graders.run(exercise, bank(exercise)[id].local(), seed)
        return known[exercise, id, seed]

    return run


@pytest.fixture
def uncompiled(monkeypatch):
    """As where students are graded: no compiler is there. One would take a minute for an answer that asks for it."""
    import torch

    from autograder.sandbox.inside import unavailable

    monkeypatch.setattr(torch, "compile", unavailable.uncompiled)


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server, where that is installed."""
    import postgres

    with postgres.server() as server:
        yield server


@pytest.fixture(scope="module")
def db_url(request):
    """Where the gradebook of a module's course is: None for SQLite's file, as it is unless the environment says so."""
    if os.environ.get("GRADEBOOK") != "postgresql":
        return None
    return request.getfixturevalue("server").create(request.module.__name__)


@pytest.fixture
def release():
    """The released notebook of assignment 02, parsed."""
    return load(ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")


@pytest.fixture
def solution():
    """The solution notebook of assignment 02, parsed."""
    return load(ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")


@pytest.fixture
def submit(tmp_path, release):
    def submit(student, status="graded"):
        release["cells"][-1]["source"] = [status]
        return hand_in(release, tmp_path / "submitted" / student / ASSIGNMENT)

    return submit


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cell_of(notebook, grade_id):
    """The cell of that grade id."""
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def hand_in(notebook, folder, name=f"{ASSIGNMENT}.ipynb"):
    """Write a notebook (or raw bytes, or text) as a submission; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if isinstance(notebook, dict):
        notebook = json.dumps(notebook)
    path.write_bytes(notebook.encode() if isinstance(notebook, str) else notebook)
    return path


@pytest.fixture(autouse=True)
def in_the_course(monkeypatch):
    """Tests run in the course's folder, wherever pytest was started."""
    monkeypatch.chdir(ROOT)
