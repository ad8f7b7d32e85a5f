"""Plug-ins for `nbgrader zip_collect`: they unpack untrusted archives within bounds, file by file.

nbgrader's own extractor reads whole files into memory, unpacks nested archives without limit, follows links, and gives
up on the whole class when one archive is broken. `owners.py` finds the owner of a file.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nbgrader.api import Gradebook
from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin
from traitlets import List, Unicode

from ..errors import DISK
from ..grading.store import Store
from ..intake import archives, unpacking
from ..intake.identity import Noted
from ..intake.owners import ARCHIVE_SUFFIX, KEYS, MAX_NAME, SYSTEM, Origin, Owners, Pattern, is_plain
from ..intake.unpacking import Refused
from ..submission import files as handed_in
from ..submission.read import MAX_WITH_OUTPUTS as MAX_FILE
from ..submission.times import time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

MAX_FOLDERS = 10
MAX_NESTED = 2  # levels of archives within an archive: a whole class's holds those of its students
FILES, SIZE = 2_000, 2**28  # limits for each top folder or file of an archive: in a class's, for each student
LARGEST = 2**33  # bytes that an archive may unpack to, shared evenly among its top folders and files
SHARED = 2**34  # bytes that all archives together may unpack to, shared evenly among them
RATIO = 100  # compression ratio that only an archive bomb exceeds

TOO_LONG = f"a name in it is too long: at most {MAX_NAME} bytes are allowed"
DISK_FULL = "The disk is full or not writable: make room and collect again."


@dataclass
class Allowance:
    """What may still be unpacked: how many files and how many bytes."""

    files: int
    size: int
    said: bool = False  # whether it was reported that nothing is left

    @property
    def is_full(self) -> bool:
        return self.files < 0 or self.size < 0

    def take(self, files: int = 0, size: int = 0) -> None:
        self.files -= files
        self.size -= size
        if self.is_full:
            raise Refused("it contains too much")


class Allowances:
    """An Allowance for each top folder or file of an archive: it has its share, however much is in the others.

    The folders of a class's students lie side by side, so a prefix that all names share is no student's folder.
    """

    def __init__(self, names: Sequence[str], size: int) -> None:
        parts = [path.parts for name in names if (path := _path_or_none(name))]
        self.common = len(os.path.commonprefix([p[:-1] for p in parts]))
        self.share = min(SIZE, size // max(1, len({self._key(p) for p in parts})))
        self.rooms = {}

    def of(self, path: Path) -> Allowance:
        key = self._key(path.parts)
        if key not in self.rooms:
            self.rooms[key] = Allowance(files=FILES, size=self.share)
        return self.rooms[key]

    def charge(self, size: int) -> None:
        pass  # skipping members of a zip costs nothing

    def _key(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        return parts[: self.common + 1]


class SharedAllowance:
    """One Allowance for everything in an archive."""

    def __init__(self, room: Allowance) -> None:
        self.room = room

    def of(self, path: Path) -> Allowance:
        return self.room

    def charge(self, size: int) -> None:
        """Count skipped bytes as well: skipping takes time."""
        self.room.size -= size


class BoundedExtractor(ExtractorPlugin):
    """Unpacks regular files of bounded size and number; it reports each file that it skips, and goes on.

    Afterwards `taken` maps the path of every file written to its `owners.Origin`, `full_names` the places of archives
    to their names, with the suffixes that the places lack, and `messages` the places of e-mail messages to their paths.
    `left_out` are (the place, the reason, the sentence that was logged) of what was not taken.
    """

    known: Collection[str] = ()  # words beyond ASCII of the people who may be named in archives

    def extract(self, archive_path: str, extracted_path: str) -> None:
        self.taken: dict[str, Origin] = {}
        self.full_names: dict[tuple[str, ...], str] = {}
        self.messages: dict[tuple[str, ...], Path] = {}
        self.left_out: list[tuple[tuple[str, ...], str, str]] = []
        self.root = extracted_path
        self.archives = sum(unpacking.is_archive(name) for _, _, names in os.walk(archive_path) for name in names)
        for folder, folders, names in os.walk(archive_path):
            folders.sort()
            for name in sorted(names):
                source = Path(folder) / name
                place = source.relative_to(archive_path)
                outer = without_suffix(place) if unpacking.is_archive(name) else place
                with self._telling(name, outer.parts):
                    self._take(source, Path(extracted_path), place)

    @contextlib.contextmanager
    def _telling(self, name: str, place: tuple[str, ...]) -> Iterator[None]:
        """Report whatever goes wrong with a file, and go on with the next one."""
        try:
            yield
        except Refused as problem:
            self._skip(name, problem, place)
        except Exception as error:  # archive readers fail in many ways on invalid archives
            if isinstance(error, OSError) and error.errno in DISK:
                raise SystemExit(DISK_FULL) from None
            self._skip(name, f"it cannot be unpacked ({type(error).__name__})", place)

    def _take(self, source: Path, extracted: Path, place: Path) -> None:
        """Copy or unpack a file from its `place` in the `archive_directory` to the same place in `extracted`."""
        if not stat.S_ISREG(source.lstat().st_mode):
            raise Refused("it is not a regular file")
        if unpacking.is_archive(source.name):
            origin = without_suffix(place).parts
            folder = _unused(extracted / without_suffix(place))
            self.full_names[origin] = source.name
            size = min(LARGEST, SHARED // self.archives) + RATIO * source.stat().st_size
            self._unpack(source, folder, Origin(origin, len(origin)), lambda names: _rooms(names, size))
        else:
            target = _unused(extracted / place)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            self.taken[str(target)] = Origin(place.parts, len(place.parts))

    def _unpack(
        self,
        source: Path,
        folder: Path,
        origin: Origin,
        rooms_for: Callable[[Sequence[str] | None], Allowances | SharedAllowance],
        depth: int = 0,
    ) -> None:
        """Unpack an archive into a folder, and nested archives into folders beside them.

        If it is broken or too large, whatever was read before that is still taken. `rooms_for` returns the Allowances
        for the names that the archive lists.
        """
        folder.mkdir(parents=True)
        nested = []
        if unpacking.is_message(source.name):
            self.messages[origin.parts] = source
        whole = "/".join((*origin.parts[origin.outermost if depth else 0 : -1], source.name))
        with self._telling(whole, origin.parts), contextlib.ExitStack() as closing:
            archive = closing.enter_context(contextlib.closing(archives.opened(source, self.known)))
            rooms = rooms_for(archive.names())
            closing.callback(lambda: rooms.charge(archive.skipped))
            for name, open_member in archive.regular_files():
                inside = _path_or_none(name)
                with self._telling(f"{source.name}, {name}", origin.below(inside).parts if inside else origin.parts):
                    path = safe_path(name)
                    room = rooms.of(path)
                    if room.is_full and room.said:
                        continue
                    self._take_member(path, open_member, folder, room, depth)
                    if unpacking.is_archive(path.name):
                        nested.append((path, room))
                    else:
                        self.taken[str(folder / path)] = origin.below(path)
        for path, room in nested:
            with self._telling(f"{source.name}, {path}", origin.below(without_suffix(path)).parts):
                room.take()  # takes nothing, but raises if no room is left
                into = _unused(folder / without_suffix(path))
                inner = SharedAllowance(room)
                below = origin.below(without_suffix(path))
                self.full_names[below.parts] = path.name
                self._unpack(folder / path, into, below, lambda names, inner=inner: inner, depth + 1)

    def _take_member(
        self, path: Path, open_member: unpacking.Opener, folder: Path, room: Allowance, depth: int
    ) -> None:
        if unpacking.is_archive(path.name) and depth == MAX_NESTED:
            raise Refused("it is an archive in an archive in an archive")
        try:
            room.take(files=1)
            _write(open_member, folder / path, room)
        finally:
            room.said = room.is_full

    def _skip(self, name: str, problem: object, place: tuple[str, ...]) -> None:
        self.left_out.append((place, str(problem), f"Skipped {_shown(name)}: {problem}"))
        self.log.warning("Skipped %s: %s", _shown(name), problem)


class SafeCollector(FileNameCollectorPlugin):
    """nbgrader's collector, which matches the pattern against names that the course's system gave, not students.

    It refuses names that lead out of the student's folder, and handles what would make nbgrader give up: two files for
    one place, and invalid times.
    """

    parent: Any  # nbgrader's ZipCollectApp

    class_archives = List(
        Unicode(),
        help="Names (such as section*) of archives that hold a whole class, from the course's system: what is"
        " in them may replace what was collected before.",
    ).tag(config=True)

    def collect(self, submitted_file: str) -> dict[str, Any] | None:
        if not hasattr(self, "_settled"):
            self._settled = self._settle()
        if self._settled is None or submitted_file not in self._extractor.taken:
            return self._checked(submitted_file, super().collect(submitted_file))
        if submitted_file in self._settled.problems:
            self.log.warning("Skipped %s: %s", _shown(submitted_file), _shown(self._settled.problems[submitted_file]))
        return self._checked(submitted_file, self._settled.infos.get(submitted_file))

    @property
    def _extractor(self) -> Any:
        return getattr(self.parent, "extractor_plugin_inst", None)

    def _settle(self) -> Owners | None:
        """The Owners of the unpacked files; None without a BoundedExtractor or a pattern that names students."""
        taken = getattr(self._extractor, "taken", {})
        if not taken:
            return None
        pattern = Pattern(self.named_regexp, self.parent.coursedir.assignment_id)
        if not pattern.names_students:
            return None
        found = {path: origin for path, origin in taken.items() if os.path.splitext(path)[1] in self.valid_ext}
        course = self.parent.coursedir
        results, name = Store(course.root), course.assignment_id
        settled = Owners(
            pattern,
            self._extractor.root,
            found,
            self.class_archives,
            self._has_submitted,
            functools.partial(_is_student, course),
            Noted(results.all_handed_in(), name),
        )
        for remark in settled.remarks:
            self.log.warning("%s", _shown(remark))
        self._note(results, name, settled)
        return settled

    def _note(self, results: Store, assignment: str, settled: Owners) -> None:
        """Note the keys that the pattern has found of those who are collected for the first time."""
        notes = results.handed_in(assignment)
        new = {}
        for info in settled.infos.values():
            student, keys = info["student_id"], {key: info[key] for key in KEYS if info.get(key)}
            if keys and student not in notes and (self.parent.force or not self._has_submitted(student)):
                new[student] = {"system": SYSTEM, **keys}
        if new:
            results.put_handed_in(assignment, {**notes, **new})

    def _has_submitted(self, student: str) -> bool:
        """Whether `submitted/` holds anything of a student for this assignment."""
        course = self.parent.coursedir
        folder = (
            course.format_path(course.submitted_directory, student, course.assignment_id) if is_plain(student) else ""
        )
        return os.path.lexists(folder) and (not os.path.isdir(folder) or bool(os.listdir(folder)))

    def _checked(self, submitted_file: str, info: dict[str, Any] | None) -> dict[str, Any] | None:
        if not info:
            return None
        names = [info.get(key) for key in ("student_id", "file_id")]
        if any(isinstance(name, str) and not is_plain(name) for name in names):
            long = any(len(name.encode("utf-8", "replace")) > MAX_NAME for name in names if isinstance(name, str))
            problem = TOO_LONG if long else "its name leads elsewhere"
            self.log.warning("Skipped %s: %s", _shown(submitted_file), problem)
            return None
        if handed_in.problem_of(info.get("student_id") or ""):
            self.log.warning("Skipped %s: the name in it cannot be that of a student's folder", _shown(submitted_file))
            return None
        if isinstance(info.get("timestamp"), str):
            time = time_of(info["timestamp"])
            if time is None:
                self.log.warning("%s is collected without a time: its name has none", _shown(submitted_file))
            info = {**info, "timestamp": time}
        return info


def _is_student(course: Any, name: str) -> bool:
    """Whether somebody is a student: in the gradebook, or with a folder in `submitted/`."""
    if not is_plain(name):
        return False
    root = Path(course.root, course.submitted_directory)
    if (root / name).is_dir():
        return True
    url = course.db_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return False  # opening it would make one
    with Gradebook(url, course.course_id) as gradebook:
        return any(student.id == name for student in gradebook.students)


def safe_path(name: str) -> Path:
    """The relative path that a member of an archive is written to. Raises Refused."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or len(parts) > MAX_FOLDERS or not all(is_plain(part) for part in parts):
        long = any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in parts)
        raise Refused(TOO_LONG if long else "its name leads elsewhere, or cannot be a file's name")
    return Path(*parts)


