"""The files below `submitted/`: who handed something in, and what. Paths are opened part by part; no link is followed.

A link in place of a student's folder would collect another student's points. `submitted/` itself and the course belong
to the instructor and may be links. All code that reads below `submitted/` goes through this module.
"""

import contextlib
import errno
import itertools
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeAlias

from ..errors import DISK, Unreadable
from . import kinds, read
from .read import StrPath

MAX_NAMES = 2_000  # of files and folders beside a notebook
MAX_FOLDERS = 20
MAX_TRIED = 50  # of which the content is looked at, to name a notebook that is called otherwise
MAX_COPIED = 200 * 2**20  # bytes of all files beside a notebook
BESIDE = "beside"  # the folder into which `collect` puts what was handed in beside a notebook
TIMESTAMP = "timestamp.txt"  # nbgrader's own, and `collect`'s
# The files in which no written answer is looked for: code, data, and what programs write. It may be in any other, such
# as a picture, a recording, a README, a second notebook, or a file of a kind that nobody here knows.
CODE = (
    *(
        ".py .pyc .pyi .pyx .ipy .r .jl .m .c .h .cc .cpp .hpp .cu .cuh .java .js .ts .css .go .rs .rb .pl .lua .sql"
    ).split(),
    *(
        ".sh .bash .bat .cmd .ps1 .mk .cmake .toml .yaml .yml .ini .cfg .conf .env .lock .so .dll .dylib .exe .o .whl"
    ).split(),
)
DATA = (
    *(
        ".csv .tsv .json .jsonl .ndjson .npy .npz .pt .pth .ckpt .safetensors .onnx .gguf .bin .pkl .pickle .joblib"
    ).split(),
    *(
        ".h5 .hdf5 .parquet .feather .arrow .mat .rds .dat .db .sqlite .sqlite3 .log .prof .tfevents .idx .vocab"
    ).split(),
)
NEITHER = (*CODE, *DATA)
PROGRAMS = {"requirements.txt", "makefile", "dockerfile", "pipfile", "license", "thumbs.db", "desktop.ini"}
MAX_NAME = 128  # characters of a student's name: a column of the gradebook
MAX_NAME_BYTES = 240  # a file name made from it gets a suffix and may have at most 255
Place: TypeAlias = tuple[str, ...]  # the parts of a path
UNSEEN = dict.fromkeys(map(ord, "\t\r\n"))  # browsers drop these from an address


# --- students -------------------------------------------------------------------------------------


def students(submitted: StrPath, assignment: str) -> list[str]:
    """The names of all students who handed something in, sorted, including those with an unreadable folder."""
    return [name for name in _names_in(submitted) if _has_handed_in(os.path.join(submitted, name), assignment)]


def strays(submitted: StrPath) -> list[str]:
    """The names of entries among the students' folders that are not folders."""
    shown = [name for name in _names_in(submitted) if not name.startswith(".")]
    return [name for name in shown if not _leads_to_a_folder(os.path.join(submitted, name))]


def problem_of(student: str) -> str:
    """A sentence saying why a folder's name cannot be a student's name, or "" if it can.

    Formgrader puts names into addresses unescaped. A character that ends a part of an address, or an escape for another
    character, would let the student choose where the link leads.
    """
    in_address = student.translate(UNSEEN)
    if not student or not _is_text(student):
        what = "UTF-8 text"
    elif len(student) > MAX_NAME or len(os.fsencode(student)) > MAX_NAME_BYTES:
        what = f"up to {MAX_NAME} characters ({MAX_NAME_BYTES} bytes)"
    elif student != student.strip():  # nbgrader cuts them off, and would look in another student's folder
        what = "no name that begins or ends with a blank"
    elif re.search(r"^\.|\\\.|[?#/]|%[0-9a-fA-F]{2}", in_address):
        what = "no name that begins with a dot, or holds ?, #, / or \\., or % with a character's code"
    else:
        return ""
    return f"the gradebook does not accept the folder's name as a student's id; it takes {what}: rename it"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def sharing(submitted: StrPath, assignment: str, who: Iterable[str]) -> list[list[str]]:
    """Lists of students with one and the same file as their notebooks, by hard links."""
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
        return not os.path.exists(folder)  # for a dangling link nobody knows, so count it
    except OSError:  # it cannot be read, so nobody knows
        return not os.path.basename(folder).startswith(".")


