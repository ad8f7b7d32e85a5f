"""What plugs into `nbgrader zip_collect`: archives of strangers, unpacked within bounds, file by file.

nbgrader's own extractor reads whole files into memory, unpacks archives within archives without end, follows links and
gives up on the class when one archive is broken. Whose a file is, `owners.py` finds out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin
from traitlets import List, Unicode

from ..errors import DISK
from ..submission import files as handed_in
from ..submission.read import MAX_FILE
from ..submission.times import time_of
from . import unpacking
from .owners import ARCHIVE_SUFFIX, MAX_NAME, Origin, Owners, Pattern, is_plain
from .unpacking import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_FOLDERS = 10
MAX_NESTED = 2  # archives in an archive: that of a whole class holds those of its students
FILES, SIZE = 2_000, 2**28  # at most for a folder or a file in an archive: in a class's, that is one student's
LARGEST = 2**33  # bytes that an archive may come to, shared out evenly among what is in it
SHARED = 2**34  # bytes that all archives together may come to, shared out evenly among them
RATIO = 100  # to which nothing is packed that is no bomb

TOO_LONG = f"a name in it is too long: let it have at most {MAX_NAME} bytes"
DISK_FULL = "The disk is full, or nothing may be written to it: make room and collect again."


@dataclass
class Allowance:
    """What may still be unpacked of one archive and, where it is in another, of those in it."""

    files: int
    size: int
    said: bool = False  # that there is none left

    @property
    def is_full(self) -> bool:
        return self.files < 0 or self.size < 0

    def take(self, files: int = 0, size: int = 0) -> None:
        self.files -= files
        self.size -= size
        if self.is_full:
            raise Refused("there is too much in it")


class Allowances:
    """The Allowance of each folder or file in an archive: however much is in the others, it has its share.

    Students of a class lie side by side; so what all names have in common at their beginning is no folder of one's.
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
        pass  # for what is passed over in a zip costs nothing

    def _key(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        return parts[: self.common + 1]


class SharedAllowance:
    """One Allowance for all that is in an archive."""

    def __init__(self, room: Allowance) -> None:
        self.room = room

    def of(self, path: Path) -> Allowance:
        return self.room

    def charge(self, size: int) -> None:
        """Count what is passed over, too: it takes time."""
        self.room.size -= size


class BoundedExtractor(ExtractorPlugin):
    """Unpacks regular files of bounded size and number; what it does not take it says, and goes on.

    Afterwards `taken` says of every file written where it comes from: a whose.Origin.
    """

    def extract(self, archive_path: str, extracted_path: str) -> None:
        self.taken, self.root = {}, extracted_path
        self.archives = sum(unpacking.is_archive(name) for _, _, names in os.walk(archive_path) for name in names)
        for folder, folders, names in os.walk(archive_path):
            folders.sort()
            for name in sorted(names):
                source = Path(folder) / name
                with self._telling(name):
                    self._take(source, Path(extracted_path), source.relative_to(archive_path))

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        """Whatever goes wrong with a file is said of that file, and the next one's turn comes."""
        try:
            yield
        except Refused as problem:
            self._skip(name, problem)
        except Exception as error:  # the readers of archives know many ways to fail at what is none
            if isinstance(error, OSError) and error.errno in DISK:
                raise SystemExit(DISK_FULL) from None
            self._skip(name, f"it cannot be unpacked ({type(error).__name__})")

    def _take(self, source: Path, extracted: Path, place: Path) -> None:
        """Take a file of the `archive_directory`, `place` in it, to the same place in the folder `extracted`."""
        if not stat.S_ISREG(source.lstat().st_mode):
            raise Refused("it is no regular file")
        if unpacking.is_archive(source.name):
            origin = without_suffix(place).parts
            folder = _unused(extracted / without_suffix(place))
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
        """Unpack an archive into a folder, and the archives in it into folders beside them.

        Where it is broken, or too large, what came before that is taken all the same. `rooms_for` gives the
        Allowances for what it says that is in it.
        """
        folder.mkdir(parents=True)
        nested = []
        with self._telling(source.name), contextlib.ExitStack() as closing:
            archive = closing.enter_context(contextlib.closing(unpacking.opened(source)))
            rooms = rooms_for(archive.names())
            closing.callback(lambda: rooms.charge(archive.skipped))
            for name, open_member in archive.regular_files():
                with self._telling(f"{source.name}, {name}"):
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
            with self._telling(f"{source.name}, {path}"):
                room.take()  # nothing; but it raises when there is no room left
                into = _unused(folder / without_suffix(path))
                inner = SharedAllowance(room)
                below = origin.below(without_suffix(path))
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

    def _skip(self, name: str, problem: object) -> None:
        self.log.warning("Skipped %s: %s", _shown(name), problem)


class SafeCollector(FileNameCollectorPlugin):
    """nbgrader's collector, with the pattern held against what the course's system named, and not what students did.

    It takes no name that leads out of the student's folder, and settles itself what nbgrader would give up on: two
    files in one place, and times that are none.
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
        """The Owners of what the BoundedExtractor has unpacked; None where the course has another, or no pattern."""
        taken = getattr(self._extractor, "taken", {})
        if not taken:
            return None
        pattern = Pattern(self.named_regexp, self.parent.coursedir.assignment_id)
        if not pattern.names_students:
            return None
        found = {path: origin for path, origin in taken.items() if os.path.splitext(path)[1] in self.valid_ext}
        settled = Owners(pattern, self._extractor.root, found, self.class_archives, self._has_submitted)
        for remark in settled.remarks:
            self.log.warning("%s", _shown(remark))
        return settled

    def _has_submitted(self, student: str) -> bool:
        """Whether something of a student lies in `submitted/` for this assignment."""
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
            self.log.warning("Skipped %s: no student's folder can have the name that is in it", _shown(submitted_file))
            return None
        if isinstance(info.get("timestamp"), str):
            time = time_of(info["timestamp"])
            if time is None:
                self.log.warning("%s is taken without a time: there is none in its name", _shown(submitted_file))
            info = {**info, "timestamp": time}
        return info


def safe_path(name: str) -> Path:
    """The path within a folder that a member of an archive is written to. Raises Refused."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or len(parts) > MAX_FOLDERS or not all(is_plain(part) for part in parts):
        long = any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in parts)
        raise Refused(TOO_LONG if long else "its name leads elsewhere, or cannot be one")
    return Path(*parts)


def _path_or_none(name: str) -> Path | None:
    try:
        return safe_path(name)
    except Refused:
        return None


def _rooms(names: Sequence[str] | None, size: int) -> Allowances | SharedAllowance:
    """The rooms in an archive of these names, or None where they are not known beforehand."""
    return (
        SharedAllowance(Allowance(files=unpacking.MAX_ENTRIES, size=size)) if names is None else Allowances(names, size)
    )


def without_suffix(path: Path) -> Path:
    """The path for what is in an archive: `a.tar.gz` goes into `a`; a name without a suffix would be its own."""
    return path.with_name(ARCHIVE_SUFFIX.sub("", path.name) or "archive")


def _unused(path: Path) -> Path:
    """The path, or one beside it where there is something already: `a` may lie beside `a.zip`."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return free


def _write(open_member: unpacking.Opener, target: Path, room: Allowance) -> None:
    """Copy a member to a new file, counting what really comes; nothing stays of what goes wrong. Raises Refused."""
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = open(target, "xb")
    except FileExistsError:
        raise Refused("there is another of that name") from None
    except NotADirectoryError:
        raise Refused("a file is in the place of its folder") from None
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
