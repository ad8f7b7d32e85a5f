"""The gradebook on a PostgreSQL server: the same rows as in SQLite's file, two heads at once, a server that stops.

`GRADEBOOK=postgresql` lets the other tests that have a gradebook, of nbgrader's commands and of kills, use one, too.
"""

import contextlib
import csv
import os
import re
import shutil
import sys

import postgres
import pytest
import tiny
from conftest import hand_in
from nbgrader.apps import NbGraderApp
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins.export import CsvExportPlugin

from autograder import cli
from autograder.batch import commands
from autograder.grading.store import parts_of
from autograder.nbgrader.runs import NbgraderCourse

pytestmark = pytest.mark.slow("it starts a PostgreSQL server")

NAMES = ("08_small", tiny.NAME)
ROUNDS = int(os.environ.get("ROUNDS", "1"))  # of two heads at once; in the first one they meet for sure
LONG = "x" * 200  # as a student's id: a folder's name can be that long, a column of nbgrader's 128 characters
CLASS = {  # what they hand in for each assignment
    "ada": ("right", "floats"),
    "o'neill; [ü] \\ %s": ("upside down", "right"),
    "bela": ("raises", "upside down"),
    "carl": (b"no notebook", b"{}"),
    "only_once": ("right", None),
}


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory):
    """A course of two assignments whose gradebook is SQLite's file, graded by two heads at once."""
    place = tmp_path_factory.mktemp("sqlite")
    release = tiny.course(place, NAMES)
    for student, answers in CLASS.items():
        for name, answer in zip(NAMES, answers, strict=True):
            if isinstance(answer, bytes):
                hand_in(answer, place / "submitted" / student / name, f"{name}.ipynb")
            elif answer:
                tiny.submit(place, release, student, answer, name=name)
    graded([tiny.start(place, "--jobs", 1, name=name) for name in NAMES])
    return place


@pytest.fixture(scope="module")
def built(server, sqlite, tmp_path_factory):
    """The same course, its gradebook in PostgreSQL, built by the command in a database that was empty."""
    url = server.create("built")
    place = copy(sqlite, tmp_path_factory.mktemp("built") / "course", url)
    command(place, "build")
    return place


@pytest.fixture
def place(server, sqlite, built, tmp_path):
    """The same course with a gradebook of its own in PostgreSQL. All its submissions have their results already."""
    return copy(sqlite, tmp_path / "course", server.create(tmp_path.name, template="built"))


@pytest.fixture
def database(tmp_path):
    """The name of the gradebook of `place`."""
    return tmp_path.name


def copy(sqlite, place, url):
    """A copy of the course with another gradebook: its source, what was handed in, and the results of that."""
    for folder in ("source", "release", "submitted", ".autograder/results", ".autograder/seeds"):
        shutil.copytree(sqlite / folder, place / folder)
    tiny.configure(place, url)
    return place


def command(place, *arguments):
    """Run a command of the kit in this process; returns its exit code."""
    with working_in(place):
        return cli.main(list(arguments))


def nbgrader(place, *arguments):
    """Run a command of nbgrader in this process. It exits where it fails."""
    NbGraderApp.clear_instance()
    with working_in(place):
        NbGraderApp.launch_instance(list(arguments))


@contextlib.contextmanager
def working_in(place):
    """Work in a course, as a process that was started in it does."""
    before = os.getcwd()
    os.chdir(place)
    parts_of.cache_clear()
    try:
        yield
    finally:
        os.chdir(before)
        parts_of.cache_clear()


def graded(runs):
    """What runs that end well have said, one after another."""
    ends = [tiny.ended(run, postgres.PATIENCE) for run in runs]
    assert [code for code, _ in ends] == [0] * len(runs), ends
    return [said for _, said in ends]


def rows(place):
    """All that the gradebook knows of the class, whatever the order in which it was told."""
    with NbgraderCourse(place).gradebook() as book:
        known = sorted(student.id for student in book.students)
    return known, [tiny.gradebook(place, name) for name in NAMES]


def formgrader(place):
    """What Formgrader's pages show, without the ids that every gradebook draws anew, and the order by them."""
    runs = NbgraderCourse(place)
    api = NbGraderAPI(runs.directory)
    shown = [api.get_assignments(), api.get_students()]
    for name in NAMES:
        shown += [api.get_notebooks(name), api.get_submissions(name), api.get_notebook_submissions(name, name)]
    return [
        sorted(({k: v for k, v in row.items() if k not in ("id", "index")} for row in rows), key=str) for rows in shown
    ]


def export(place):
    """The table that `nbgrader export` writes, made without the command."""
    with NbgraderCourse(place).gradebook() as book:
        CsvExportPlugin(to=str(place / "grades.csv")).export(book)
    return table(place)


def table(place):
    with open(place / "grades.csv", newline="") as file:
        return sorted(csv.reader(file))


