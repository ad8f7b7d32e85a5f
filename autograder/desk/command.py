"""`autograder desk`: opens the desk of a course."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlalchemy import make_url

from .. import course
from ..errors import UsageError
from ..grading.store import FOLDER
from ..nbgrader import options as options_of
from ..nbgrader.runs import NbgraderCourse
from . import complaining, deadlines, deliveries, downloads, instructor, logs, released, server, waiting
from .app import make_app
from .desk import Desk
from .doors import maintaining, opening
from .doors.single_user import SingleUserDoor
from .gradebook_reader import GradebookReader
from .painter import Painter
from .queue import Grading, Queue
from .record import Record, is_there
from .settings import EVERYBODY, settings_of

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

HOST, PORT = "127.0.0.1", 8090
DATABASE = "desk.db"  # beside the gradebook


def run(options: Any, device: str) -> int:
    """Open the desk and serve until it is stopped."""
    logging.basicConfig(level=logging.WARNING, handlers=[logs.Handler()])
    if options.me and options.host not in (None, HOST):
        raise UsageError("--me is for this machine alone: it takes no --host.")
    if options.demo:
        from . import demo

        demo.prepare(Path(demo.FOLDER))
    runs = NbgraderCourse(course.root())
    if maintaining.is_wanted(options):
        with opened(runs, options, device) as desk:
            maintaining.run(doors_of(desk, runs, *address(options)), runs, options)
        return 0
    listener = server.listening(*address(options))
    host, port = listener.getsockname()[:2]
    with opened(runs, options, device) as desk, contextlib.ExitStack() as stack:
        if options.me:
            door = SingleUserDoor(port)
            desk.doors, desk.guard, desk.title = [door], door.sessions, "Your course"
            where = door.address
        else:
            from .doors.delivering import delivering  # with what only platforms need

            found = doors_of(desk, runs, host, port)
            desk.doors, desk.guard, desk.base = found.doors, found.sessions, found.where.base
            where = opening.for_instructor(found, port)
            stack.enter_context(delivering(desk, found))
            if options.demo:
                where += f"\nAs a student: {demo.student_link(found, where.split('/links/')[0])}"
                stack.enter_context(demo.class_hands_in(desk))
        server.serve(
            make_app(desk, [*pages_of_class(), *released.routes(runs.config)]),
            listener,
            functools.partial(print, f"The desk is open: {where}", flush=True),
        )
    return 0


def pages_of_class() -> list[BaseRoute]:
    """The routes of all pages on which students and instructors see more than their own attempts."""
    return [*instructor.routes(), *deliveries.routes(), *complaining.routes(), *downloads.routes()]


def digest(options: Any) -> int:
    """Print what waits for an instructor, or nothing: what a cron job prints is sent to its owner."""
    root = course.root()
    runs = NbgraderCourse(root)
    url = database_of(root, runs.directory.db_url, options)
    if not options.database and not is_there(url):
        return 0  # no desk was opened yet
    with _record_at(url) as record:
        print("".join(f"{line}\n" for line in waiting.lines(record, runs.directory.course_id or root.name)), end="")
    return 0


def export(options: Any) -> int:
    """Write all attempts in ProgSnap 2 into the folder that `options.export` names."""
    from . import progsnap  # with torch

    root = course.root()
    runs = NbgraderCourse(root)
    with _record_at(database_of(root, runs.directory.db_url, options)) as record:
        print(progsnap.export(root, record, options.export, runs.directory.course_id or root.name))
    return 0


@contextlib.contextmanager
def _record_at(url: str) -> Iterator[Record]:
    """The record of a desk that was opened before, to be read: none is made. Raises UsageError."""
    if not is_there(url):
        where = make_url(url).render_as_string(hide_password=True)
        raise UsageError(f"{where} has no desk's records: --database says where the desk keeps them.")
    with contextlib.closing(Record(url)) as record:
        yield record


def address(options: Any) -> tuple[str, int]:
    """(host, port) to listen on: as the command line says, or as the Hub does that has started this, or the usual."""
    of_hub = urlsplit(os.environ.get("JUPYTERHUB_SERVICE_URL", ""))
    host = options.host or of_hub.hostname or HOST
    return host, options.port if options.port is not None else of_hub.port or PORT


def doors_of(desk: Desk, runs: NbgraderCourse, host: str, port: int) -> opening.Opened:
    """The doors that the configuration names. Raises CourseError or UsageError."""
    everybody = desk.settings("").who == EVERYBODY
    where = opening.where(runs.config, host, port)
    return opening.open_doors(runs.config, desk.record, lambda: opening.roster_of(desk.book), everybody, where)


@contextlib.contextmanager
def opened(runs: NbgraderCourse, options: Any, device: str) -> Iterator[Desk]:
    """The Desk of a course, whose folder is the working directory, without any doors."""
    root = Path(runs.root)
    points, scoring = options_of.points_wanted(runs.config), options_of.scoring(runs.config)
    settings: Callable[[str], Any] = functools.cache(functools.partial(settings_of, runs.config))
    settings("")  # raises now if something is wrong
    deadlines.rules_of(root)
    gradebook = runs.directory.db_url
    with contextlib.ExitStack() as stack:
        record = Record(database_of(root, gradebook, options))
        stack.callback(record.close)
        book = GradebookReader(root, gradebook)
        stack.callback(book.close)
        painter = Painter()
        stack.callback(painter.close)
        about = Grading(root, options.jobs, options.scheduler, device, options.sandbox, points, scoring)
        yield Desk(root, record, book, settings, Queue(record, about), painter)


def database_of(root: Path, gradebook: str, options: Any) -> str:
    """The URL of the record: what --database says, the gradebook's own PostgreSQL, or a file beside the gradebook."""
    if options.database:
        return options.database
    if options.me:
        folder = root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        return f"sqlite:///{folder / 'me.db'}"
    url = make_url(gradebook)
    if url.get_backend_name() != "sqlite":
        return gradebook
    return f"sqlite:///{root / Path(url.database or '').parent / DATABASE}"
