"""Reads the tables that other systems export, within limits: CSV with any usual separator and encoding."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Unreadable, UsageError
from ..submission import read

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TABLE = 16 * 2**20  # bytes
MAX_ROWS = 100_000
SEPARATORS = ",;\t"
SPLIT = "quote the cell that has a separator in it, and double each quote in it"


@dataclass
class Table:
    """A table with a header. `rows` are as long as the header."""

    path: Path
    header: list[str]
    rows: list[list[str]]

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


def read_table(path: read.StrPath) -> Table:
    """The table in a CSV file. Raises UsageError."""
    try:
        text = _text(read.read_bytes(path, most=MAX_TABLE)).replace("\r\n", "\n").replace("\r", "\n")
    except Unreadable as problem:
        raise UsageError(f"{path}: {problem}") from None
    first = text.split("\n", 1)[0]
    try:
        separator = max(SEPARATORS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if any(row)]
    except csv.Error as problem:
        raise UsageError(f"{path} is not a table: save it as CSV ({problem}).") from None
    if not rows or len(rows) > MAX_ROWS:
        raise UsageError(f"{path} is not a table with a header and at most {MAX_ROWS} rows.")
    header = [" ".join(name.replace("\ufeff", "").split()) for name in rows[0]]
    width = len(header)
    for number, row in enumerate(rows, start=1):
        if any(row[width:]):
            raise UsageError(
                f"{path}, row {number}: it has more cells than the header, so a cell was cut in two: {SPLIT}."
            )
    return Table(Path(path), header, [[*row, *[""] * (width - len(row))][:width] for row in rows[1:]])


def is_canvas_student(id: str, where: str) -> bool:
    """Whether an ID in Canvas's table is a student's; the rows above the students have none. Raises UsageError."""
    if id.strip() and not re.fullmatch(r"[0-9]+", id.strip()):
        raise UsageError(
            f"{where}: {id.strip()[:40]!r} is not a Canvas ID; if a spreadsheet has changed it, download the table"
            " again."
        )
    return bool(id.strip())


def _text(data: bytes) -> str:
    """The text of a table, which spreadsheets save in one of three encodings."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").replace("\0", "")
    try:
        return data.decode("utf-8-sig").replace("\0", "")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\0", "")
