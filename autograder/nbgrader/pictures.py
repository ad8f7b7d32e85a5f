"""What a student handed in beside the text of a notebook: attached pictures, and files, as HTML that does nothing.

Pictures are shown if they are PNG or JPEG, by their content, of bounded size and number of pixels; texts as text, and
other notebooks as the text of their cells. All else is named with its path, and so is all beyond the room that a
student has, and a page.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import html
import json
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import nh3
from markupsafe import Markup

from ..errors import Unreadable
from ..submission import files, read

if TYPE_CHECKING:
    from ..submission.files import Place
    from ..submission.read import StrPath

MAX_PICTURE = 6 * 2**20  # bytes: what a telephone makes
MAX_SHOWN = 16 * 2**20  # bytes of one student's pictures
# bytes of the page of a class that are pictures, as text, and files: a browser shows 32 MB at once, and while the page
# is made it is in memory five times
MAX_PAGE = 32 * 2**20
MAX_PIXELS = 50_000_000  # a picture of few bytes may have any number, and a browser unpacks all
MAX_TEXT = 20_000  # characters of a file that is shown
MOST = 50  # files of a student that are shown or named
REFERENCE = re.compile(  # of Markdown, and of HTML
    r"!\[[^\]\n]{0,200}\]\(\s*<?([^)>\n\"']{1,300})"
    r"|<img\b[^>]{0,300}?\bsrc\s*=\s*[\"']?([^\"'>\s]{1,300})"
)
BREAKS = re.compile(r"<(?=/?(?:p|br|div|li|tr|h[1-6]|pre)\b)", re.IGNORECASE)
TEXTS = (".txt", ".md", ".tex", ".py", ".csv", ".json", ".yaml", ".yml", ".toml", ".r", ".html", ".htm")


class Room:
    """The room that is left on a page for what students handed in beside their texts, in bytes."""

    def __init__(self, left: int = MAX_PAGE) -> None:
        self.left = left

    def take(self, size: int) -> bool:
        """Take so much of it; returns whether there is as much."""
        if fits := size <= self.left:
            self.left -= size
        return fits


class Pictures:
    """The pictures and other files of one student's hand-in, which are read when they are asked for.

    They share the `page` with those of others.
    """

    def __init__(self, root: StrPath, assignment: str, student: str, page: Room | None = None) -> None:
        self.folder = Path(root, "submitted", student, assignment)
        self.notebook = self.folder / f"{assignment}.ipynb"
        self.where = f"submitted/{student}/{assignment}"
        self.files: list[Place] = files.beside(self.folder, Path(root, "release", assignment))
        self.room, self.page = Room(MAX_SHOWN), page or Room()

    @functools.cached_property
    def attached(self) -> dict[str, list[bytes]]:
        """The pictures pasted into the notebook, by name: cells may use one name for several."""
        found: dict[str, list[bytes]] = {}
        with contextlib.suppress(Unreadable, ValueError, RecursionError):
            notebook = json.loads(files.read_bytes(self.notebook).decode("utf-8-sig"))
            for cell in notebook.get("cells", []) if isinstance(notebook, dict) else []:
                for name, data in _attachments(cell):
                    found.setdefault(name, []).append(data)
        return found

    def of(self, source: str) -> Markup:
        """The pictures that a text refers to, as far as they were handed in."""
        shown = Markup()
        for found in list(REFERENCE.finditer(source))[:MOST]:
            name = unquote((found[1] or found[2]).split(' "')[0].strip())
            if name.startswith("attachment:"):
                shown += Markup().join(self._picture(data, name) for data in self.attached.get(name[11:], []))
            else:
                shown += Markup().join(self._file(place) for place in self._called(name))
        return shown

    def _called(self, name: str) -> list[Place]:
        """The files that a path in a notebook may mean: it, or the one of that name wherever it lies."""
        wanted = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        return [place for place in self.files if wanted and place[-len(wanted) :] == wanted][:1]

    def shown(self) -> Markup:
        """All files beside the notebook."""
        shown = Markup().join(self._file(place) for place in self.files[:MOST])
        more = len(self.files) - MOST
        return shown + (Markup("<p>… and {} more in {}/</p>").format(more, self.where) if more > 0 else Markup())

    def _file(self, place: Place) -> Markup:
        path = f"{self.where}/{'/'.join(place)}"
        if self.page.left < MAX_TEXT:  # then it is not even read
            return _named(path)
        try:
            data = files.read_beside(self.folder, place)
        except Unreadable as problem:
            return Markup("<p><code>{}</code>: {}</p>").format(path, str(problem))
        if kind_of(data):
            return self._picture(data, path)
        if not (text := _text_in(data, place[-1].strip().lower())):
            return _named(path, f" ({max(1, len(data) / 1000):.0f} kB)")
        shown = Markup("<p><code>{}</code></p><pre><code>{}</code></pre>").format(path, text)
        return shown if self.page.take(len(shown.encode())) else _named(path)

    def _picture(self, data: bytes, name: str) -> Markup:
        kind, pixels = kind_of(data), pixels_of(data)
        is_one = kind and 0 < pixels <= MAX_PIXELS and len(data) <= min(MAX_PICTURE, self.room.left)
        if not is_one or not self.page.take(len(data) * 4 // 3):
            return Markup("<p><em>The picture {} is not shown here: open it in {}/.</em></p>").format(name, self.where)
        self.room.take(len(data))
        text = base64.b64encode(data).decode()
        return Markup('<p><img src="data:image/{};base64,{}" alt="{}"></p>').format(kind, text, os.path.basename(name))


def _named(path: str, size: str = "") -> Markup:
    return Markup("<p><code>{}</code>{}: open it there</p>").format(path, size)


def _text_in(data: bytes, name: str) -> str:
    """The text of a file with this name, in lower case, as far as it is shown; "" if it is none."""
    if ".ipynb" in name:
        return _cut(_text_of_cells(data))
    if not name.endswith(TEXTS):
        return ""
    text = _decoded(data)
    return _cut(text_of(text, len(data) <= 4 * MAX_TEXT) if name.endswith((".html", ".htm")) else text)


def _text_of_cells(data: bytes) -> str:
    """The text of a notebook's cells; of one that cannot be read, all of it."""
    try:
        return "\n\n".join(cell.source for cell in read.read_notebook(data))
    except Unreadable:
        return _decoded(data)