def _leads_to_a_folder(path: str) -> bool:
    """Whether it is a folder or a link to one; a dangling link counts, since it may have led to one."""
    return os.path.isdir(path) or (os.path.islink(path) and not os.path.exists(path))


# --- files ----------------------------------------------------------------------------------------


def read_bytes(path: StrPath) -> bytes:
    """The content of `submitted/STUDENT/ASSIGNMENT/FILE`. Raises Unreadable."""
    with _entered(os.path.dirname(path)) as folder:
        return read.read_bytes(os.path.basename(path), folder)


def read_submission(path: StrPath) -> read.SubmittedFile:
    """The notebook `submitted/STUDENT/ASSIGNMENT/FILE`, without its outputs if it is large. Raises Unreadable."""
    try:
        with _entered(os.path.dirname(path)) as folder:
            return read.SubmittedFile(str(path), read.read_handed_in(os.path.basename(path), folder))
    except Unreadable as error:
        raise Unreadable(f"{error}{_others(path)}") from None


def names(folder: StrPath) -> set[str]:
    """The names of the entries in `submitted/STUDENT/ASSIGNMENT`; empty if it cannot be read."""
    try:
        with _entered(folder) as top:
            return {name for name, _, _ in _entries(top, ())}
    except Unreadable:
        return set()


def beside(folder: StrPath, released: StrPath = os.devnull) -> list[Place]:
    """What was handed in beside the notebook in `submitted/STUDENT/ASSIGNMENT`: regular files, at most MAX_NAMES.

    Other notebooks are among them, but not what students got, which lies in the folder `released`.
    """
    notebook = f"{os.path.basename(str(folder).rstrip('/'))}.ipynb"
    found: list[Place] = []
    with contextlib.suppress(Unreadable), _entered(folder) as top:
        for place, kind, size in itertools.islice(_walked(top), MAX_NAMES):
            is_one = kind == stat.S_IFREG and size and not any(name.startswith(".") for name in place)
            if is_one and place not in ((TIMESTAMP,), (notebook,)):
                if not os.path.lexists(os.path.join(released, *place)):
                    found.append(place)
    return found


def read_beside(folder: StrPath, place: Place, most: int = read.MAX_FILE) -> bytes:
    """The content of a file that `beside` has found. Raises Unreadable."""
    with _entered(folder) as top, _opened(top, place[:-1]) as inner:
        return read.read_bytes(place[-1], inner, most)


def may_hold_answers(folder: StrPath, released: StrPath = os.devnull) -> bool:
    """Whether a written answer may have been handed in beside the notebook: in what is not known to be code or data."""
    return any(_may_hold_one(folder, place) for place in beside(folder, released))


def _may_hold_one(folder: StrPath, place: Place) -> bool:
    name = place[-1].strip().lower()
    if ".ipynb" in name or not (name.endswith(NEITHER) or name in PROGRAMS):
        return True
    if not name.endswith(".json"):
        return False
    with contextlib.suppress(Unreadable), _entered(folder) as top, _opened(top, place[:-1]) as inner:
        return read.may_be_one(place[-1], inner)  # a notebook, as some browsers call it
    return False


def copy(folder: StrPath, target: StrPath, exclude: Iterable[str], kept: Collection[Place] = ()) -> None:
    """Copy the regular files in `submitted/STUDENT/ASSIGNMENT` to the folder `target`, up to the limits above.

    Leaves out whatever matches a pattern in `exclude`, or would be in the way of a path in `kept`; `left_out` says
    what else.
    """
    left = MAX_COPIED
    with contextlib.suppress(Unreadable), _entered(folder) as top:
        for place, kind, _ in itertools.islice(_walked(top), MAX_NAMES):
            out = any(fnmatch(name, pattern) for name in place for pattern in exclude)
            if kind == stat.S_IFREG and not out and not _is_in_the_way(place, kept):
                left -= _copy_file(top, place, target, left)


