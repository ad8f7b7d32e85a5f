"""What several test files use: one warm sandbox, one grader, the course's folders."""

import compileall
import contextlib
import itertools
import json
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "02_queries_keys_values"

# nbgrader starts alembic by name
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TRITON_INTERPRET"] = "1"  # before anything imports Triton, as the kit has it
# what is compiled is kept, or each of some hundred processes would compile the kit again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_addoption(parser):
    import unchanged

    unchanged.add_options(parser)


def pytest_configure(config):
    """Compile what only sandboxes import, which may write nothing."""
    import unchanged

    unchanged.configure(config)
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(ROOT / "autograder" / "sandbox" / "inside", quiet=2)


def pytest_collection_modifyitems(items):
    """What belongs together is run together, and the dearest first, whether there are workers or not."""
    from spreading import order_of

    items.sort(key=lambda item: order_of(item.nodeid))
    problems = left_out()
    for item in items if problems else ():
        tried = re.split(r"[^A-Za-z0-9_]", item.nodeid.partition("[")[2])
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        tried += [one.expect.get("exercise") for one in given if hasattr(one, "expect")]
        if problem := next((problems[name] for name in tried if name in problems), None):
            item.add_marker(pytest.mark.skip(reason=problem))


def left_out():
    """The assignments for which a module is missing here, and their exercises: {name: a sentence}."""
    from autograder import course

    lacking = [one for one in course.assignments(ROOT).values() if one.lacks]
    return {name: one.lacks for one in lacking for name in (one.name, *(e.name for e in one.exercises))}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from spreading import ByScope

    return ByScope(config, log)


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


class Noting:
    """A transport that knows what it was asked, and its answers."""

    def __init__(self, transport):
        self.transport = transport
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def ask(self, message, tensors):
        answer = self.transport.ask(message, tensors)
        self.asked.append((message, tensors, answer))
        return answer

    def answers(self, requests):
        """The answers to these requests: known ones if they came one after another, as in a check that went as far."""
        for start in range(len(self.asked) - len(requests) + 1):
            row = self.asked[start : start + len(requests)]
            if all(itertools.starmap(_is_same, zip(row, requests, strict=True))):
                return [answer for *_, answer in row]
        return [self.transport.ask(*request) for request in requests]


def _is_same(asked, request):
    from autograder.checks.replay import _identical

    (message, given, _), (wanted, tensors) = asked, request
    return message == wanted and len(given) == len(tensors) and all(map(_identical, given, tensors))


@pytest.fixture(scope="session")
def runs(graders, diagnostician):
    """The run of a mistake, made once per seed; the diagnostician knows it as well, and need not make it again.

    So it is with the answers to what the failed checks ask of a right one: they are fetched ahead, as from a sandbox.
    Only the runs of one exercise are kept: its tests follow one another, see `spreading.order_of`.
    """
    from autograder.mistakes.bank import bank
    from autograder.sandbox.inside import wire

    known = {}

    def run(exercise, id, seed):
        if known and next(iter(known))[0] != exercise:
            known.clear()
        if (exercise, id, seed) not in known:
            mistake = bank(exercise)[id]
            noting = Noting(mistake.local())
            made = known[exercise, id, seed] = graders.run(exercise, noting, seed)
            made.transport = noting.transport
            behaviours = diagnostician._behaviours(exercise, seed)
            known_as = behaviours.of([mistake])
            known_as.note(made)
            for check in made.failed():
                questions = behaviours.questions(check.name)
                with contextlib.suppress(wire.WireError):  # of what is too large to be sent there are none
                    answers = noting.answers(questions.asked.requests)
                    known_as.answered[check.name] = questions.compared(answers)
                    made.answers[check.name] = answers
        return known[exercise, id, seed]

    return run


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
