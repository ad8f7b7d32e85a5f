"""Runs the checks in plain pytest, as a plugin of it: on the solutions, or on the file given by `--submission PATH`.

`autograder_pytest` registers it early enough for its options, `exercises/conftest.py` where pytest loads no plugins by
itself. When a submission is graded, `checks/runner.py` gives the checks the same fixtures.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from .. import course, installed
from ..checks import runner
from ..checks.api import Draw
from ..checks.proxies import Submission
from ..errors import CourseError, KitError
from ..sandbox import jail
from ..sandbox.parent import WarmParent
from ..submission.read import SubmittedFile, read_file
from ..verdict import FULL, UNSAFE
from .grader import cells_of
from .workspace import Workspace, listed

# what a pytest.ini would say, whichever one pytest finds: in a folder above, or beside the submission
SETTINGS = {
    "python_files": "checks.py",
    "python_functions": "test_",
    "python_classes": "Test",
    "markers": (
        "points(n): what the check is worth",
        "category(name): shape, values, masking, gradients, numerics, device, arguments or mode",
        "witnessed: only the student's process can know it",
    ),
}
UNDEFINED = "not in the submission"  # the property of a test that was skipped since its exercise is not defined


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("graders")
    group.addoption(
        "--submission", action="append", metavar="PATH", help="a notebook or .py file to grade (default: the solutions)"
    )
    group.addoption("--seed", type=int, default=0, help="the seed that inputs are drawn from (default: 0)")
    group.addoption("--unsafe", action="store_true", help="run without bubblewrap")


def pytest_configure(config: pytest.Config) -> None:
    """Settle what to grade. Raises pytest.UsageError if that cannot be graded."""
    for name, lines in SETTINGS.items():
        for line in (lines,) if isinstance(lines, str) else lines:
            config.addinivalue_line(name, line)
    config.stash[RUN] = run = Run(config)
    config.pluginmanager.register(run)


class Run:
    """What one run grades: the notebook or program `path`, or, if that is None, the solutions; and what it found."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.level = UNSAFE if config.option.unsafe else FULL
        self.graded = False  # whether an exercise was found in the submission
        self.undefined: dict[str, None] = {}  # the exercises that are not in it
        self.path = self._path(config.option.submission)
        self.file: SubmittedFile | None = None
        if self.path and not config.option.help:
            self._require_checks()
            with _in_one_sentence(f"--submission {self.path}: "), contextlib.chdir(self._course()):
                self.file = read_file(self.path)
                cells_of(self.file)  # raises Unreadable
        if not (config.option.help or config.option.collectonly) and (problem := jail.refusal(self.level)):
            raise pytest.UsageError(problem)

    def _path(self, given: Iterable[str] | None) -> Path | None:
        paths = {self._absolute(path): path for path in given or ()}
        if "" in paths.values():
            raise pytest.UsageError("--submission needs the name of a notebook or .py file, and it is empty.")
        if len(paths) > 1:
            raise pytest.UsageError(f"--submission takes one file at a time, and not {' and '.join(paths.values())}.")
        return next(iter(paths), None)

    def _absolute(self, place: str) -> Path:
        return Path(os.path.abspath(self.config.invocation_params.dir / place))

    def _asked(self) -> list[Path]:
        """The files and folders whose checks are asked for."""
        return [self._absolute(place.partition("::")[0]) for place in self.config.args]

    def _require_checks(self) -> None:
        """Raises pytest.UsageError if no check of a course can be in what is asked for, which may be a whole suite."""
        if self.config.option.pyargs or any(map(_holds_checks, self._asked())):
            return
        raise pytest.UsageError(
            f"--submission runs the checks of a course, and there are none in {', '.join(self.config.args)}:"
            f" name their folder, as in `pytest {os.path.relpath(course.own_exercises())} --submission PATH`."
        )

    def _course(self) -> Path:
        """The course that the first of the checks asked for belong to."""
        found = (_course_of(checks) for place in self._asked() for checks in (place / "x" / "checks.py", place))
        return next(filter(None, found), course.root())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which exercises were found; with workers, their reports come here, too."""
        undefined = [exercise for what, exercise in report.user_properties if what == UNDEFINED]
        self.undefined |= dict.fromkeys(map(str, undefined))
        self.graded |= not undefined and (report.when == "call" or report.failed)

    @property
    def problem(self) -> str:
        """A sentence, if there was nothing of the submission to grade, else ""."""
        if not self.path or self.graded or self.config.option.collectonly:
            return ""
        if self.undefined:
            return f"{self.path} has nothing of what was asked: it does not define {listed(list(self.undefined))}."
        return (
            f"No check was run on {self.path}: none is in what was asked for, or -k, -m or --deselect leaves all out."
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or not self.problem:
            return
        if hasattr(self.config, "workerinput"):  # a worker has only a part of the tests
            return
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if not self.config.pluginmanager.hasplugin("terminalreporter"):
            print(self.problem, file=sys.stderr)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.problem and not hasattr(self.config, "workerinput"):
            terminalreporter.write_line(self.problem, red=True)
        elif self.undefined and self.path:
            terminalreporter.write_line(f"{self.path} does not define {listed(list(self.undefined))}: not graded.")


RUN = pytest.StashKey[Run]()


def _shared() -> list[Path]:
    """The folders of exercises that any course may take: the kit's, and those of installed courses."""
    return [course.EXERCISES, *(one.exercises for one in installed.courses())]


