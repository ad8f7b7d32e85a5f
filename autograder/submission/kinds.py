"""Says what a file is by its content, whatever it is called: what holds a notebook, and what else people hand in.

Only the beginning and the end of a file are looked at, so it costs the same for any size.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from .. import course
from . import scripts

LOOK = 2**16  # bytes at each end of a file that are looked at
SHORT = 2_000  # characters of a text that is a link with a few words around it, at the most
# what browsers and people put behind a notebook's name: `x.ipynb.txt`, `x.ipynb.json`, `x.json`, `x`, `x.ipynb `
ENDINGS = (".ipynb", ".json", ".txt", ".py", "")
BOMS = (  # the longer ones first: one begins like another
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
NOTEBOOK = re.compile(r'"(?:cells|worksheets|nbformat|content)"\s*:')
BEHIND = b"\0\x1a\r\n\t "  # behind a whole notebook: blanks, or what a copy that broke off was filled up with


class Kind(NamedTuple):
    """A kind of file that is no notebook: what it is, how it begins, and what to do instead."""

    what: str
    begins: re.Pattern[bytes]
    do: str

    @property
    def is_python(self) -> bool:
        return self.what == PYTHON

    @property
    def sentence(self) -> str:
        return f"It is {self.what}, not the notebook: {self.do}."


def _kind(what: str, begins: bytes, do: str) -> Kind:
    return Kind(what, re.compile(begins, re.DOTALL | re.IGNORECASE), do)


PYTHON = "a program in Python without cells"
ITSELF = "hand in the notebook itself, the file that ends in .ipynb"
UNPACK = "unpack it, and hand in the notebook that is in it"
IN_COLAB = "File > Download > Download .ipynb"
DOWNLOAD = (
    f"download the notebook itself (in Colab: {IN_COLAB}; on GitHub: “Download raw file”), and hand in the file that"
    " ends in .ipynb"
)
PAGE = rb"(?:<!--.*?-->\s*+|<\?xml[^>]*>\s*+)?<(?:!doctype html|html|head|body)\b"
SIGN_IN = rb"""(?:type=["']?password\b|<title>[^<]*(?:\b(?:sign|log)[ -]?(?:in|on)\b|\banmeld|\bconnexion\b|\bSSO\b))"""

# The first that fits counts.
KINDS = (
    _kind(
        "what Git LFS leaves in its place",
        rb"version https://git-lfs\.github\.com/spec/",
        "let Git keep the notebook itself (`git lfs untrack`), and hand it in again",
    ),
    _kind(
        "a sign-in page",
        PAGE + rb".*" + SIGN_IN,
        "sign in first, then download the notebook, and hand in that file",
    ),
    _kind("a web page", PAGE + rb"|From: <Saved by |From:[^\n]*\n(?:[^\n]+\n)*?MIME-Version:", DOWNLOAD),
    _kind("a PDF", rb"%PDF-", ITSELF),
    _kind("an Excel file", rb"PK\x03\x04.*xl/(?:workbook|worksheets|styles|theme|_rels)", ITSELF),
    _kind("a Word file", rb"PK\x03\x04.*word/(?:document|styles|settings|theme|_rels)", ITSELF),
    _kind("a PowerPoint file", rb"PK\x03\x04.*ppt/(?:presentation|slides|theme|_rels)", ITSELF),
    _kind("an OpenDocument file", rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", ITSELF),
    _kind("a zip archive", rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", UNPACK),
    _kind(
        "an archive",
        rb"\x1f\x8b|7z\xbc\xaf\x27\x1c|Rar!|\xfd7zXZ|BZh\d1AY|\x28\xb5\x2f\xfd|\x1f\x9d|.{257}ustar",
        UNPACK,
    ),
    _kind("an old Word or Excel file", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ITSELF),
    _kind("a text document (RTF)", rb"\{\\rtf", ITSELF),
    _kind(
        "a picture",
        rb"\x89PNG|\xff\xd8\xff|GIF8[79]a|RIFF.{4}WEBP|.{4}ftyp(?:heic|heix|mif1|avif)|II\*\0|MM\0\*|BM.{4}\0{4}"
        rb"|(?:<\?xml[^>]*>\s*+)?(?:<!--.*?-->\s*+)?<svg\b",
        ITSELF,
    ),
    _kind("a video", rb".{4}ftyp|\x1aE\xdf\xa3", ITSELF),
    _kind("a LaTeX document", rb"(?:%[^\n]*\n|\s)*+\\(?:documentclass|begin|input)\b", ITSELF),
    _kind(
        "a link",
        rb"<\?xml.*?>\s*+<!DOCTYPE plist.*?<key>URL</key>|\[(?:InternetShortcut|Desktop Entry)\]",
        DOWNLOAD,
    ),
    _kind("a link to Google Drive", rb'\{"(?:url|doc_id)"\s*:\s*"', DOWNLOAD),
    _kind(
        PYTHON,
        rb"(?:[^\n]*\n){0,200}?(?:import \w|from [\w.]+ import\b|def \w+\(|class \w+\s*[(:])",
        f"{ITSELF} (a script is taken if a notebook was exported to it: `# %%` begins a cell)",
    ),
    _kind("a Markdown document", rb"(?:---\s*\n.*?\n---\s*\n|#{1,6} )", ITSELF),
)
COLAB_LINK = f"It is a link to Colab, not the notebook: open it, choose {IN_COLAB}, and hand in that file."
LINK = f"It is a link, not the notebook: {DOWNLOAD}."
TEXT = f"It is not a notebook, but other text: {ITSELF}."
NOT_UTF_8 = "It is not UTF-8 text, so it is not a notebook: open it in a text editor, save it in UTF-8, and hand it in."
NOT_TEXT = f"It is not UTF-8 text, so it is not a notebook: {ITSELF}."
UNKNOWN = f"It is not a notebook, and no text at all: {ITSELF}."
EMPTY = "The file is empty: save the notebook, then hand it in again."


def as_utf8(data: bytes) -> bytes:
    """A text in UTF-8, without the mark that says in what it was, and without what is behind it. Raises ValueError."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            data = data[len(mark) :]
            if encoding != "utf-8":
                data = data[: len(data) // 2 * 2].decode(encoding).encode("utf-8", "surrogatepass")
            break
    return data.rstrip(BEHIND)


def is_json(data: bytes) -> bool:
    """Whether a text in UTF-8 begins as JSON of more than a word does."""
    return data[:LOOK].lstrip()[:1] in (b"{", b"[")


def may_be_one(start: bytes) -> bool:
    """Whether a file may hold a notebook, or a script that one was exported to, by its first LOOK bytes."""
    try:
        text = as_utf8(start[: LOOK // 4 * 4]).decode("utf-8", "ignore")
    except ValueError:
        return False
    if text.lstrip()[:1] == "{":
        return NOTEBOOK.search(text) is not None
    return scripts.is_one(text)


def is_plain_text(data: bytes) -> bool:
    """Whether a text in UTF-8 is none of the kinds that are known, but for a program in Python."""
    look = _look(data)
    kind = _kind_of(look)
    return b"\0" not in look and (kind is None or kind.is_python)


def broken_json(data: bytes, line: int | None) -> str:
    """A sentence on what begins as JSON and is none; `line` is where that shows."""
    if _kind_of(_look(data)) or course.conflict_in(data):
        return refusal(data)
    place = f", line {line}" if line else ""
    return f"It is not a notebook: its text is not JSON{place}. Download it again and hand it in."


def refusal_of_json(data: bytes) -> str:
    """A sentence on JSON that is no notebook."""
    kind = _kind_of(_look(data))
    return kind.sentence if kind else f"It is not a notebook: it has no list of cells. Please {ITSELF}."


def refusal(data: bytes) -> str:
    """A sentence on a file that is no notebook: what it is, and what to do."""
    look = _look(data)
    if not look.strip(BEHIND):
        return EMPTY
    if line := course.conflict_in(data):
        return (
            f"It is not a notebook: line {line} is the mark of a merge conflict"
            " (<<<<<<<). Keep one of the two versions and hand it in again."
        )
    if len(data) <= SHORT and (found := re.search(rb"https?://[^\s<>\"]+", data)):
        if b"colab.research.google.com" in found[0]:
            return COLAB_LINK
        if re.fullmatch(rb"\s*<?https?://[^\s<>\"]+>?\s*", data):
            return LINK
    if kind := _kind_of(look):
        return kind.sentence
    return UNKNOWN if b"\0" in look else TEXT


def _look(data: bytes) -> bytes:
    """The beginning and the end of a file, without a mark and blanks before it."""
    look = data[:LOOK] + data[max(LOOK, len(data) - LOOK) :]
    return look.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n")


def _kind_of(look: bytes) -> Kind | None:
    return next((kind for kind in KINDS if kind.begins.match(look)), None)
