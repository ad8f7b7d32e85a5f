"""What lies below `submitted/`: who handed something in, and what. Opened part by part from there, following nothing.

A link in the place of a student's folder would get another student's points; `submitted/` itself, and the course, are
the instructor's and may be links. Whoever reads there does it through this module.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeAlias

from ..errors import DISK, Unreadable
from . import read
from .read import StrPath

MAX_NAMES = 2_000  # of files and folders beside a notebook
MAX_FOLDERS = 20
MAX_COPIED = 200 * 2**20  # bytes of all files beside a notebook
MAX_NAME = 128  # characters of a student's name: a column of the gradebook
MAX_NAME_BYTES = 240  # with what is added for a file's name, at most 255
Place: TypeAlias = tuple[str, ...]  # the parts of a path
UNSEEN = dict.fromkeys(map(ord, "\t\r\n"))  # which browsers leave out of an address


# --- who ------------------------------------------------------------------------------------------


def students(submitted: StrPath, assignment: str) -> list[str]:
    """The names of all who handed something in, in order: those too whose folder cannot be looked into."""
    return [name for name in _names_in(submitted) if _has_handed_in(os.path.join(submitted, name), assignment)]


def strays(submitted: StrPath) -> list[str]:
    """The names of what lies among the students' folders and is none."""
    shown = [name for name in _names_in(submitted) if not name.startswith(".")]
    return [name for name in shown if not _leads_to_a_folder(os.path.join(submitted, name))]


def problem_of(student: str) -> str:
    """Why a folder's name cannot be a student's, in one sentence; "" where it can.

    Formgrader writes names into addresses as they are: what ends a part of an address there, or stands for another
    character, would lead whoever follows a student's link to where the student wants.
    """
    in_address = student.translate(UNSEEN)
    if not student or not _is_text(student):
        what = "UTF-8 text"
    elif len(student) > MAX_NAME or len(os.fsencode(student)) > MAX_NAME_BYTES:
        what = f"up to {MAX_NAME} characters ({MAX_NAME_BYTES} bytes)"
    elif re.search(r"^\.|\\\.|[?#/]|%[0-9a-fA-F]{2}", in_address):
        what = "no name that begins with a dot, or holds ?, #, / or \\., or % with a character's code"
    else:
        return ""
    return f"the folder's name cannot be a student's in the gradebook, which takes {what}: rename it"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def sharing(submitted: StrPath, assignment: str, who: Iterable[str]) -> list[list[str]]:
    """Lists of students whose notebooks are one and the same file, by hard links."""
    by_file: dict[tuple[int, int], list[str]] = {}
    for student in who:
        with contextlib.suppress(OSError):
            status = os.lstat(os.path.join(submitted, student, assignment, f"{assignment}.ipynb"))
            if status.st_nlink > 1:
                by_file.setdefault((status.st_dev, status.st_ino), []).append(student)
    return [students for students in by_file.values() if len(students) > 1]


def _names_in(submitted: StrPath) -> list[str]:
    try:
        return sorted(os.listdir(submitted))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _has_handed_in(folder: str, assignment: str) -> bool:
    if not _leads_to_a_folder(folder):
        return False
    try:
        os.lstat(os.path.join(folder, assignment))
        return True
    except (FileNotFoundError, NotADirectoryError):
        return not os.path.exists(folder)  # a link that leads nowhere: nobody knows
    except OSError:  # it may not be looked into: nobody knows
        return not os.path.basename(folder).startswith(".")


def _leads_to_a_folder(path: str) -> bool:
    """Whether it is a folder or a link to one; a link that leads nowhere may have done so."""
    return os.path.isdir(path) or (os.path.islink(path) and not os.path.exists(path))


# --- what -----------------------------------------------------------------------------------------


def read_bytes(path: StrPath) -> bytes:
    """The content of `submitted/STUDENT/ASSIGNMENT/FILE`. Raises Unreadable."""
    with _entered(os.path.dirname(path)) as folder:
        return read.read_bytes(os.path.basename(path), folder)


def read_submission(path: StrPath) -> tuple[list[read.SubmittedCell], str, str]:
    """(the cells of a notebook, "", the digest of its bytes), or ([], why it cannot be read, "")."""
    try:
        data = read_bytes(path)
        return read.read_notebook(data), "", hashlib.sha256(data).hexdigest()
    except Unreadable as error:
        return [], str(error) + _others(path), ""


def names(folder: StrPath) -> set[str]:
    """The names of what lies in `submitted/STUDENT/ASSIGNMENT`: none where it cannot be looked into."""
    try:
        with _entered(folder) as top:
            return {name for name, _ in _entries(top, ())}
    except Unreadable:
        return set()


