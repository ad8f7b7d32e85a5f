"""Finds the rows of a roster that are about the class, such as totals and averages: by their form, in any language.

A row without address, login and number is no student's where the others have one. Words of totals count where that
does not decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .columns import KEYS, NAMES
from .headers import TOTALS, WHOLE, plain

NO_NAME = re.compile(r"[\d.,:/%+\-\s]*")  # points or a date
LIKE_A_NUMBER = re.compile(r"(?=\D*\d)[^\s:=]+|[^@]*@.*")  # or an address in its place
LIKE_AN_ID = re.compile(r"[a-z._@+-]+|(?=.*\d)[\w.@+/#-]+")  # a login, or anything with a digit that has no other signs
LONGEST = 128  # characters of a cell that are looked at


def find(rows: Sequence[Mapping[str, str]], reasons: list[str]) -> None:
    """Put what they are into `reasons`, which has "" for each of the `rows` that may be a student."""
    are_numbers = {key: _are_numbers(rows, reasons, key) for key in KEYS}
    keys = [{key for key in KEYS if _says_who(row, key, are_numbers[key])} for row in rows]
    names = [_names(row) for row in rows]
    for place, row in enumerate(rows):
        is_alone = len(keys[place]) + len(names[place]) == 1
        if not reasons[place] and (not keys[place] or is_alone) and _has_words(row, names[place], keys[place], rows):
            reasons[place] = _shown(row)
    left = [place for place, reason in enumerate(reasons) if not reason]
    keyed = [place for place in left if keys[place]]
    others = [place for place in left if not keys[place]]
    if len(keyed) >= len(others):
        shapes = {frozenset(names[place]) for place in keyed}
        have_digits = any(_has_digit(names[place].values()) for place in keyed)
        for place in others:
            is_unlike = frozenset(names[place]) not in shapes or _has_digit(names[place].values()) > have_digits
            is_outside = place < keyed[0] or place > keyed[-1] if keyed else False
            if is_unlike or is_outside or len(others) == 1:
                reasons[place] = f"{_shown(rows[place])}: no address, login or number, which the others have"
    nameless = [place for place in keyed if not names[place]]
    if len(nameless) == 1 < len(keyed):
        place = nameless[0]
        if _is_a_word_for_an_id(rows[place], keys[place]):
            reasons[place] = f"{_shown(rows[place])}: no name, which the others have"


def _says_who(row: Mapping[str, str], key: str, is_numeric: bool) -> bool:
    """Whether a row has something in a column that says who a student is: a number, where the others have one."""
    if key == "email":
        return "@" in row[key]
    return bool(LIKE_A_NUMBER.fullmatch(row[key][:LONGEST]) if is_numeric else row[key])


def _are_numbers(rows: Sequence[Mapping[str, str]], reasons: Sequence[str], key: str) -> bool:
    """Whether most cells of a column are numbers."""
    left = [row for row, reason in zip(rows, reasons, strict=True) if row[key] and not reason]
    fitting = [row for row in left if LIKE_A_NUMBER.fullmatch(row[key][:LONGEST])]
    return len(fitting) * 2 > len(left)


def _names(row: Mapping[str, str]) -> dict[str, str]:
    """The cells of a row that may be a name, by column."""
    return {key: row[key][:LONGEST] for key in NAMES if row[key] and not NO_NAME.fullmatch(row[key][:LONGEST])}


def _has_words(
    row: Mapping[str, str], names: Mapping[str, str], keys: set[str], rows: Sequence[Mapping[str, str]]
) -> bool:
    """Whether a row has words of totals; in a column for ids, only beside other rows."""
    cells = [*names.values(), *(row[key][:LONGEST] for key in KEYS if row[key] and len(rows) > 1)]
    if any("@" in row[key] or (key in keys and _has_digit([row[key]])) for key in KEYS):
        return False
    whole = len(cells) == 1 and plain(cells[0]) in WHOLE and not keys
    return whole or any(TOTALS.search(cell.casefold()) for cell in cells)


def _is_a_word_for_an_id(row: Mapping[str, str], keys: set[str]) -> bool:
    """Whether a row without a name says who it is about by one cell alone, which looks like no id."""
    cell = row[next(iter(keys))]
    return len(keys) == 1 and "email" not in keys and not LIKE_AN_ID.fullmatch(cell[:LONGEST])


def _has_digit(cells: Iterable[str]) -> bool:
    return any(c.isdigit() for cell in cells for c in cell)


def _shown(row: Mapping[str, str]) -> str:
    """What to call a row: what it says where a student has a name, or an id."""
    return " ".join(row[key] for key in ("first_name", "last_name", "name", *KEYS) if row[key])[:LONGEST]
