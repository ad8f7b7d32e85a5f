"""Reads what students hand in, within limits and without trust. Results are rebuilt from the few fields needed."""

import base64
import errno
import functools
import hashlib
import itertools
import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import Unreadable
from . import kinds, scripts

MAX_FILE = 20 * 2**20
MAX_WITH_OUTPUTS = 64 * 2**20  # bytes of a notebook as it is handed in: what nobody reads of it is taken out
MAX_PARTS = 2_000_000  # strings, lists, objects and commas in a notebook; each line of an output counts as two
MAX_CELLS = 2_000
MAX_SOURCE = 1_000_000
StrPath: TypeAlias = str | os.PathLike[str]
CLEAR = "clear its outputs and the saved state of its widgets, save it, and hand it in again"
# up to the next bracket that is in no string
PIECE = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"?)*+([\[\]{}])', re.DOTALL)
UNREAD = re.compile(rb'(?<!\\)"(?:outputs|widgets)"\s*:\s*\Z')  # before a value that nobody reads
KEY = 64  # bytes before a bracket in which its key is looked for
CELL_TYPES = ("code", "markdown", "raw")


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as it was handed in: `grade_id` is the one that its metadata claims, or None."""

    cell_type: str
    source: str
    id: str
    grade_id: str | None = None


@dataclass(frozen=True)
class SubmittedFile:
    """A file as it was handed in. It is read once, so that its hash and its cells are those of the same bytes."""

    path: str
    data: bytes

    @functools.cached_property
    def digest(self) -> str:
        """The hash by which its content is known."""
        return hashlib.sha256(self.data).hexdigest()

    @functools.cached_property
    def cells(self) -> Sequence[SubmittedCell]:
        """Its cells, if it is a notebook or a script that one was exported to. Raises Unreadable."""
        return tuple(read_notebook(self.data))


def lines_of_code(text: str) -> list[str]:
    """The lines of code as Python counts them: a form feed, or a separator of lines in a comment, ends none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


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
                f"It has {status.st_size / 2**20:.0f} MB, more than the {most // 2**20} MB allowed: {CLEAR}."
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


def read_file(path: StrPath) -> SubmittedFile:
    """A file that was handed in, wherever it lies. Raises Unreadable."""
    return SubmittedFile(str(path), read_handed_in(path))


def read_handed_in(path: StrPath, folder: int | None = None) -> bytes:
    """The content of what is handed in as a notebook, `slim` if it is large. Raises Unreadable."""
    return slim(read_bytes(path, folder, MAX_WITH_OUTPUTS))


def read_if_one(path: StrPath) -> bytes:
    """The same, if the file may hold a notebook by its beginning. Raises Unreadable, which says what else it is."""
    start = start_of(path)
    if not kinds.may_be_one(start):
        raise Unreadable(kinds.refusal(start))
    return read_handed_in(path)


def may_be_one(path: StrPath, folder: int | None = None) -> bool:
    """Whether a file may hold a notebook, or a script that one was exported to, by its beginning."""
    try:
        return kinds.may_be_one(start_of(path, folder))
    except Unreadable:
        return False


def start_of(path: StrPath, folder: int | None = None) -> bytes:
    """The first bytes of a regular file, none of anything else. Raises Unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(kinds.LOOK) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError as error:
        raise Unreadable(f"It cannot be read ({error.strerror}).") from None


def slim(data: bytes) -> bytes:
    """A notebook of at most MAX_FILE bytes: of a larger one, without its outputs and its widgets' state.

    Raises Unreadable if it is larger even so.
    """
    if len(data) <= MAX_FILE:
        return data
    left = without_outputs(data)
    if len(left) > MAX_FILE:
        raise Unreadable(
            f"It has {len(left) / 2**20:.0f} MB without its outputs, more than the {MAX_FILE // 2**20} MB allowed:"
            " take large pictures and data out of its cells, save it, and hand it in again."
        )
    return left


def without_outputs(data: bytes) -> bytes:
    """The JSON of a notebook with nothing in place of its outputs and its widgets' state, which may be most of it.

    Nothing is parsed, so it takes no memory for what is left out. Raises Unreadable.
    """
    kept, start, at, depth, many = [], 0, 0, 0, 0  # depth: in a value that is left out
    while found := PIECE.match(data, at):
        many += 1
        if many > MAX_PARTS:
            raise Unreadable(f"It is made of more than {MAX_PARTS} parts: {CLEAR}.")
        opens = found[1] in b"[{"
        if depth:
            depth += 1 if opens else -1
            start = found.end() - 1 if depth == 0 else start
        elif opens and UNREAD.search(data, max(at, found.end() - 1 - KEY), found.end() - 1):
            kept.append(data[start : found.end()])
            depth = 1
        at = found.end()
    return b"".join([*kept, b"" if depth else data[start:]])


def is_plain_script(data: bytes) -> bool:
    """Whether a file may be a program in Python without cells: text that is no notebook's, nor anything else known."""
    try:
        text = kinds.as_utf8(data)
    except ValueError:
        return False
    return not kinds.is_json(text) and kinds.is_plain_text(text) and not scripts.is_one(text.decode("utf-8", "ignore"))