def _decoded(data: bytes) -> str:
    """A file's text, as much of it as may be shown."""
    return data[: 4 * MAX_TEXT].decode("utf-8", "replace").replace("\0", "")


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n\n… (cut off here: open the file for the rest)"


def _attachments(cell: object) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the pictures attached to a cell."""
    attached = cell.get("attachments") if isinstance(cell, dict) else None
    for name, kinds in attached.items() if isinstance(attached, dict) else ():
        for text in kinds.values() if isinstance(kinds, dict) else ():
            text = "".join(map(str, text)) if isinstance(text, list) else text
            if isinstance(text, str):
                with contextlib.suppress(binascii.Error, ValueError):
                    yield name, base64.b64decode(text)


def kind_of(data: bytes) -> str:
    """ "png" or "jpeg" by the content, else ""."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    return "jpeg" if data.startswith(b"\xff\xd8\xff") else ""


def pixels_of(data: bytes) -> int:
    """The number of pixels that the head of a PNG or JPEG says, 0 if it says none."""
    if kind_of(data) == "png":
        return int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big")
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, size = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the segments with the size
            return int.from_bytes(data[at + 5 : at + 7], "big") * int.from_bytes(data[at + 7 : at + 9], "big")
        at += 2 + max(size, 2)
    return 0


def text_of(page: str, is_whole: bool = True) -> str:
    """The text of a page of HTML, by a parser that is made for pages of strangers.

    Of a page that it does not read to its end, such as one with a comment that does not end, all of it as it is
    written; of one that was cut off before, only if that has no text.
    """
    end = secrets.token_hex(16)
    found = html.unescape(nh3.clean(f"{BREAKS.sub(chr(10) + '<', page)}{end if is_whole else ''}", tags=set())).strip()
    if is_whole:
        return found.removesuffix(end).strip() if found.endswith(end) else page
    return found or page
