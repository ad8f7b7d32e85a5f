"""Opens the doors that the configuration of a course names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nbgrader.api import Student as Row
from sqlalchemy import select
from starlette.requests import Request

from ...errors import CourseError, UsageError
from ...grading.store import Store
from ...intake.people import FIELDS, Roster, Student
from ..keys import Keys
from ..logs import Log
from ..record import Record
from ..sessions import Sessions
from ..visitors import Door, Refused, Visitor
from . import links
from .links import LinkDoor
from .people import EMAIL as BY_EMAIL
from .people import People
from .personal import KeyDoor

if TYPE_CHECKING:
    from ..gradebook_reader import GradebookReader
    from .lti import LtiDoor

EXAMPLE = "https://desk.example.org/"
SECRET = "sessions"
ANYWHERE = ("0.0.0.0", "::", "")  # no address that somebody could open


@dataclass(frozen=True)
class Where:
    """Where the desk is for its visitors: `origin` such as https://desk.example.org ("" if it is not known), and the
    path `base` below it, with a slash at both ends.
    """

    origin: str
    base: str

    @property
    def url(self) -> str:
        return self.origin + self.base


def where(config: Mapping[str, Any], host: str, port: int) -> Where:
    """Where the desk is: by c.Desk.address, or the Hub that has started it, or on this machine. Raises CourseError."""
    given = config.get("Desk", {}).get("address", "") or os.environ.get("JUPYTERHUB_PUBLIC_URL", "")
    if given:
        parts = urlsplit(given) if isinstance(given, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise CourseError(f"c.Desk.address in nbgrader_config.py is {given!r}, and should be like {EXAMPLE}.")
        return Where(f"{parts.scheme}://{parts.netloc}", f"{parts.path.rstrip('/')}/")
    if prefix := os.environ.get("JUPYTERHUB_SERVICE_PREFIX"):
        return Where("", f"/{prefix.strip('/')}/")
    name = f"[{host}]" if ":" in host else host
    return Where("" if host in ANYWHERE else f"http://{name}:{port}", "/")


@dataclass
class Opened:
    """The doors of a desk in the order in which they are asked, and what they have in common."""

    where: Where
    sessions: Sessions
    keys: Keys
    people: People
    doors: list[Door] = field(default_factory=list)
    lti: LtiDoor | None = None

    async def who(self, request: Request) -> Visitor:
        """Who a request comes from. Raises Refused."""
        for door in self.doors:
            if (visitor := await door.visitor(request)) is not None:
                return visitor
        raise Refused("Log in first: nobody knows who this request comes from.", 401)


def open_doors(
    config: Mapping[str, Any], record: Record, read: Callable[[], Roster], everybody: bool, place: Where
) -> Opened:
    """Personal links and keys, and JupyterHub and learning platforms where they are set. Raises CourseError."""
    given, log = config.get("Desk", {}), Log(__name__)
    registered = _platforms(given.get("lti", []))
    frames = sorted({platform.origin for platform in registered if platform.in_frame})
    sessions = Sessions(record.secret(SECRET).hex(), place.base, place.origin, frames)
    keys, people = Keys(record), People(record, read, everybody)
    opened = Opened(place, sessions, keys, people)
    opened.doors += [KeyDoor(sessions, keys, people, opened.who), LinkDoor(sessions, keys, people)]
    if registered:
        if not place.origin:
            raise CourseError(
                "c.Desk.lti in nbgrader_config.py needs c.Desk.address, too: the desk's address for platforms."
            )
        from .lti import LtiDoor

        opened.lti = LtiDoor(sessions, record, people, registered)
        opened.doors.append(opened.lti)
        if len({one.namespace for one in registered if one.student != BY_EMAIL}) > 1:
            log.warning(
                "c.Desk.lti has platforms with ids of their own: the roster's lms_user_id are taken for those of %s. If"
                ' they are another\'s, give that one "numbers": True.',
                opened.lti.numbered[0].issuer,
            )
    if "hub" in given or os.environ.get("JUPYTERHUB_API_TOKEN"):
        from .hub import HubDoor, hub_settings, is_there

        settings = hub_settings(given.get("hub", {}))
        if not is_there():
            raise UsageError(
                "c.Desk.hub is set, but no JupyterHub is there: start the desk as its service, see docs/desk_hub.md."
            )
        opened.doors.append(HubDoor(sessions, people, settings))
    if shared := people.separate():
        log.warning(
            "Accounts of several places were taken for one person until now, and no longer are: %s. See docs/desk.md.",
            ", ".join(sorted(shared)),
        )
    if not sessions.is_secure and not _is_local(place):
        log.warning(
            "The desk is not reached by https:// as far as it knows: set c.Desk.address, or others can listen in."
        )
    return opened


def for_instructor(opened: Opened, port: int) -> str:
    """The address with which an instructor comes in: a personal link, unless JupyterHub has the door."""
    if any(door.name == "hub" for door in opened.doors):
        return opened.where.url
    return links.for_instructor(opened.keys, opened.where.url if opened.where.origin else f"http://127.0.0.1:{port}/")


def roster_of(book: GradebookReader) -> Roster:
    """The roster of the gradebook, with what doors may be told of a student."""
    if not book.is_there:
        return Roster([])
    with book.engine.connect() as connection:
        rows = connection.execute(select(Row.id, *(getattr(Row, name) for name in FIELDS))).all()
    students = [Student(*(value or "" for value in row)) for row in rows]
    return Roster(students, Store(book.root).dropped())


def _platforms(given: object) -> Sequence[Any]:
    if not given:
        return []
    from .lti_settings import platforms

    return platforms(given)


def _is_local(place: Where) -> bool:
    return urlsplit(place.origin).hostname in ("127.0.0.1", "localhost", "::1")
