"""Patches nbgrader and nbconvert where they offer no option: how a submission's files are found, copied and shown.

Without the patches (nbgrader 0.9.6):

- A folder without the notebook, a folder that cannot be opened, and a student with brackets in the name get no row
  in the gradebook.
- The batch stops at a FIFO, at a timestamp.txt that holds no time, at a folder with a line break in its name, and when
  a program locks SQLite's file for more than 5 s.
- To make a gradebook, `alembic` is started from the PATH: 4 s, to get one number.
- A release is removed before the new one is made, and no cell can be added once somebody has handed in (`swapping.py`,
  `changing.py`).
- The target of a symbolic link is graded, and copied into `autograded/` and the feedback.
- `nbgrader export` has an option for another plug-in, but a course with an older configuration does not set it: a name
  that is a formula would act as one in the table.
- A configuration that lets hidden checks out, or unpacks without limits, is carried out (`options.py`).
- A student who is excused from an assignment has a late penalty in it.
- Formgrader makes its pages with an exporter of its own, which no configuration of preprocessors reaches, and which
  shows raw cells and names as if they were HTML.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import stat
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic.script import ScriptDirectory
from nbconvert.exporters import html
from nbgrader import api, dbutil
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.zipcollectapp import ZipCollectApp
from nbgrader.converters import base
from nbgrader.converters.autograde import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.converters.generate_assignment import GenerateAssignment
from nbgrader.converters.generate_feedback import GenerateFeedback
from nbgrader.converters.generate_solution import GenerateSolution
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import CsvExportPlugin
from nbgrader.preprocessors import SaveCells
from sqlalchemy import event
from sqlalchemy.engine import Engine

from .. import course
from ..errors import CourseError, Unreadable, UserError
from ..grading.rounds import Rounds
from ..grading.store import Store
from ..submission import files
from ..submission.times import time_of
from . import (
    changing,
    exporting,
    for_students,
    formgrader_patch,
    lateness,
    options,
    preprocessors,
    private_names,
    safe_markdown,
    swapping,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

MAX_COPIED = 20 * 2**20
PATIENCE = 60.0  # seconds to wait while another program writes to SQLite's file; the default is 5

_init_notebooks = base.BaseConverter.init_notebooks
_init_assignment = base.BaseConverter.init_assignment
_format_source = base.BaseConverter._format_source
_find_all_files = base.find_all_files
_init_plugins = ZipCollectApp.init_plugins


_are_applied = False


def apply() -> None:
    """Put the patches in place; doing it twice does no harm. Exits if nbgrader has changed what they replace."""
    global _are_applied
    if not _are_applied:
        private_names.require(private_names.NAMES)
    _are_applied = True
    CourseDirectory.get_existing_timestamp = get_existing_timestamp
    Autograde.init_notebooks = GenerateFeedback.init_notebooks = init_notebooks
    GenerateAssignment.init_notebooks = init_source_notebooks
    GenerateSolution.init_notebooks = init_solution_notebooks
    ZipCollectApp.init_plugins = init_plugins
    SaveCells._create_notebook = changing.create_notebook
    api.get_alembic_version = alembic_version
    setattr(api.SubmittedAssignment, "total_seconds_late", property(lateness.seconds_late))  # noqa: B010  # has no setter
    swapping.apply()
    base.BaseConverter.init_assignment = copy_files
    base.BaseConverter._format_source = format_source
    base.find_all_files = find_regular_files
    CsvExportPlugin.export = exporting.export
    html.HTMLExporter.from_notebook_node = safe_markdown.from_notebook_node
    html.BeautifulSoup = safe_markdown.tree  # pyright: ignore[reportPrivateImportUsage]  # what nbconvert calls
    formgrader_patch.apply()
    if not event.contains(Engine, "connect", be_patient):
        event.listen(Engine, "connect", be_patient)


def be_patient(connection: object, record: object) -> None:
    """Let a new connection to SQLite wait up to PATIENCE while others write."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")


def alembic_version() -> str:
    """The version of the gradebook's tables, which is the newest of nbgrader's migrations."""
    return ScriptDirectory(dbutil.ALEMBIC_DIR).get_current_head() or ""


def init_notebooks(self: Any) -> None:
    """Set each folder's notebooks to those that should be there; in `submitted/`, even to those that are missing."""
    try:
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            names = notebooks_of(gradebook, self.coursedir.assignment_id)
    except MissingEntry:
        return _init_notebooks(self)  # reports that the assignment is unknown
    take_notebooks(self, names)
    if isinstance(self, Autograde):
        with _in_one_sentence(self), _in_the_course(self):
            directory: Any = self.coursedir
            for sentence in preprocessors.require_gate(directory.assignment_id, self.config, directory):
                self.log.warning(sentence)
    else:
        require_walls(self)
        Rounds(Store(self.coursedir.root), self.coursedir.assignment_id).give_out()


def require_walls(self: Any) -> None:
    """Raises NbGraderException if the configuration opens a wall, see `options.walls`."""
    with _in_one_sentence(self):
        for sentence in options.walls(self.config):
            raise CourseError(sentence)


def init_plugins(self: Any) -> None:
    """Replaces what makes the plug-ins of `nbgrader zip_collect`: it ends the program if they may not be these.

    nbgrader drops a configuration that raises an error, and would take its own plug-ins.
    """
    for sentence in (*options.unconfigured(self.config), *options.walls(self.config)):
        self.fail("%s", sentence)
    _init_plugins(self)


def init_solution_notebooks(self: Any) -> None:
    """nbgrader's own search for the notebooks of which solutions/ is made."""
    require_walls(self)
    _init_notebooks(self)


