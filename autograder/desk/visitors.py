"""Who a request comes from, and what a door must offer that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..errors import UserError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

STUDENT, INSTRUCTOR = ROLES = ("student", "instructor")


@dataclass(frozen=True)
class Visitor:
    """Who a request comes from, as an authority says, never as a person types.

    `subject` is the id that the `door` ("links", "hub", "lti", "me") has for the person, `student` the id in the course
    ("" for who is none); `name` is for display only; `role` is one of ROLES.
    """

    door: str
    subject: str
    student: str
    name: str
    role: str


class Refused(UserError):
    """A request is refused; the message is one sentence for the person, `status` the HTTP status.

    `again` is the number of seconds after which it may be tried again, where time alone helps.
    """

    def __init__(self, message: str, status: int, again: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.again = again


class Door(Protocol):
    """A way in: it tells who a request comes from."""

    @property
    def name(self) -> str:
        """The door's name, as `Visitor.door` has it."""
        ...

    def routes(self) -> Sequence[BaseRoute]:
        """Starlette routes below the door's own prefix, such as /lti/launch."""
        ...

    async def visitor(self, request: Request) -> Visitor | None:
        """The Visitor, or None if the request says nothing to this door. Raises Refused."""
        ...

    def entrance(self) -> tuple[str, str] | None:
        """The label and the path of a login link for the front page, or None."""
        ...


class Guard(Protocol):
    """What protects browsers' posts against other sites; `sessions.py` makes one."""

    def token(self, request: Request) -> str:
        """The token that a form of this page must carry, in the field FORM_TOKEN; "" if none is needed."""
        ...

    def check(self, request: Request, token: str) -> None:
        """Raises Refused unless a post of a browser carries the token and comes from a page of the desk."""
        ...


FORM_TOKEN = "token"  # the hidden field of a form with the token of the Guard
