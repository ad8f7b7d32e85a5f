"""A class at the desk: hand-ins go straight into the record, one warm sandbox grades them, and pages can be asked."""

import shutil
from dataclasses import replace
from pathlib import Path

import one_process
import pytest
from bs4 import BeautifulSoup
from conftest import cell_of, load
from desks import AppClient, Believing, Guard
from small_course import copy

from autograder import course
from autograder.batch import tasks
from autograder.batch.tasks import Task
from autograder.desk import command, disclosure
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.record import Record, Rules
from autograder.desk.settings import Settings
from autograder.desk.visitors import Visitor
from autograder.grading.grader import Grader
from autograder.grading.rounds import Rounds
from autograder.grading.store import Store

WORKER = "a test"


@pytest.fixture(scope="module")
def kit(grader):
    with one_process.kit(grader) as run:
        yield run


@pytest.fixture(scope="module")
def built(tmp_path_factory, kit):
    """The course about averages, with its release."""
    place = copy(tmp_path_factory.mktemp("built") / "course")
    assert kit(place, "build") == 0
    return place


@pytest.fixture
def place(tmp_path, built, monkeypatch):
    """A copy of it, which is the working directory."""
    place = Path(shutil.copytree(built, tmp_path / "course"))
    monkeypatch.chdir(place)
    course.forget()
    yield place
    course.forget()


@pytest.fixture
def record(place):
    """The desk's record in that copy."""
    record = Record(f"sqlite:///{place / 'desk.db'}")
    yield record
    record.close()


@pytest.fixture
def desk(place, record):
    """A desk over that record and the course's gradebook, with the door and the guard of tests."""
    book = GradebookReader(place, f"sqlite:///{place / 'gradebook.db'}")
    yield Desk(place, record, book, lambda name: Settings(who="everybody"), doors=[Believing()], guard=Guard())
    book.close()


def client(desk, who):
    """A client for a desk with all pages of the class; "" is nobody."""
    return AppClient(make_app(desk, command.pages_of_class()), {"who": who} if who else {})


def text_of(answer):
    """What a page says, without its line breaks."""
    return " ".join(BeautifulSoup(answer.text, "html.parser").get_text(" ").split())


def visitor(student, door="links", subject=None, role="student"):
    return Visitor(door, subject or f"{door}-{student}", student, student.title(), role)


def notebook(place, name, answers, folder="release"):
    """The released notebook (or the solutions'), parsed, with these sources as the answers to exercises."""
    made = load(place / folder / name / f"{name}.ipynb")
    for exercise, source in answers.items():
        cell_of(made, f"{exercise}-solution")["source"] = source
    return made


def mistaken(place, name, exercise, right, wrong):
    """The right answer to an exercise with one edit, as `notebook` takes it."""
    source = "".join(cell_of(notebook(place, name, {}, "solutions"), f"{exercise}-solution")["source"])
    assert right in source
    return {exercise: source.replace(right, wrong)}


def hand_in(record, place, who, name, data, exercise=None, level="names"):
    """Record an attempt as the desk does."""
    rounds = Rounds(Store(place), name)
    rounds.first()
    known = rounds.of.get(who.student, {})
    wanted = [exercise] if exercise else []
    return record.hand_in(who, name, exercise, data, Rules(level), wanted, rounds.seed, known=known)


def grade_all(record, grader, credit="checks"):
    """Grade all that waits, as the desk's workers do; the sandbox is that of a `grader`."""
    grader = Grader(one_process.Shared(grader.parent))
    while (attempt := record.claim(WORKER)) is not None:
        data = record.content(attempt.sha256)
        exercise = attempt.exercise or ""
        task = Task(attempt.student, attempt.id, data, attempt.assignment, attempt.seed, exercise=exercise)
        graded = tasks.grade(grader, task)
        graded = replace(graded, verdict=graded.verdict.credited(credit))
        told = [disclosure.told(outcome, attempt.level) for outcome in graded.verdict.exercises]
        assert record.finish(attempt.id, WORKER, graded, told)