def left_out(folder: StrPath) -> str:
    """A sentence saying what of the files beside a notebook is too much to be copied, or ""."""
    names = deep = large = total = 0
    with contextlib.suppress(Unreadable), _entered(folder) as top:
        for place, kind, size in itertools.islice(_walked(top), MAX_NAMES + 1):
            names += 1
            deep += kind == stat.S_IFDIR and len(place) > MAX_FOLDERS
            if kind == stat.S_IFREG and not place[-1].endswith(".ipynb"):
                large += size > read.MAX_FILE
                total += size if size <= read.MAX_FILE else 0
    said = [f"more than {MAX_NAMES:,} files and folders, of which the first are copied"] if names > MAX_NAMES else []
    said += [f"folders more than {MAX_FOLDERS} deep, which are not copied"] if deep else []
    said += [f"files of more than {read.MAX_FILE >> 20} MB, which are not copied"] if large else []
    said += [f"more than {MAX_COPIED >> 20} MB, of which not all is copied"] if total > MAX_COPIED else []
    return f"beside the notebook lie {'; '.join(said)}" if said else ""


def _walked(top: int) -> Iterator[tuple[Place, int, int]]:
    """(place, kind, size) of everything below a folder, folder by folder; what is too deep is not entered."""
    waiting: list[Place] = [()]
    while waiting:
        inner = waiting.pop(0)
        for name, kind, size in _entries(top, inner):
            place = (*inner, name)
            yield place, kind, size
            if kind == stat.S_IFDIR and len(place) <= MAX_FOLDERS:
                waiting.append(place)


def _copy_file(top: int, place: Place, target: StrPath, most: int) -> int:
    """Copy one file and return its size in bytes, or 0 if it has more than `most` bytes or cannot be copied."""
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
        return 0  # for example, a name that is too long for the target


def _is_in_the_way(place: Place, kept: Collection[Place]) -> bool:
    """Whether `place` is the path of a folder that a `kept` path needs, or lies below a `kept` path."""
    return any(place == other[: len(place)] and len(place) < len(other) for other in kept) or any(
        other == place[: len(other)] and len(other) < len(place) for other in kept
    )


# --- opening paths part by part -------------------------------------------------------------------


@contextlib.contextmanager
def _entered(folder: StrPath) -> Iterator[int]:
    """Open `submitted/STUDENT/ASSIGNMENT` without following a link; yields its descriptor. Raises Unreadable."""
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
    """Open the folder `parts` below the folder `top`; yields its descriptor. Raises Unreadable."""
    opened: list[int] = []
    try:
        for number, name in enumerate(parts, start=1):
            opened.append(_open_folder(opened[-1] if opened else top, name, parts[:number]))
        yield opened[-1] if opened else top
    finally:
        for descriptor in opened:
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
        with contextlib.suppress(OSError):  # it may have been removed meanwhile
            if stat.S_ISLNK(os.stat(name, dir_fd=around, follow_symlinks=False).st_mode):
                raise Unreadable(
                    f"Its folder {where} is a link, which is not followed: hand in the folder itself."
                ) from None
        raise Unreadable(f"Its folder {where} is not a folder: hand in a folder that contains the notebook.") from None


def _entries(top: int, parts: Place) -> list[tuple[str, int, int]]:
    """The sorted (name, kind, size) of at most MAX_NAMES + 1 entries in a folder below `top`; empty if it is closed."""
    try:
        with _opened(top, parts) as folder:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(descriptor) as found:
                    entries = itertools.islice(found, MAX_NAMES + 1)
                    about = [(e.name, e.stat(follow_symlinks=False)) for e in entries]
                    return sorted((name, stat.S_IFMT(status.st_mode), status.st_size) for name, status in about)
            finally:
                os.close(descriptor)
    except (Unreadable, OSError):
        return []


def _others(path: StrPath) -> str:
    """A sentence naming the other notebooks in the folder if the right one is missing, else ""."""
    folder, name = os.path.split(path)
    found = names(folder)
    if name in found or not os.path.isdir(folder):
        return ""
    others = _notebooks_in(folder, found)[:3]
    said = f" The folder holds {', '.join(ascii(n)[1:-1][:80] for n in others)} instead." if others else ""
    return f" It should be called {name}.{said}"


def _notebooks_in(folder: StrPath, names: Iterable[str]) -> list[str]:
    """Those of the names in `submitted/STUDENT/ASSIGNMENT` that are notebooks by their ending, or by their content."""
    with contextlib.suppress(Unreadable), _entered(folder) as top:
        may_be = sorted(name for name in names if os.path.splitext(name)[1].strip().lower() in kinds.ENDINGS)[
            :MAX_TRIED
        ]
        return [name for name in may_be[:MAX_TRIED] if name.endswith(".ipynb") or read.may_be_one(name, top)]
    return []