def test_two_heads_at_once_fill_one_gradebook_as_one_after_another_does(server, sqlite, place, database, tmp_path):
    expected = rows(sqlite)
    assert expected[0] == sorted(CLASS), "the two heads that shared SQLite's file have lost somebody"
    with server.held(database, "student", waiting=2) as wait:  # so that both want to add the same student
        runs = [tiny.start(place, "--jobs", 1, name=name) for name in NAMES]
        wait(runs)
    for said in graded(runs):
        assert "0 graded" in said, "the results of the course were there already"
    assert rows(place) == expected
    assert formgrader(place) == formgrader(sqlite)
    # ... and nbgrader's own commands, on what is there
    nbgrader(place, "autograde", tiny.NAME, "--student", "ada", "--force")
    nbgrader(place, "generate_feedback", tiny.NAME, "--student", "ada")
    nbgrader(place, "export", "--to", str(place / "grades.csv"))
    assert (place / "feedback" / "ada" / tiny.NAME / f"{tiny.NAME}.html").is_file()
    assert rows(place) == expected
    assert table(place) == export(sqlite)
    for number in range(1, ROUNDS):
        another = copy(sqlite, tmp_path / f"round{number}", server.create(f"round{number}", template="built"))
        graded([tiny.start(another, "--jobs", 1, name=name) for name in NAMES])
        assert rows(another) == expected


def test_a_server_that_stops_is_one_sentence_and_loses_nothing(server, sqlite, place, database, capsys):
    with server.held(database, "grade") as wait:
        run = tiny.start(place, "--jobs", 1, "--regrade")
        wait([run])
        with server.stopped():
            code, said = tiny.ended(run)
            assert code == 2 and said.count("\n") == 1 and "The gradebook cannot be used" in said, said
            assert re.search("terminating connection|closed the connection", said), said
            assert "run the same command again" in said
            for what in ("build", "grade"):
                no_gradebook(place, what, capsys)
    assert command(place, "grade", tiny.NAME) == 0
    said = capsys.readouterr().out
    done, known = map(int, re.search(r"(\d) graded, (\d) unchanged", said).groups())
    assert done + known == 3 and known > 0, "what was graded before the server stopped is kept"
    assert tiny.gradebook(place) == tiny.gradebook(sqlite), "other inputs, the same scores"
    with server.stopped():
        no_gradebook(place, "report", capsys)
    assert command(place, "report", tiny.NAME) == 0
    pages = {path.parent.parent.name for path in (place / "feedback").glob(f"*/{tiny.NAME}/{tiny.NAME}.html")}
    assert pages == {s for s, answers in CLASS.items() if answers[1]}


def no_gradebook(place, what, capsys):
    """A command says in a sentence that the server does not answer."""
    assert command(place, what, tiny.NAME) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "The gradebook cannot be used: connection" in said, said


def test_building_again_changes_nothing(sqlite, built):
    before = formgrader(built)
    assert command(built, "build") == 0
    assert formgrader(built) == before
    for name in NAMES:
        pages = [(place / "release" / name / f"{name}.ipynb").read_text() for place in (built, sqlite)]
        assert pages[0] == pages[1]


def test_nbgrader_makes_the_gradebook_in_an_empty_database(server, sqlite, built, tmp_path):
    place = copy(sqlite, tmp_path / "course", server.create("empty"))
    nbgrader(place, "generate_assignment", tiny.NAME, "--force")
    nbgrader(place, "generate_solution", tiny.NAME, "--force")
    assert server.ask("empty", "SELECT count(*) FROM alembic_version") == [(1,)]
    assert formgrader(place)[5] == formgrader(built)[5]


def test_a_name_that_has_no_room_is_one_sentence_for_one_student(place, sqlite, capsys):
    shutil.rmtree(place / "submitted")
    for student in ("ada", LONG):
        shutil.copytree(sqlite / "submitted" / "ada" / tiny.NAME, place / "submitted" / student / tiny.NAME)
    assert command(place, "grade", tiny.NAME) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"autograder: {LONG}" in said and "takes up to 128 characters" in said, said
    assert tiny.gradebook(place)[0].keys() == {"ada"}


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("postgresql+psycopg2://nobody@/none?host=/nowhere", "driver is not installed: pip install 'psycopg2-binary'"),
        ("postgresql+psycopg://nobody:secret@/none?host=/nowhere", "No such file or directory"),
        ("postgres://nobody:secret@/none", "The gradebook cannot be used"),
    ],
)
def test_a_line_that_is_wrong_is_one_sentence(sqlite, tmp_path, monkeypatch, capsys, url, sentence):
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    place = copy(sqlite, tmp_path / "course", url)
    assert command(place, "build") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and sentence in said and "secret" not in said, said


def test_one_run_at_a_time_on_an_assignment(built, capsys):
    with commands.locked(built, NAMES[0]):
        for what in ("build", "grade", "report"):
            assert command(built, what, NAMES[0]) == 2
            assert f"already working on {NAMES[0]}" in capsys.readouterr().err
        assert command(built, "build", NAMES[1]) == 0
