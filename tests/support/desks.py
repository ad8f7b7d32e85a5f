"""A desk on a tiny course, with a door that believes a header, and a client for it, for tests."""

import asyncio
import contextlib
import functools
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import psutil
import pytest
import tiny
from conftest import ROOT, cell_of, load

from autograder import course
from autograder.desk import command
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.painter import Painter
from autograder.desk.queue import Grading, Queue
from autograder.desk.record import Record
from autograder.desk.settings import settings_of
from autograder.desk.visitors import INSTRUCTOR, STUDENT, Refused, Visitor
from autograder.grading.store import parts_of
from autograder.nbgrader.runs import NbgraderCourse

NAME = tiny.NAME
STUDENTS = ("ada", "bela", "carl")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The course, which the tests share; each works in a copy of its own."""
    place = tmp_path_factory.mktemp("desk") / "course"
    place.mkdir()
    course_in(place)
    return place


@pytest.fixture
def place(built, tmp_path):
    """A copy of the course, which is the working directory."""
    copy = shutil.copytree(built, tmp_path / "course")
    with working_in(copy):
        tiny.pass_the_gate(copy, (NAME,))
        yield copy


@pytest.fixture
def handed_out(built):
    """What students get, parsed."""
    return load(built / "release" / NAME / f"{NAME}.ipynb")


class Believing:
    """A door for tests: a request's header `who` says who asks; `teacher` is an instructor."""

    name = "test"

    def routes(self):
        return []

    def entrance(self):
        return ("Log in at the test", "/test/log-in")

    async def visitor(self, request):
        who = request.headers.get("who")
        if who is None:
            return None
        role, student = (INSTRUCTOR, "") if who == "teacher" else (STUDENT, who)
        return Visitor("test", who, student, who.title(), role)


class Guard:
    """Wants `token=yes`."""

    def token(self, request):
        return "yes"

    def check(self, request, token):
        if token != "yes":
            raise Refused("This was sent from a page that is not the desk's.", 403)


def course_in(place, names=(NAME,), students=STUDENTS):
    """A tiny course with a roster; returns its released notebook."""
    release = tiny.course(place, names)
    with NbgraderCourse(place).gradebook() as book:
        for student in students:
            book.add_student(student, first_name=student.title(), email=f"{student}@example.org")
    return release


@contextlib.contextmanager
def working_in(place):
    """Work in a course, as a process that was started in it does."""
    before = os.getcwd()
    os.chdir(place)
    parts_of.cache_clear()
    course.forget()
    try:
        yield
    finally:
        os.chdir(before)
        parts_of.cache_clear()
        course.forget()


def due(place, when, name=NAME):
    """Set an assignment's due date, a naive time in UTC, or None."""
    with NbgraderCourse(place).gradebook() as book:
        book.update_or_create_assignment(name, duedate=when)


@contextlib.contextmanager
def desk_in(place, database=None, jobs=1, grades=False, base="/", scheduler=None, **settings):
    """A Desk on a course; `grades`: with workers that grade as soon as the body begins, here or of a `scheduler`."""
    runs = NbgraderCourse(place)
    given = {"Desk": settings}
    record = Record(database or f"sqlite:///{place}/desk.db")
    book = GradebookReader(place, runs.directory.db_url)
    queue = Queue(record, Grading(place, jobs, scheduler, points={}))
    desk = Desk(place, record, book, functools.partial(settings_of, given), queue, Painter(), base, [Believing()])
    with contextlib.ExitStack() as stack:
        for closed in (record, book, desk.painter):
            stack.callback(closed.close)
        if grades:
            stack.enter_context(queue)
        yield desk


class AppClient:
    """Asks an application, without a network; within `with`, it is running."""

    def __init__(self, app, headers):
        self.app = app
        self.loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://desk.test", headers=headers)

    def __enter__(self):
        self.lives = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self.lives.__aenter__())
        return self

    def __exit__(self, *exc):
        self.loop.run_until_complete(self.lives.__aexit__(*exc))

    def ask(self, method, path, **options):
        return self.loop.run_until_complete(self.client.request(method, path, **options))

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, **options):
        return self.ask("POST", path, **options)


class Client(AppClient):
    """Asks the application of a desk; as `who`, or as nobody."""

    def __init__(self, desk, who="ada", **headers):
        self.desk = desk
        super().__init__(make_app(desk, command.pages_of_class()), {**({"who": who} if who else {}), **headers})

    def hand_in(self, data, name=NAME, exercise=None, kind="application/x-ipynb+json", **options):
        """Hand in as `hand_in()` does."""
        query = {"exercise": exercise} if exercise else {}
        headers = {"content-type": kind}
        return self.ask("POST", f"/api/hand-in/{name}", content=data, params=query, headers=headers, **options)

    def form(self, data, name=NAME, filename="x.ipynb"):
        """Hand in as the form of the page does."""
        return self.ask("POST", f"/assignments/{name}", files={"notebook": (filename, data)})


def notebook(release, answer="right", comment=""):
    """A notebook of the tiny course with one of its answers, as bytes."""
    code = f"def causal_mask(t, device=None):\n    return {tiny.ANSWERS.get(answer, answer)}\n"
    cell_of(release, "causal_mask-solution")["source"] = f"# {comment}\n{code}"
    return json.dumps(release).encode()


# --- a desk in a process of its own -----------------------------------------------------------------


class Running:
    """A desk that runs by itself, below a process group of its own, with the door that believes a header."""

    def __init__(self, place, database=None, jobs=2):
        self.place = place
        about = [str(place), database or f"sqlite:///{place}/desk.db", str(jobs)]
        self.process = subprocess.Popen(
            [sys.executable, __file__, *about],
            cwd=place,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("open "):
                self.url = line.split()[1]
                break
        else:
            raise AssertionError("".join(said))
        self.reader = threading.Thread(target=self.process.stdout.read, daemon=True)  # so that it never blocks
        self.reader.start()

    def kill(self):
        """End the desk itself, as a machine that loses its power does; its workers end with it."""
        self.process.kill()
        self.process.wait()

    def workers(self):
        """The processes that it has started, and those that they have."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []


def main(place, database, jobs):
    """Serve a desk until it is killed."""
    from autograder.desk import server

    logging.basicConfig(level=logging.ERROR)
    with desk_in(Path(place), database, int(jobs), at_once=10**6, who="everybody") as desk:
        listener = server.listening("127.0.0.1", 0)
        ready = functools.partial(print, f"open http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        server.serve(make_app(desk, command.pages_of_class()), listener, ready)


if __name__ == "__main__":
    main(*sys.argv[1:])
