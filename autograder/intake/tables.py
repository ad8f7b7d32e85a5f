"""Reads the tables that other systems export, within limits: CSV with any usual separator and encoding."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Unreadable, UsageError
from ..submission import read
from . import encodings

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TABLE = 16 * 2**20  # bytes
MAX_ROWS = 100_000
LOOK = 2**16  # bytes at the beginning that say what a file is
SEPARATORS = ",;\t|"
SAYS = re.compile(r'"?sep=(?P<separator>[,;\t|])"?[,;\t|]*', re.IGNORECASE)  # Excel's first line
AS_CSV = "save it as “CSV UTF-8”"
# what people give for a table, by how it begins, and what to do with it
OTHERS = (
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", "an OpenDocument file", AS_CSV),
    (rb"PK\x03\x04(?=.*(?:xl/|\[Content_Types\]))", "an Excel file", AS_CSV),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file", AS_CSV),
    (rb"\s*<\?xml.{0,300}(?:mso-application|office:spreadsheet)", "an Excel file", AS_CSV),
    (
        rb"\s*<(?:!doctype html|html|head|body|table|\?xml)\b",
        "a web page",
        "open it in a spreadsheet, and save it as “CSV UTF-8”",
    ),
    (rb"%PDF-", "a PDF", "export the table as CSV"),
    (rb"\{\\rtf", "a text document (RTF)", AS_CSV),
)
SPLIT = "quote the cell that has a separator in it, and double each quote in it"


@dataclass
class Table:
    """A table with a header. `rows` are as long as the header.

    `numbers` are those that a spreadsheet shows of the rows; `guessed` is the encoding, if only its words say which,
    and `examples` are some of them.
    """

    path: Path
    header: list[str]
    rows: list[list[str]]
    numbers: list[int] = field(default_factory=list)
    guessed: str = ""
    examples: str = ""

    def index(self, *names: str) -> int | None:
        """The index of the first of these columns that the table has, whatever their case; None if it has none.

        Raises UsageError if it has that column twice: one of them may be a student's own text.
        """
        lower = [name.casefold() for name in self.header]
        found = next((name.casefold() for name in names if name.casefold() in lower), None)
        if found is None:
            return None
        if lower.count(found) > 1:
            raise UsageError(
                f"{self.path} has two columns {self.header[lower.index(found)]!r}: keep only the right one."
            )
        return lower.index(found)

    def has(self, *names: str) -> bool:
        """Whether the table has all of these columns."""
        lower = {name.casefold() for name in self.header}
        return all(name.casefold() in lower for name in names)

    def value(self, row: list[str], *names: str) -> str:
        """What a row has in the first of these columns that the table has, or ""."""
        index = self.index(*names)
        return "" if index is None else row[index].strip()

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.rows)

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """The rows, each with the number that a spreadsheet shows of it."""
        return zip(self.numbers or range(2, len(self.rows) + 2), self.rows, strict=True)


def read_table(path: read.StrPath, encoding: str | None = None) -> Table:
    """The table in a CSV file, in `encoding` or in that which it must be in. Raises UsageError."""
    try:
        data = read.read_bytes(path, most=MAX_TABLE)
    except Unreadable as problem:
        raise UsageError(f"{path}: {problem}") from None
    if other := _other_kind(data, Path(path)):
        raise UsageError(f"{path} is {other}.")
    found = encodings.decoded(data, str(path), encoding)
    text = found.text.replace("\ufeff", "").replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    first, _, rest = text.partition("\n")
    said = SAYS.fullmatch(first.strip(" "))
    text, before = (rest, 1) if said else (text, 0)
    try:
        separator = said["separator"] if said else _separator(first)
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(number, row) for number, row in enumerate(lines, start=1 + before) if any(map(str.strip, row))]
    except csv.Error as problem:
        raise UsageError(f"{path} is not a table: save it as CSV ({problem}).") from None
    if not rows or len(rows) > MAX_ROWS:
        raise UsageError(f"{path} is not a table with a header and at most {MAX_ROWS} rows.")
    header = [" ".join(name.split()) for name in rows[0][1]]
    width = len(header)
    for number, row in rows:
        if any(row[width:]):
            raise UsageError(
                f"{path}, row {number}: it has more cells than the header, so a cell was cut in two: {SPLIT}."
            )
    full = [[*row, *[""] * (width - len(row))][:width] for _, row in rows[1:]]
    return Table(Path(path), header, full, [number for number, _ in rows[1:]], found.guessed, found.examples)


def _separator(first: str) -> str:
    """The separator of a table, by its first line."""
    return max(SEPARATORS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))


def _other_kind(data: bytes, path: Path) -> str:
    """What a file is that is no table of text, and what to do with it, or ""."""
    if data.startswith(b"PK\x03\x04") and path.suffix.casefold() in (".xlsx", ".xlsm", ".xltx", ".xlsb"):
        return f"an Excel file: {AS_CSV}, and give that file"
    for begins, what, do in OTHERS:
        if re.match(begins, data[:LOOK], re.DOTALL | re.IGNORECASE):
            return f"{what}: {do}, and give that file"
    return "a zip archive: unpack it, and give the table in it" if data.startswith(b"PK\x03\x04") else ""


def is_canvas_student(id: str, where: str) -> bool:
    """Whether an ID in Canvas's table is a student's; the rows above the students have none. Raises UsageError."""
    if id.strip() and not re.fullmatch(r"[0-9]+", id.strip()):
        raise UsageError(
            f"{where}: {id.strip()[:40]!r} is not a Canvas ID; if a spreadsheet has changed it, download the table"
            " again."
        )
    return bool(id.strip())
