"""`autograder desk --demo`: a course of its own, at whose desk the made-up class of `autograder demo` hands in."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import logging
import os
import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from .. import course
from ..demo import run as demos
from ..nbgrader.building import build
from ..nbgrader.runs import NbgraderCourse
from . import handing
from .doors import links
from .visitors import Refused

if TYPE_CHECKING:
    from .desk import Desk
    from .doors.opening import Opened

FOLDER = "demo_desk"
NAME = demos.FIRST
PAUSE = 2.0  # seconds between two hand-ins
LASTS = timedelta(days=7)  # until it is due

log = logging.getLogger(__name__)


def prepare(folder: Path) -> None:
    """Make the course in `folder`, build one assignment, put the class on the roster; work in that folder from now on.

    Raises UsageError.
    """
    print(f"Making a course in {folder}, with a made-up class; half a minute …", flush=True)
    demos.make_folder(course.root(), folder)
    os.chdir(folder)
    here = course.root()
    runs = NbgraderCourse(here)
    for _ in build(here, [NAME], runs):
        pass
    with runs.gradebook() as gradebook:
        book: Any = gradebook
        due = (datetime.now(UTC) + LASTS).replace(tzinfo=None, microsecond=0)
        book.update_or_create_assignment(NAME, duedate=due)
        for student in demos.read_class(course.find_assignment(NAME)):
            book.add_student(student.name, first_name=student.name.title())


@contextlib.contextmanager
def class_hands_in(desk: Desk) -> Iterator[None]:
    """In the body, the class hands in, one after another, and later once more with something put right."""
    ending = threading.Event()
    thread = threading.Thread(target=_hand_in, args=(desk, ending), name="class", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()


def _hand_in(desk: Desk, ending: threading.Event) -> None:
    assignment = course.find_assignment(NAME)
    released, solved = (_cells(Path(desk.root, place, NAME, f"{NAME}.ipynb")) for place in ("release", "solutions"))
    students = demos.read_class(assignment)
    random.Random(2).shuffle(students)
    for is_again in (False, True):
        for student in students:
            if ending.wait(PAUSE):
                return
            data = student.raw
            if data is None:
                notebook = demos.fill_in(released, student)
                if is_again and not put_right(notebook, solved, student):
                    continue
                data = json.dumps(notebook).encode()
            try:
                visitor = links.of_student(student.name, student.name.title())
                handing.receive(desk, visitor, NAME, None, data)
            except Refused as problem:
                log.info("%s: %s", student.name, problem)
            except SQLAlchemyError as problem:
                log.error("%s", problem)
            if desk.queue is not None:
                desk.queue.wake()


def _cells(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def put_right(notebook: dict[str, Any], solved: dict[str, Any], student: demos.Student) -> bool:
    """Put the first wrong answer of a student right; returns whether there was one."""
    wrong = next((name for name, expected in student.expected.items() if expected.level != "full"), None)
    if wrong is None:
        return False
    id = course.solution_of(wrong).grade_id
    right = next(cell for cell in solved["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") == id)
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == id:
            cell["source"] = copy.copy(right["source"])
    return True


def student_link(found: Opened, url: str) -> str:
    """The address with which one comes in as a student of the class."""
    student = next(s.name for s in demos.read_class(course.find_assignment(NAME)) if s.raw is None)
    table = links.for_students(found.keys, found.people, url, [student])
    return next(csv.DictReader(io.StringIO(table)))["link"]
