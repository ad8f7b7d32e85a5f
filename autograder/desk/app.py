"""The web application: who asks is found out by the doors, and all else by the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute

from .record import Record
from .settings import Settings
from .visitors import INSTRUCTOR, Door, Guard, Refused, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Desk:
    """What all requests share; `desk_of(request)` gives it.

    `base` is the path under which the desk is reached, such as "/" or "/services/desk/": it begins and ends with a
    slash. `settings` gives those of an assignment.
    """

    root: Path
    record: Record
    settings: Callable[[str], Settings]
    base: str = "/"
    doors: Sequence[Door] = ()
    guard: Guard | None = None
    extra: dict[str, object] = field(default_factory=dict)

    def path(self, *parts: str) -> str:
        """A path below the desk's base."""
        return self.base + "/".join(parts)


def make_app(desk: Desk, pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The application. `desk.doors` are asked in their order who a request comes from; `pages` are more routes, with
    paths below the desk's base, such as the instructor's.
    """
    raise NotImplementedError


def desk_of(request: Request) -> Desk:
    """The Desk that a request was made to."""
    return request.app.state.desk


async def visitor_of(request: Request, role: str | None = None) -> Visitor:
    """Who a request comes from, by the first door that knows.

    Raises Refused: 401 if no door knows, 403 if the role is another one than the one wanted.
    """
    for door in desk_of(request).doors:
        if (visitor := await door.visitor(request)) is not None:
            if role == INSTRUCTOR and visitor.role != INSTRUCTOR:
                raise Refused("This page is for instructors.", 403)
            return visitor
    raise Refused("Log in first: nobody knows who this request comes from.", 401)
