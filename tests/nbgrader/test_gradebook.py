"""A gradebook that another program keeps: rows wait, nobody is graded again, and one sentence says what to do."""

import io
import json
import shutil
import sqlite3

import pytest
import tiny
from alembic import command
from alembic.config import Config
from nbgrader import dbutil

from autograder import cli, course
from autograder.batch import commands
from autograder.grading.store import Store
from autograder.nbgrader import gradebook, patches
from autograder.submission import files
from autograder.verdict import Graded, Outcome, Verdict

STUDENTS = ["ada", "bela"]


class Engine:
    """Grades everything as right; `before` is called before each task."""

    def __init__(self, before=lambda: None):
        self.before, self.graded_ones = before, []

    def warm(self, total):
        pass

    def graded(self, coming, total, **options):
        for task in coming:
            self.before()
            self.graded_ones.append(task.student)
            exercises = course.find_assignment(tiny.NAME).exercises
            outcomes = [Outcome(e.name, e.points, e.points, "graded") for e in exercises]
            yield task, Graded(Verdict("", outcomes, task.seed, task.assignment))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("kept")
    release = tiny.course(place)
    for student in STUDENTS:
        tiny.submit(place, release, student)
    return place


@pytest.fixture
def place(built, tmp_path, monkeypatch):
    shutil.copytree(built, tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    monkeypatch.setattr(patches, "PATIENCE", 0.05, raising=False)
    return tmp_path / "course"


@pytest.fixture
def other(place):
    """Another program's connection to the gradebook."""
    connection = sqlite3.connect(place / "gradebook.db", isolation_level=None)
    yield connection
    connection.close()


def grade(place, engine):
    return commands.grade_class(place, course.find_assignment(tiny.NAME), STUDENTS, engine)


def test_a_new_gradebook_has_the_version_that_alembic_itself_tells():
    said = io.StringIO()
    with dbutil._temp_alembic_ini("sqlite://") as settings:
        command.heads(Config(settings, stdout=said))
    assert said.getvalue() == f"{patches.alembic_version()} (head)\n"


def test_rows_that_cannot_be_written_are_named_and_written_by_the_next_run(place, other, capsys):
    other.execute("BEGIN IMMEDIATE")
    engine = Engine()
    assert grade(place, engine) == 2 and engine.graded_ones == STUDENTS
    said = capsys.readouterr().err
    assert all(f"autograder: {student}: {gradebook.BUSY}" in said for student in STUDENTS) and said.count("\n") == 2
    other.execute("ROLLBACK")
    engine = Engine()
    assert grade(place, engine) == 0 and engine.graded_ones == []
    assert "2 unchanged since an earlier run" in capsys.readouterr().out
    assert tiny.gradebook(place)[0].keys() == set(STUDENTS)


LONG = "\N{CYRILLIC SMALL LETTER A}" * 126  # 252 bytes
UNSAFE = [
    LONG,
    "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 84,
    "x" * 130,
    "%2e%2e?path=x",
    "%2\ne%2e",
    ".b",
    "a?b",
    "a#b",
    "carla ",
    "\u00a0nora",
    "a\\..\\b",
]
SAFE = [
    "ada.o'neill+1@uni-x.example",
    "\N{CYRILLIC SMALL LETTER A}" * 120,
    "\N{CJK UNIFIED IDEOGRAPH-4E00} \N{ARABIC LETTER ALEF}",
    "100% (2) & more, [3]; 5%; =1",
    "two\nlines\x1b",
    "$\\class{a}$",
]


@pytest.mark.parametrize("name", [*UNSAFE, "", "..", "a/b", "\udcff", "\ud800"])
def test_what_cannot_be_a_students_name_is_said_in_a_sentence(name):
    problem = files.problem_of(name)
    assert problem.endswith("rename it") and "\n" not in problem


def test_a_name_that_cannot_be_a_students_costs_nobody_else_a_row(place, capsys):
    release = json.loads((place / "release" / tiny.NAME / f"{tiny.NAME}.ipynb").read_text())
    for name in (*UNSAFE, *SAFE):
        tiny.submit(place, release, name)
    who = sorted([*UNSAFE, *SAFE, *STUDENTS])
    assert commands.grade_class(place, course.find_assignment(tiny.NAME), who, Engine()) == 2
    said = capsys.readouterr().err
    assert said.count("rename it") == said.count("\n") == len(UNSAFE) and "mistake" not in said
    assert tiny.gradebook(place)[0].keys() == {*SAFE, *STUDENTS}
    assert Store(place).students(tiny.NAME) == sorted([*SAFE, *STUDENTS])


def test_what_lies_in_the_place_of_one_students_files_costs_nobody_else_anything(place, capsys):
    release = json.loads((place / "release" / tiny.NAME / f"{tiny.NAME}.ipynb").read_text())
    tiny.submit(place, release, "carl")
    (place / "autograded").mkdir()
    (place / "autograded" / "ada").write_text("no folder")
    (place / ".autograder" / "verdicts" / tiny.NAME / "bela.json").mkdir(parents=True)
    assert commands.grade_class(place, course.find_assignment(tiny.NAME), [*STUDENTS, "carl"], Engine()) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 2 and said.count("cannot be written") == 2 and "mistake" not in said
    assert all(f"autograder: {student}: " in said for student in STUDENTS)
    assert tiny.gradebook(place)[0].keys() == {"bela", "carl"} and Store(place).students(tiny.NAME)[-1] == "carl"


def test_rows_are_written_as_soon_as_the_gradebook_is_free(place, other, capsys, monkeypatch):
    monkeypatch.setattr(gradebook, "SECONDS", 0.0)
    monkeypatch.setattr(gradebook, "LATER", 0.0)
    other.execute("BEGIN IMMEDIATE")
    seen = []

    def before():
        if seen:  # the first one's row has been tried and waits
            other.execute("ROLLBACK")
        seen.append(tiny.gradebook(place)[0])

    assert grade(place, Engine(before)) == 0 and capsys.readouterr().err == ""
    assert seen == [{}, {}] and tiny.gradebook(place)[0].keys() == set(STUDENTS)


def test_where_not_even_its_cells_can_be_read_one_sentence_says_why(place, other, capsys):
    other.execute("BEGIN EXCLUSIVE")
    assert cli.main(["grade", tiny.NAME, "--jobs", "1", "--unsafe"]) == 2
    said = capsys.readouterr().err
    assert "Another program locks the gradebook (Formgrader" in said and "mistake" not in said


def test_others_may_write_for_a_minute(place):
    from autograder.nbgrader.runs import NbgraderCourse

    patches.PATIENCE = 60.0
    with NbgraderCourse(place).gradebook() as book:
        (patience,) = book.db.connection().exec_driver_sql("PRAGMA busy_timeout").fetchone()
    assert patience == 60_000
