"""Reads what students hand in, within limits and without trust. Results are rebuilt from the few fields needed."""

import errno
import itertools
import json
import os
import re
import stat
from dataclasses import dataclass
from typing import TypeAlias

from .. import course
from ..errors import Unreadable

MAX_FILE = 20 * 2**20
MAX_PARTS = 2_000_000  # strings, lists, objects and commas in a notebook; each line of an output counts as two
MAX_CELLS = 2_000
MAX_SOURCE = 1_000_000
StrPath: TypeAlias = str | os.PathLike[str]
GIT_LFS = b"version https://git-lfs.github.com/spec/"  # how its pointer to a file begins
CELL_TYPES = ("code", "markdown", "raw")


@dataclass
class SubmittedCell:
    """A cell as it was handed in: `grade_id` is the one that its metadata claims, or None."""

    cell_type: str
    source: str
    id: str
    grade_id: str | None = None


def read_bytes(path: StrPath, folder: int | None = None, most: int = MAX_FILE) -> bytes:
    """The content of a regular file of bounded size, without following a symbolic link. Raises Unreadable.

    `folder` is a descriptor of the folder that `path` is relative to; `most` is the largest size in bytes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise Unreadable("There is no such file.") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("It is a symbolic link; hand in the file itself.") from None
        raise Unreadable(f"It cannot be opened ({error.strerror}).") from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise Unreadable("It is a folder; hand in the notebook itself.")
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("It is not a regular file; hand in the notebook itself.")
        if status.st_size > most:
            raise Unreadable(
                f"It has {status.st_size / 2**20:.0f} MB, more than the {most // 2**20} MB allowed: "
                "clear its outputs and hand it in again."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(f"It cannot be read ({error.strerror}).") from None
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise Unreadable("It grew while it was read.")
    return data


def read_script(data: bytes) -> str:
    """The text of a .py file. Raises Unreadable."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("It is not UTF-8 text; save it as UTF-8.") from None
    if "\0" in text:
        raise Unreadable("It contains NUL characters, so it is not a Python file.")
    if len(text) > MAX_SOURCE:
        raise Unreadable(f"It has more than {MAX_SOURCE} characters.")
    return text


def read_notebook(data: bytes) -> list[SubmittedCell]:
    """The cells of a notebook as a list of SubmittedCell. Raises Unreadable."""
    if _has_many_parts(data):
        raise Unreadable(f"It is made of more than {MAX_PARTS} parts: clear its outputs and hand it in again.")
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("It is not UTF-8 text, so it is not a notebook.") from None
    except RecursionError:
        raise Unreadable("It is nested too deeply to be a notebook.") from None
    except ValueError as error:
        if data.startswith(GIT_LFS):
            raise Unreadable(
                "It is not a notebook, but what Git LFS leaves in its place: let Git keep the notebook itself"
                " (`git lfs untrack`), and hand it in again."
            ) from None
        if line := course.conflict_in(data):
            raise Unreadable(
                f"It is not a notebook: line {line} is the mark of a merge conflict"
                " (<<<<<<<). Keep one of the two versions and hand it in again."
            ) from None
        place = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(
            f"It is not a notebook: its text is not JSON{place}. Download it again and hand it in."
        ) from None
    if isinstance(notebook, dict) and notebook.get("nbformat", 4) != 4:  # those of format 3 have no list of cells
        raise Unreadable(
            f"It is a notebook of format {ascii(notebook['nbformat'])[:20]}, but format 4 is needed: "
            "open it in JupyterLab, save it and hand it in again."
        )
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable("It is not a notebook: it has no list of cells.")
    if "nbformat" not in notebook:
        raise Unreadable("It is not a notebook: it does not say which format it has. Download it again and hand it in.")
    if len(notebook["cells"]) > MAX_CELLS:
        raise Unreadable(f"It has {len(notebook['cells'])} cells, more than the {MAX_CELLS} allowed.")
    cells = [_cell(cell, number) for number, cell in enumerate(notebook["cells"], start=1)]
    if sum(len(cell.source) for cell in cells) > MAX_SOURCE:
        raise Unreadable(f"Its cells hold more than {MAX_SOURCE} characters.")
    return cells


def _has_many_parts(data: bytes) -> bool:
    """Whether JSON has more than MAX_PARTS parts: each takes memory, however short it is."""
    if len(data) <= MAX_PARTS:
        return False
    unescaped = data.replace(rb"\\", b"").replace(rb"\"", b"")
    parts = re.finditer(rb'"[^"]*"?|[\[{,]', unescaped)
    return next(itertools.islice(parts, MAX_PARTS, None), None) is not None


def _cell(cell: object, number: int) -> SubmittedCell:
    if not isinstance(cell, dict):
        raise Unreadable(f"Its cell {number} is not a cell.")
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise Unreadable(f"The text of its cell {number} is not text.")
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    cell_id = cell.get("id") or (metadata.get("id") if isinstance(metadata, dict) else None)  # Colab keeps it there
    return SubmittedCell(
        cell_type=cell["cell_type"] if cell.get("cell_type") in CELL_TYPES else "raw",
        source=_encodable(source),
        id=cell_id if isinstance(cell_id, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell_id) else "",
        grade_id=grade_id if isinstance(grade_id, str) and len(grade_id) <= 200 else None,
    )


def _encodable(text: str) -> str:
    """The text with question marks for lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
