"""Runs nbgrader's own converters from Python, with the configuration of the course."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment, GenerateSolution
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, SAWarning
from traitlets.config.loader import Config, PyFileConfigLoader

from ..errors import DISK, CourseError, NbgraderError, NotRecorded
from .feedback import Feedback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .. import course
    from ..submission.read import StrPath, SubmittedCell
    from ..verdict import Graded


Converter = TypeVar("Converter", bound=BaseConverter)


class NbgraderCourse:
    """The course in the folder `root`, as nbgrader works on it: `build`, `autograde`, `feedback`."""

    def __init__(self, root: StrPath, **options: Any) -> None:
        self.root = os.path.realpath(root)
        # where a configuration has none of the patches, nbgrader runs `alembic` from the PATH to make a gradebook
        here, path = os.path.dirname(sys.executable), os.environ.get("PATH", "")
        if path.split(os.pathsep)[0] != here:
            os.environ["PATH"] = here + os.pathsep + path
        with self._in_root():
            self.config = _config_in(self.root)
        for name, value in options.items():
            self.config.GradeInSandbox[name] = value
        self.directory = CourseDirectory(config=self.config, root=self.root)
        self.directory.db_url = _from(self.root, self.directory.db_url)
        self.keeper = _Keeper()
        self.logger = _quiet_logger(self.keeper)

    def build(self, assignment: str) -> None:
        """Make release/ and solutions/ of an assignment, and its cells in the gradebook. Raises NbgraderError."""
        for converter in (GenerateAssignment, GenerateSolution):
            self._run(converter, assignment, ".")

    def autograde(self, assignment: str, student: str) -> None:
        """Restore, grade and record one submission. Raises NbgraderError."""
        try:
            self._run(Autograde, assignment, glob.escape(student))
        except NbgraderError as problem:
            if not isinstance(problem.__cause__, IntegrityError):
                raise
            # a run on another assignment added the same student at the same time, so the student exists now
            self._run(Autograde, assignment, glob.escape(student))

    def autograding(self) -> Autograde:
        """nbgrader's Autograde converter, as the course configures it."""
        with self._in_root():
            converter = Autograde(coursedir=self.directory, config=self.config)
        converter.log = self.logger
        return converter

    def feedback(self, assignment: str) -> Callable[..., None]:
        """A function that writes a student's feedback, as a plain page if asked to. It raises NbgraderError."""
        writer = self._converter(Feedback, assignment)
        with self._in_root():
            writer.prepare()

        def write(student: str, plainly: bool = False) -> None:
            with self._in_root(), self._in_one_sentence(writer):
                (writer.write_plainly if plainly else writer.write)(student)

        return write

    def gradebook(self) -> Gradebook:
        """nbgrader's Gradebook. Use it in a `with`."""
        return Gradebook(self.directory.db_url, self.directory.course_id)

    def _run(self, converter: type[BaseConverter], assignment: str, student: str) -> None:
        running = self._converter(converter, assignment)
        self.directory.student_id = student
        with self._in_root(), self._in_one_sentence(running):
            running.start()

    def _converter(self, converter: type[Converter], assignment: str) -> Converter:
        self.directory.assignment_id = assignment
        with self._in_root():
            made = converter(coursedir=self.directory, config=self.config)
        made.log = self.logger
        made.force = True
        return made

    @contextlib.contextmanager
    def _in_one_sentence(self, converter: BaseConverter) -> Iterator[None]:
        """Raises NbgraderError if nbgrader gives up on a student, or the cause itself if it concerns all students."""
        keeper = self.keeper
        keeper.clear()
        try:
            with warnings.catch_warnings():  # SQLAlchemy's, about nbgrader's own code: a user can do nothing about them
                warnings.simplefilter("ignore", SAWarning)
                yield
        except (NbGraderException, RuntimeError, ValueError) as error:
            cause = _of_database(keeper.cause) or keeper.cause
            if cause is not None and _is_for_all(cause):
                raise cause from None
            said = getattr(cause, "orig", cause) or " ".join(keeper.lines) or error
            kind = f"{type(said).__name__}: " if cause else ""
            what = f"{type(converter).__name__} of {self.directory.assignment_id}"
            raise NbgraderError(f"{what} failed: {kind}{said}") from cause

    @contextlib.contextmanager
    def _in_root(self) -> Iterator[None]:
        before = os.getcwd()
        os.chdir(self.root)
        try:
            yield
        finally:
            os.chdir(before)


def _config_in(root: str) -> Config:
    """What nbgrader_config.py sets, which is Python. Raises CourseError."""
    try:
        return PyFileConfigLoader("nbgrader_config.py", path=root).load_config()
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise CourseError(f"nbgrader_config.py cannot be read: {said}") from error


def _from(root: str, url: str) -> str:
    """The address of a gradebook, with SQLite's file looked for from the course's folder.

    SQLite looks from the working directory, which may be one inside the course: it would make another, empty gradebook.
    """
    try:
        made = make_url(url)
    except ArgumentError:
        return url  # whoever opens it says so
    file = made.database or ""
    if made.get_backend_name() != "sqlite" or not file or file.startswith((":memory:", "file:")):
        return url
    return made.set(database=os.path.join(root, file)).render_as_string(hide_password=False)


def _of_database(error: BaseException | None) -> DBAPIError | None:
    """The database's own error behind `error`: nbgrader turns every one into an InvalidEntry."""
    while error is not None and not isinstance(error, DBAPIError):
        error = error.__context__
    return error


def _is_for_all(error: BaseException) -> bool:
    """Whether the next student's run would end the same way, as with a full disk or an unusable gradebook."""
    if isinstance(error, DBAPIError):
        return not isinstance(error, (DataError, IntegrityError))  # a row that is invalid or already there
    return isinstance(error, OSError) and error.errno in DISK


class StockRecorder:
    """The Recorder that has nbgrader itself record one submission after another, however the course configures it."""

    unrecorded = ()  # `add` raises at once for each

    def __init__(self, runs: NbgraderCourse, assignment: course.Assignment) -> None:
        self.runs = runs
        self.runs.config.GradeInSandbox.settled = True  # this run has already graded what nbgrader is to record
        self.assignment = assignment

    def __enter__(self) -> StockRecorder:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def cached_verdict(self, student: str, key: str) -> None:
        return None  # nbgrader's configuration may have changed

    def add(self, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str) -> None:
        try:
            self.runs.autograde(self.assignment.name, student)
        except NbgraderError as problem:
            raise NotRecorded(str(problem)) from None


class _Keeper(logging.Handler):
    """Keeps the errors that nbgrader logs, to report them in one place; of a traceback, it keeps the exception."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.clear()

    def clear(self) -> None:
        self.lines: list[str] = []
        self.cause: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.cause = self.cause or sys.exc_info()[1]


def _quiet_logger(keeper: _Keeper) -> logging.Logger:
    logger = logging.Logger("autograder.nbgrader", logging.WARNING)
    logger.addHandler(keeper)
    logging.getLogger("tornado.application").addHandler(logging.NullHandler())  # the Gradebook logs tracebacks there
    return logger