def init_source_notebooks(self: Any) -> None:
    """nbgrader's own search, after which changes are refused that the gradebook cannot follow."""
    require_walls(self)
    _init_notebooks(self)
    with _in_one_sentence(self), _in_the_course(self):
        course.forget()  # a server may have read it long ago
        assignment = course.assignments().get(self.coursedir.assignment_id)
        if assignment is not None:
            for_students.require_publishable(assignment.path)
        if assignment is None or getattr(self, "no_database", False):
            return
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            there = changing.known(gradebook, assignment.name)
        changing.require_possible(there, assignment)
        for said in changing.notes(there, assignment):
            self.log.warning("%s", said)


@contextlib.contextmanager
def _in_one_sentence(self: Any) -> Iterator[None]:
    """Says in one sentence for the instructor what is wrong with the course, before anything is done."""
    try:
        yield
    except UserError as problem:
        self.log.error("%s", problem)
        raise NbGraderException(str(problem)) from None


@contextlib.contextmanager
def _in_the_course(self: Any) -> Iterator[None]:
    """Works in the course's folder, which a server was perhaps not started in."""
    before = os.getcwd()
    os.chdir(self.coursedir.root)
    try:
        yield
    finally:
        os.chdir(before)


def notebooks_of(gradebook: Gradebook, assignment: str) -> list[str]:
    """The names of an assignment's notebooks."""
    return [n.name for n in gradebook.find_assignment(assignment).notebooks]


def take_notebooks(self: Any, names: Sequence[str]) -> None:
    """Have a converter work on the notebooks with these names in the folders that it is asked for."""
    folders = folders_of(self)
    found = {folder: [os.path.join(folder, f"{name}.ipynb") for name in names] for folder in folders}
    if not isinstance(self, Autograde):
        found = {folder: [path for path in paths if os.path.isfile(path)] for folder, paths in found.items()}
    if not any(found.values()):
        return _init_notebooks(self)  # reports what is missing
    self.notebooks = []
    self.assignments = {folder: paths for folder, paths in found.items() if paths}


def folders_of(self: Any) -> list[str]:
    """The folders that a converter is asked for; in `submitted/`, even those that cannot be opened."""
    assignment, pattern = self.coursedir.assignment_id, self.coursedir.student_id
    folders = set(glob.glob(self._format_source(assignment, pattern)))
    if isinstance(self, Autograde):
        submitted = os.path.dirname(os.path.dirname(self._format_source(assignment, "student")))
        for name in files.strays(submitted):
            self.log.warning("%s is in %s but is not a student's folder", ascii(name)[1:-1], submitted)
        dropped = Store(os.path.dirname(os.path.abspath(submitted))).dropped()
        there = [name for name in files.students(submitted, assignment) if fnmatchcase(name, pattern)]
        wanted = [name for name in there if name not in dropped]
        folders.difference_update(self._format_source(assignment, name) for name in dropped)
        problems = {name: problem for name in wanted if (problem := files.problem_of(name))}
        for name, problem in problems.items():
            self.log.error("%s: %s", ascii(name)[1:-1], problem)
        folders.update(self._format_source(assignment, name) for name in wanted)
        folders.difference_update(self._format_source(assignment, name) for name in problems)
        if problems and not folders:
            raise NbGraderException("No folder has a name that can be a student's")
    return sorted(folders)


def format_source(self: Any, assignment_id: str, student_id: str, escape: bool = False) -> str:
    """nbgrader's own path; if it is to be a pattern, it also matches a student's name with a line break."""
    made = _format_source(self, assignment_id, student_id, escape=escape)
    return f"(?s:{made})" if escape else made


def copy_files(self: Any, assignment_id: str, student_id: str) -> None:
    """Replaces nbgrader's copying of the files beside the notebooks: it does not follow a student's links."""
    if self._input_directory != self.coursedir.submitted_directory:
        _init_assignment(self, assignment_id, student_id)
        if isinstance(self, GenerateAssignment):
            _leave_at_home(self, assignment_id, student_id)
        return
    exclude = [*self.coursedir.ignore, "*.ipynb"]
    source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
    kept = [tuple(os.path.relpath(path, source).split(os.sep)) for path in _find_all_files(source, exclude)]
    folder, target = self._format_source(assignment_id, student_id), self._format_dest(assignment_id, student_id)
    files.copy(folder, target, exclude, kept)
    if said := files.left_out(folder):
        self.log.warning("%s: %s", ascii(student_id)[1:-1], said)


def _leave_at_home(self: Any, assignment_id: str, student_id: str) -> None:
    """Take from a release the files that only a solution shows."""
    source = Path(self._format_source(assignment_id, student_id)).resolve()
    notebook = source / f"{assignment_id}.ipynb"
    for path in for_students.of_solutions_alone(notebook) if notebook.is_file() else ():
        made = Path(self._format_dest(assignment_id, student_id), path.relative_to(source))
        made.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # its folder has others
            made.parent.rmdir()


def get_existing_timestamp(self: CourseDirectory, dest_path: str) -> datetime | None:
    """When a submission was handed in, by its timestamp.txt (UTC); None if that holds no readable time."""
    try:
        return time_of(files.read_bytes(os.path.join(dest_path, "timestamp.txt"))[:100].decode())
    except (Unreadable, UnicodeDecodeError):
        return None


def find_regular_files(path: str, exclude: list[str] | None = None) -> list[str]:
    """nbgrader's list of files, without links, special files and files too large to copy.

    nbgrader leaves out what matches one of `exclude`, but fails to do so below a folder with brackets in its name.
    """
    found = [name for name in _find_all_files(path, exclude or []) if _is_copied(name)]
    return [name for name in found if not any(fnmatch(os.path.basename(name), e) for e in exclude or ())]


def _is_copied(name: str) -> bool:
    status = os.lstat(name)
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_COPIED
