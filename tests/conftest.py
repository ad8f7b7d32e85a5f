"""What several test files use: one warm sandbox, one grader, the course's folders."""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "02_queries_keys_values"

# nbgrader starts alembic by name
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(scope="session")
def grader():
    """A Grader with one warm sandbox, as `autograder check` uses it."""
    from autograder.grading.grader import Grader

    with Grader() as grader:
        yield grader


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
