"""A desk that is open on this machine, with its real doors and workers, for tests with a browser."""

import contextlib
import csv
import functools
import json
import os
import socket
import threading

import tiny
import uvicorn
from chrome import until
from conftest import cell_of, load

from autograder import course
from autograder.desk import command, handing, released
from autograder.desk.app import make_app, visitor_of
from autograder.desk.desk import Desk
from autograder.desk.doors import links
from autograder.desk.doors.people import People
from autograder.desk.doors.personal import KeyDoor
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.keys import PERSONAL, Keys
from autograder.desk.painter import Painter
from autograder.desk.queue import Grading, Queue
from autograder.desk.record import DONE, Record
from autograder.desk.sessions import Sessions
from autograder.desk.settings import settings_of
from autograder.grading.store import Store, parts_of
from autograder.lms import roster
from autograder.nbgrader import desk_cell
from autograder.nbgrader.runs import NbgraderCourse

NAME = tiny.NAME
STUDENTS = ("ada", "bela", "carl")


class OpenDesk:
    """The desk at `url`, in a thread of this process; it works in the course that is the working directory."""

    def __init__(self, place, listener, **settings):
        self.place, self.listener = place, listener
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        runs = NbgraderCourse(place)
        self.record = Record(f"sqlite:///{place}/desk.db")
        book = GradebookReader(place, runs.directory.db_url)
        queue = Queue(self.record, Grading(place, 1, points={}))
        given = functools.partial(settings_of, {"Desk": settings})
        self.desk = Desk(place, self.record, book, given, queue, Painter())
        self.keys = Keys(self.record)
        sessions = Sessions(self.record.secret("sessions").hex())

        self.people = People(self.record, lambda: roster.read(runs, Store(place)))
        door = links.LinkDoor(sessions, self.keys, self.people)
        self.desk.doors = [door, KeyDoor(sessions, self.keys, self.people, visitor_of)]
        self.desk.guard = sessions

    @contextlib.contextmanager
    def served(self):
        app = make_app(self.desk, [*command.pages_of_class(), *released.routes(NbgraderCourse(self.place).config)])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        thread.start()
        try:
            until(lambda: server.started)
            yield self
        finally:
            server.should_exit = True
            thread.join(20)
            self.desk.painter.close()
            self.desk.book.close()
            self.record.close()

    def link(self, student):
        """A personal link of a student's."""
        table = links.for_students(self.keys, self.people, self.url, [student])
        return next(csv.DictReader(table.splitlines()))["link"]

    def instructors_link(self):
        return links.for_instructor(self.keys, self.url)

    def key(self, student):
        """A personal key of a student's."""
        person = self.record.person(links.of_student(student, student.title()))
        return self.keys.make(PERSONAL, person, 3600.0)

    def hand_in(self, student, answer):
        """Hand in as a student, and wait for the verdict."""

        visitor = links.of_student(student, student.title())
        attempt = handing.receive(self.desk, visitor, NAME, None, notebook(self.place, answer))
        self.desk.queue.wake()
        until(lambda: self.record.attempt(attempt.id).state == DONE)
        return attempt


def notebook(place, answer="right"):
    """The released notebook with one of the answers of the tiny course, or with other code, as bytes."""
    made = load(place / "release" / NAME / f"{NAME}.ipynb")
    cell_of(made, "causal_mask-solution")["source"] = code_of(answer)
    return json.dumps(made).encode()


def code_of(answer):
    return f"def causal_mask(t, device=None):\n    return {tiny.ANSWERS.get(answer, answer)}\n"


@contextlib.contextmanager
def opened(place, **settings):
    """A desk that is open for a new course in `place`, an empty folder; works in it meanwhile."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    before = os.getcwd()
    tiny.course(place)
    with open(place / "nbgrader_config.py", "a") as file:
        file.write(f"\nc.Desk.address = 'http://127.0.0.1:{listener.getsockname()[1]}'\n")
    os.chdir(place)
    course.forget()
    parts_of.cache_clear()
    try:
        runs = NbgraderCourse(place)
        runs.build(NAME)
        desk_cell.write(place, NAME, runs.config)
        tiny.pass_the_gate(place, (NAME,))
        with runs.gradebook() as book:
            for student in STUDENTS:
                book.add_student(student, first_name=student.title())
        with OpenDesk(place, listener, **settings).served() as desk:
            yield desk
    finally:
        os.chdir(before)
        course.forget()
        parts_of.cache_clear()