def _path_or_none(name: str) -> Path | None:
    try:
        return safe_path(name)
    except Refused:
        return None


def _rooms(names: Sequence[str] | None, size: int) -> Allowances | SharedAllowance:
    """The Allowances for an archive with these names, which are None if they are not known beforehand."""
    return (
        SharedAllowance(Allowance(files=unpacking.MAX_ENTRIES, size=size)) if names is None else Allowances(names, size)
    )


def without_suffix(path: Path) -> Path:
    """The folder for an archive's content: `a` for `a.tar.gz`, and `archive` for a name that is only a suffix.

    That of a message keeps its name: `a.zip` beside it may be somebody else's.
    """
    if unpacking.is_message(path.name):
        return path
    return path.with_name(ARCHIVE_SUFFIX.sub("", path.name) or "archive")


def _unused(path: Path) -> Path:
    """The path, or a numbered one beside it if it is taken: `a` may lie beside `a.zip`."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return free


def _write(open_member: unpacking.Opener, target: Path, room: Allowance) -> None:
    """Copy a member to a new file, counting the actual bytes; on an error, the file is removed. Raises Refused."""
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = open(target, "xb")
    except FileExistsError:
        raise Refused("there is another one of that name") from None
    except NotADirectoryError:
        raise Refused("a file is where its folder should be") from None
    try:
        with file, open_member() as source:
            while part := source.read(2**20):
                size += len(part)
                room.take(size=len(part))
                if size > MAX_FILE:
                    raise Refused(f"it has more than {MAX_FILE // 2**20} MB")
                file.write(part)
    except BaseException:
        target.unlink()
        raise


def _shown(name: object) -> str:
    return ascii(str(name)[-400:])[1:-1]
