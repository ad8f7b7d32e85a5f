"""Sorts, searches and filters the students of a class, as the address of the page says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .overview import Overview, Row

NAME, POINTS, ATTEMPTS, LATEST = "name", "points", "attempts", "latest"
DOWN = "-"  # before a column: the largest first
LONGEST = 100  # characters of what is searched for
SHOWS = {
    "": "all students",
    "stuck": "who is stuck",
    "mistakes": "whose latest answer is wrong",
    "right": "who has all exercises right",
    "waiting": "whose attempts wait",
    "absent": "who has not begun",
    "excused": "who is excused",
}


@dataclass(frozen=True)
class Choice:
    """What a visitor wants to see: the column to sort by, a text to search for in names and ids, one of SHOWS."""

    sort: str = NAME
    search: str = ""
    show: str = ""

    @property
    def column(self) -> str:
        return self.sort.removeprefix(DOWN)

    @property
    def is_down(self) -> bool:
        return self.sort.startswith(DOWN)

    def turned(self, column: str) -> dict[str, str]:
        """The query that sorts by a column, the other way round if it is sorted by it already."""
        is_first_down = column in (ATTEMPTS, LATEST)
        down = not self.is_down if column == self.column else is_first_down
        return {**self.kept, "sort": f"{DOWN if down else ''}{column}"}

    @property
    def kept(self) -> dict[str, str]:
        """The query without the order."""
        return {"q": self.search, "show": self.show}

    def direction(self, column: str) -> str:
        """The value of aria-sort."""
        return "none" if column != self.column else "descending" if self.is_down else "ascending"


def choice_of(query: Mapping[str, str], exercises: Sequence[str]) -> Choice:
    """The Choice of a query; what is not understood is as if it was not there."""
    sort, show = query.get("sort", NAME), query.get("show", "")
    known = {NAME, POINTS, ATTEMPTS, LATEST, *exercises}
    return Choice(
        sort if sort.removeprefix(DOWN) in known else NAME,
        query.get("q", "").strip()[:LONGEST],
        show if show in SHOWS else "",
    )


def chosen(found: Overview, exercises: Sequence[str], choice: Choice) -> list[Row]:
    """The rows of a class that are wanted, in the order that is wanted. Who has not begun is at the end."""
    stuck, wanted = {one.student for one in found.stuck}, choice.search.casefold()
    rows = [
        row
        for row in found.rows
        if _is_shown(row, choice.show, stuck) and (wanted in row.name.casefold() or wanted in row.student.casefold())
    ]
    rows.sort(key=lambda row: (row.name.casefold(), row.student))
    value = _value_of(choice.column, exercises)
    there = [row for row in rows if value(row) is not None]
    there.sort(key=value, reverse=choice.is_down)
    return there + [row for row in rows if value(row) is None]


def _is_shown(row: Row, show: str, stuck: set[str]) -> bool:
    answers = [square.answer for square in row.squares]
    return {
        "": True,
        "stuck": row.student in stuck,
        "mistakes": any(answer is not None and not answer.is_right for answer in answers),
        "right": all(answer is not None and answer.is_right for answer in answers),
        "waiting": row.waiting > 0,
        "absent": not row.attempts and not row.is_excused,
        "excused": row.is_excused,
    }[show]


def _value_of(column: str, exercises: Sequence[str]) -> Callable[[Row], Any]:
    """What rows are sorted by; None for those that have no such thing."""
    if column == NAME:
        return lambda row: row.name.casefold()
    if column == ATTEMPTS:
        return lambda row: row.attempts or None
    if column == LATEST:
        return lambda row: row.latest
    if column == POINTS:
        return lambda row: row.score if row.attempts else None
    place = exercises.index(column)

    def score(row: Row) -> float | None:
        answer = row.squares[place].answer
        return answer.score if answer else None

    return score