def _holds_checks(place: Path) -> bool:
    """Whether a place is the exercises of a course, in them, or around them."""
    place = Path(os.path.realpath(place))
    courses = (folder for folder in (place, *place.parents) if course.is_course(folder))
    folders = [*_shared(), *(folder / "exercises" for folder in courses if (folder / "exercises").is_dir())]
    return any(place.is_relative_to(folder) or folder.is_relative_to(place) for folder in folders)


@contextlib.contextmanager
def _in_one_sentence(before: str = "") -> Iterator[None]:
    try:
        yield
    except KitError as problem:
        raise pytest.UsageError(f"{before}{problem}") from None


# --- the checks of a course as tests ----------------------------------------------------------------


def _course_of(checks: Path) -> Path | None:
    """The course that a file exercises/NAME/checks.py belongs to; None if it is another file.

    One of the kit's, or of an installed course, is that of the course around the working directory, if it has the
    exercise, else of the kit's own, or of the installed one.
    """
    checks = Path(os.path.realpath(checks))
    exercises, name = checks.parent.parent, checks.parent.name
    root = exercises.parent
    if exercises in _shared():
        own = course.kits_own() if exercises == course.EXERCISES else root if course.is_course(root) else None
        here = course.here()
        return here if here and name in course.exercises(here) else own
    return root if exercises.name == "exercises" and course.is_course(root) else None


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what several exercises share, exercises/families/…/checks.py."""
    if collection_path.name != "checks.py" or _course_of(collection_path):
        return None
    return True if any(_course_of(folder) for folder in collection_path.parents) else None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if module_path.name == "checks.py" and _course_of(module_path):
        return Checks.from_parent(parent, path=module_path)
    return None


class Checks(pytest.Module):
    """A file of checks. The kit imports it, as when it grades: all have one name, and their folders are no packages."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            with contextlib.chdir(_course_of(self.path) or "."):
                self.obj = course.module_of(self.path.parent.name, "checks")
        except CourseError as problem:
            raise self.CollectError(str(problem)) from None
        return super().collect()


# --- their fixtures ---------------------------------------------------------------------------------


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Random inputs, drawn from the run's seed and the check's name."""
    return Draw(request.config.option.seed, f"{runner.exercise_of(request.node)}/{request.node.name}")


@pytest.fixture
def submission(request: pytest.FixtureRequest, _workspaces: Workspaces) -> Iterator[Submission]:
    """The submission under test, as proxies."""
    exercise, root = runner.exercise_of(request.node), _course_of(request.path)
    if root is None:
        pytest.fail(f"{request.path} is not exercises/NAME/checks.py of a course.", pytrace=False)
    with contextlib.chdir(root):
        try:
            workspace, undefined = _workspaces.of(root, exercise)
        except (KitError, runner.Stopped) as problem:
            pytest.fail(str(problem), pytrace=False)
        if undefined:
            request.node.user_properties.append((UNDEFINED, exercise))
            pytest.skip(undefined)
        submission = Submission(workspace)
        yield submission
        submission.settle()


@pytest.fixture(scope="session")
def _workspaces(request: pytest.FixtureRequest) -> Iterator[Workspaces]:
    run = request.config.stash[RUN]
    with contextlib.closing(Workspaces(run.file, run.level)) as workspaces:
        yield workspaces


class Workspaces:
    """The Workspace of what is graded, one at a time: a `file`, or the solutions of an exercise's lesson."""

    def __init__(self, file: SubmittedFile | None, level: str) -> None:
        self.file, self.level = file, level
        self.opened: tuple[tuple[Path, Path | None], WarmParent, Workspace] | None = None

    def of(self, root: Path, exercise: str) -> tuple[Workspace, str]:
        """The Workspace for an exercise of a course, and why it is not to be graded, or "". Raises KitError."""
        if exercise not in course.exercises(root):
            raise CourseError(f"No notebook of {root}/source has the exercise {exercise}.")
        assignment = course.assignments(root)[course.exercises(root)[exercise].assignment]
        workspace = self._opened(root, assignment.path)
        workspace.begin_exercise(exercise)
        if workspace.kinds([exercise])[exercise] != "missing":
            return workspace, ""
        status, why = workspace.why_missing(exercise)
        if status != "missing" or exercise in (cell.exercise for cell in workspace.cells):
            raise CourseError(why)
        return workspace, why

    def _opened(self, root: Path, solution: Path) -> Workspace:
        what = root, None if self.file else solution
        if self.opened and self.opened[0] == what:
            return self.opened[2]
        cells = cells_of(self.file or read_file(solution))
        parent = self.opened[1] if self.opened and self.opened[0][0] == root else None
        if parent is None:  # its sandbox hides the files of one course
            self.close()
            parent = WarmParent(level=self.level)
        elif self.opened:
            self.opened[2].close()
        workspace = Workspace(parent, cells)
        workspace.look_at_worlds()
        self.opened = what, parent, workspace
        return workspace

    def close(self) -> None:
        if self.opened:
            self.opened[2].close()
            self.opened[1].close()
            self.opened = None