def copy(folder: StrPath, target: StrPath, exclude: Iterable[str], kept: Collection[Place] = ()) -> None:
    """Copy what lies in `submitted/STUDENT/ASSIGNMENT` to the folder `target`: regular files, and not too much.

    Left out is what matches one of the patterns `exclude`, and what would be in the way of one of the files `kept`.
    """
    left, count = MAX_COPIED, 0
    waiting: list[Place] = [()]
    with contextlib.suppress(Unreadable), _entered(folder) as top:
        while waiting and count < MAX_NAMES:
            inner = waiting.pop(0)
            for name, kind in _entries(top, inner):
                count += 1
                place = (*inner, name)
                if any(fnmatch(name, pattern) for pattern in exclude) or _is_in_the_way(place, kept):
                    continue
                if kind == stat.S_IFDIR and len(place) <= MAX_FOLDERS:
                    waiting.append(place)
                elif kind == stat.S_IFREG:
                    left -= _copy_file(top, place, target, left)


def _copy_file(top: int, place: Place, target: StrPath, most: int) -> int:
    """Copy one file, unless it has more than `most` bytes or cannot be copied; returns how many it had."""
    try:
        with _opened(top, place[:-1]) as folder:
            data = read.read_bytes(place[-1], folder)
        if len(data) > most:
            return 0
        path = Path(target, *place)
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path):
            os.remove(path)
        path.write_bytes(data)
        return len(data)
    except Unreadable:
        return 0
    except OSError as error:
        if error.errno in DISK:
            raise
        return 0  # a name that is too long there, for one


def _is_in_the_way(place: Place, kept: Collection[Place]) -> bool:
    """Whether a file or folder would stand in the place of a folder or file of `kept` (which are parts of paths)."""
    return any(place == other[: len(place)] and len(place) < len(other) for other in kept) or any(
        other == place[: len(other)] and len(other) < len(place) for other in kept
    )


# --- part by part ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _entered(folder: StrPath) -> Iterator[int]:
    """A descriptor of `submitted/STUDENT/ASSIGNMENT`, opened without following a link. Raises Unreadable."""
    top, student, assignment = str(folder).rstrip("/").rsplit("/", 2)
    try:
        submitted = os.open(top or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise Unreadable("There is no such file.") from None
    try:
        with _opened(submitted, (student, assignment)) as found:
            yield found
    finally:
        os.close(submitted)


@contextlib.contextmanager
def _opened(top: int, parts: Place) -> Iterator[int]:
    """A descriptor of a folder below the folder `top`. Raises Unreadable."""
    held: list[int] = []
    try:
        for number, name in enumerate(parts, start=1):
            held.append(_open_folder(held[-1] if held else top, name, parts[:number]))
        yield held[-1] if held else top
    finally:
        for descriptor in held:
            os.close(descriptor)


def _open_folder(around: int, name: str, parts: Place) -> int:
    try:
        return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=around)
    except FileNotFoundError:
        raise Unreadable("There is no such file.") from None
    except OSError as error:
        where = ascii("/".join(parts))[1:-1][-160:]
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise Unreadable(f"Its folder {where} cannot be opened ({error.strerror}).") from None
        with contextlib.suppress(OSError):  # it may have gone meanwhile
            if stat.S_ISLNK(os.stat(name, dir_fd=around, follow_symlinks=False).st_mode):
                raise Unreadable(f"Its folder {where} is a link, which is not followed: hand in the folder.") from None
        raise Unreadable(f"Its folder {where} is no folder: hand in a folder that holds the notebook.") from None


def _entries(top: int, parts: Place) -> list[tuple[str, int]]:
    """(name, kind) of what lies in a folder below the folder `top`, in order; nothing where that is hidden."""
    try:
        with _opened(top, parts) as folder:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(descriptor) as found:
                    entries = itertools.islice(found, MAX_NAMES)
                    return sorted((e.name, stat.S_IFMT(e.stat(follow_symlinks=False).st_mode)) for e in entries)
            finally:
                os.close(descriptor)
    except (Unreadable, OSError):
        return []


def _others(path: StrPath) -> str:
    """Says which other notebooks lie in the folder, where the right one is missing."""
    folder, name = os.path.split(path)
    found = names(folder)
    if name in found or not os.path.isdir(folder):
        return ""
    others = sorted(other for other in found if other.endswith(".ipynb"))[:3]
    said = f" The folder holds {', '.join(ascii(n)[1:-1][:80] for n in others)} instead." if others else ""
    return f" It should be called {name}.{said}"