def is_script(data: bytes) -> bool:
    """Whether a file that `read_notebook` reads is a script."""
    return not kinds.is_json(kinds.as_utf8(data))


def read_script(data: bytes) -> str:
    """The text of a .py file. Raises Unreadable."""
    try:
        text = kinds.as_utf8(data).decode("utf-8")
    except ValueError:
        raise Unreadable("It is not UTF-8 text; save it as UTF-8.") from None
    if "\0" in text:
        raise Unreadable("It contains NUL characters, so it is not a Python file.")
    if len(text) > MAX_SOURCE:
        raise Unreadable(f"It has more than {MAX_SOURCE} characters.")
    return text


def read_notebook(data: bytes) -> list[SubmittedCell]:
    """The cells of a notebook, or of a script that one was exported to, as a list of SubmittedCell. Raises Unreadable.

    The content decides, not the name: see kinds.py and scripts.py.
    """
    if len(data) > MAX_FILE:
        data = slim(data)
    try:
        text = kinds.as_utf8(data)
    except ValueError:
        raise Unreadable(kinds.NOT_TEXT) from None
    cells = _cells_of_json(text) if kinds.is_json(text) else _cells_of_script(text)
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"It has {len(cells)} cells, more than the {MAX_CELLS} allowed.")
    if sum(len(cell.source) for cell in cells) > MAX_SOURCE:
        raise Unreadable(f"Its cells hold more than {MAX_SOURCE} characters.")
    return cells


def _cells_of_script(data: bytes) -> list[SubmittedCell]:
    """The cells of a script. Raises Unreadable, with a sentence that says what the file is, if it is none."""
    try:
        text = data.decode("utf-8") if len(data) <= 4 * MAX_SOURCE else ""
    except UnicodeDecodeError:
        text = ""
    cells = scripts.cells_of(text) if text and "\0" not in text else None
    if cells is None:
        raise Unreadable(kinds.refusal(data))
    return [SubmittedCell(kind, source, "") for kind, source in cells]


def _cells_of_json(data: bytes) -> list[SubmittedCell]:
    notebook = _unwrapped(_parsed(data))
    if isinstance(notebook, dict) and notebook.get("nbformat", 4) != 4:  # those of format 3 have no list of cells
        raise Unreadable(
            f"It is a notebook of format {ascii(notebook['nbformat'])[:20]}, but format 4 is needed: "
            "open it in JupyterLab, save it and hand it in again."
        )
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable(kinds.refusal_of_json(data))
    if "nbformat" not in notebook:
        raise Unreadable("It is not a notebook: it does not say which format it has. Download it again and hand it in.")
    if len(notebook["cells"]) > MAX_CELLS:
        raise Unreadable(f"It has {len(notebook['cells'])} cells, more than the {MAX_CELLS} allowed.")
    return [_cell(cell, number) for number, cell in enumerate(notebook["cells"], start=1)]


def _parsed(data: bytes) -> Any:
    """What JSON holds. Raises Unreadable."""
    if _has_many_parts(data):
        data = without_outputs(data)
    if _has_many_parts(data):
        raise Unreadable(f"It is made of more than {MAX_PARTS} parts: {CLEAR}.")
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unreadable(kinds.NOT_UTF_8) from None
    except RecursionError:
        raise Unreadable("It is nested too deeply to be a notebook.") from None
    except ValueError as error:
        raise Unreadable(kinds.broken_json(data, getattr(error, "lineno", None))) from None


def _unwrapped(found: Any) -> Any:
    """The notebook in what a server answers about one, such as Jupyter's, JupyterLite's and GitHub's; else the same."""
    if not isinstance(found, dict) or "cells" in found or "worksheets" in found:
        return found
    content = found.get("content")
    if isinstance(content, str):
        text = content.encode("utf-8", "replace")
        if "base64" in (found.get("encoding"), found.get("format")):
            try:
                text = base64.b64decode(text)
            except ValueError:
                return found
        return _parsed(kinds.as_utf8(text)) if kinds.is_json(text) else found
    inner = [value for value in found.values() if isinstance(value, dict) and "cells" in value]
    return inner[0] if len(inner) == 1 else found


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
