"""Where the instructor's pages of an assignment are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from .desk import Desk


@dataclass(frozen=True)
class Addresses:
    """The paths of an assignment's pages, at this desk; what is "" or None is left out of a query."""

    desk: Desk
    assignment: str

    def _path(self, *parts: str, part: str = "", **query: Any) -> str:
        given = {name: str(value) for name, value in query.items() if value not in ("", None)}
        asked = f"?{urlencode(given, quote_via=quote, errors='replace')}" if given else ""
        path = self.desk.path(
            "instructor", *(quote(one, safe="", errors="replace") for one in (self.assignment, *parts))
        )
        return path + asked + (f"#{quote(part)}" if part else "")

    def of_class(self, part: str = "", **query: Any) -> str:
        """The assignment's own page; `part` is an id on it."""
        return self._path(part=part, **query)

    def student(self, student: str, page: int | None = None) -> str:
        """A student with all attempts."""
        return self._path("student", id=student, page=page)

    def attempt(self, attempt: str, exercise: str = "") -> str:
        """An attempt with its code, at one of its exercises."""
        return self._path("attempt", attempt, part=exercise)

    def attempts(self, since: int, until: int, page: int | None = None) -> str:
        """The attempts of some time, in seconds since 1970."""
        return self._path("attempts", since=since, until=until, page=page)

    def mistake(self, exercise: str, id: str) -> str:
        """A mistake, with those who have it."""
        return self._path("mistake", exercise=exercise, id=id)

    def exercise(self, exercise: str, part: str = "", **query: Any) -> str:
        """An exercise of the class."""
        return self._path("exercise", exercise, part=part, **query)

    def download(self, id: str = "") -> str:
        """A download of a platform, or where one is dropped."""
        return self._path("download", *filter(None, [id]))
