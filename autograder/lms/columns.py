"""Says which column of a roster has what: by its header, and by its content where the header is unknown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .headers import COLUMNS, OTHERS, OWN_IDS, cleaned, parts_of, plain

if TYPE_CHECKING:
    from ..intake.tables import Table

KEYS = ("email", "login", "number", "id", "lms_user_id")  # the columns that say who a student is
NAMES = ("first_name", "last_name", "name")
MOST = 0.8  # of a column's cells must be of a kind, and differ, since some rows are about the class
TITLES = 10  # rows at the top that may be above the header
AN_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\W\d_]{2,}")
A_NUMBER = re.compile(r"(?=(?:\D*\d){4})[\w/-]{4,20}")  # at least four digits: fewer are points
A_NAME = re.compile(r"[^\W\d_][^\d@_]{0,80}")
POINTS = re.compile(r"\d{0,3}(?:[.,]\d+)?\s*%?|-")
MISSING = ("nan", "NaN")  # what pandas writes beside them
WHOLE_NUMBER = re.compile(
    r"(\d+)\.0+"
)  # as a spreadsheet or pandas writes a number that was read as one with a fraction


@dataclass
class Columns:
    """The index of each column by the keys of COLUMNS, as far as the table has it.

    `guessed` has those that are known by their content alone.
    """

    path: Path
    header: Sequence[str]
    at: dict[str, int] = field(default_factory=dict)
    guessed: list[str] = field(default_factory=list)

    def value(self, row: Sequence[str], key: str) -> str:
        """What a row has in a column, or ""."""
        return cleaned(row[self.at[key]]) if key in self.at else ""

    def guess(self, **found: int | None) -> None:
        """Add columns that are known by their content alone."""
        for key, index in found.items():
            if index is not None:
                self.at[key] = index
                self.guessed.append(key)

    def has(self, *keys: str) -> bool:
        return any(key in self.at for key in keys)

    def shown(self, index: int) -> str:
        """What to call a column in a sentence."""
        return repr(cleaned(self.header[index])) if cleaned(self.header[index]) else f"number {index + 1}"

    def unused(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """What to call the columns that are not used, though they have more than points."""
        others = sorted(set(range(len(self.header))) - set(self.at.values()))
        return [self.shown(i) for i in others if not all(map(POINTS.fullmatch, _column(rows, i)))]


def with_header(table: Table) -> Table:
    """The table from the row with its header on, below a title."""
    for place, row in enumerate([table.header, *table.rows[:TITLES]]):
        if len(_by_header(table.path, row).at) > (0 if not place else 1):
            numbers = [number for number, _ in table.numbered()]
            return replace(table, header=list(row), rows=table.rows[place:], numbers=numbers[place:])
    return table


def columns_of(table: Table, without: Collection[str] = (), given: Mapping[str, int | None] | None = None) -> Columns:
    """The columns of a table, `without` some, and with those that are `given`. Raises UsageError."""
    if any(AN_ADDRESS.fullmatch(cleaned(cell)) for cell in table.header):
        raise UsageError(f"{table.path}: its first row is a student's: add a row above it that names the columns.")
    columns = _by_header(table.path, table.header, without)
    columns.at |= {key: index for key, index in (given or {}).items() if index is not None}
    _by_content(columns, [row for row in table.rows if any(map(cleaned, row))])
    if not columns.has("id", "number", "login", "name", "last_name", "email"):
        raise UsageError(
            f"{table.path} is not a roster: it has none of the columns id, first_name and last_name, email, nor those"
            " of Moodle's, Canvas's or Gradescope's exports."
        )
    return columns


def whole_numbers(values: Sequence[str]) -> list[str]:
    """The values of a column without the `.0` that has come to whole numbers, if no other fraction is in it."""
    fractions = [value for value in values if re.match(r"\d+\.\d", value)]
    if not fractions or not all(map(WHOLE_NUMBER.fullmatch, fractions)):
        return list(values)
    made = [found[1] if (found := WHOLE_NUMBER.fullmatch(value)) else value for value in values]
    return ["" if value in MISSING else value for value in made]


def _by_header(path: Path, header: Sequence[str], without: Collection[str] = ()) -> Columns:
    """The columns with known headers. Raises UsageError if there are two with one."""
    columns = Columns(path, header)
    spelt = [plain(name) for name in header]
    own = [cleaned(name).casefold() for name in header]
    if "id" not in without and (found := [own.index(name) for name in OWN_IDS if name in own]):
        columns.at["id"] = found[0]
    used = set(columns.at.values())
    for key, names in COLUMNS.items():
        if key in without:
            continue
        for name in names:
            hits = [i for i, one in enumerate(spelt) if one == name and own[i] not in OWN_IDS]
            if len(hits) > 1:
                raise UsageError(f"{path} has two columns {cleaned(header[hits[0]])!r}: keep only the right one.")
            if hits:
                columns.at[key] = hits[0]
                used.add(hits[0])
                break
    for key, names in COLUMNS.items():
        if key not in columns.at and key not in without:
            hits = [i for name in names for i, one in enumerate(header) if i not in used and name in parts_of(one)]
            if hits and not OTHERS.search(spelt[hits[0]]):
                columns.at[key] = hits[0]
                used.add(hits[0])
    return columns


def _by_content(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Add the columns of addresses, numbers and names that have unknown headers."""
    used = set(columns.at.values())
    unknown = [i for i, name in enumerate(columns.header) if i not in used and not OTHERS.search(plain(name))]
    if not columns.has("email"):
        columns.guess(email=_filled_most({i: cells for i in unknown if _are(AN_ADDRESS, cells := _column(rows, i))}))
    if not columns.has(*KEYS):
        numbers = [i for i in unknown if _are(A_NUMBER, _column(rows, i), MOST * len(rows))]
        columns.guess(number=numbers[0] if len(numbers) == 1 else None)
    if columns.has(*NAMES) or not columns.has(*KEYS):
        return
    rows = [row for row in rows if any(columns.value(row, key) for key in KEYS)]  # the others are about the class
    left = {i: _column(rows, i) for i in unknown if i not in columns.at.values()}
    names = [i for i, cells in left.items() if _are(A_NAME, cells, len(rows) / 2)]
    whole = [i for i in names if sum(map(_is_whole, left[i])) >= MOST * len(left[i])]
    if len(names) == 2 and not whole:
        columns.guess(first_name=names[0], last_name=names[1])
    elif whole:  # one word in each row may be a town
        columns.guess(name=whole[0])


def _filled_most(columns: Mapping[int, Sequence[str]]) -> int | None:
    """The column with the most cells that are filled, the first of several; None of none."""
    return max(columns, key=lambda i: (len(columns[i]), -i), default=None)


def _column(rows: Sequence[Sequence[str]], index: int) -> list[str]:
    """What is in a column, without empty cells."""
    return [cell for row in rows if (cell := cleaned(row[index]))]


def _are(kind: re.Pattern[str], cells: Sequence[str], least: float = 1) -> bool:
    """Whether these are at least so many cells, mostly of a kind, and mostly different."""
    fitting = {cell.casefold() for cell in cells if kind.fullmatch(cell)}
    return len(cells) >= max(least, 1) and len(fitting) >= MOST * len(cells)


def _is_whole(name: str) -> bool:
    """Whether a name seems to be first and last name: of several words, or in a script that has no blanks."""
    return len(name.split()) > 1 or any(unicodedata.east_asian_width(c) == "W" for c in name)
