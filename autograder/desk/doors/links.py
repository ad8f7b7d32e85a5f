"""Personal links: for a small course, by mail. Whoever has the link is the student; an instructor gets one, too.

Opening a link asks once whether to go on as that person: a link in some other page, or a mail program that opens all
links, must not log anybody in.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ...errors import UsageError
from ...nbgrader.exporting import line
from ..keys import LINK, PERSONAL, Held, Keys
from ..sessions import ELSEWHERE, Session, Sessions
from ..visitors import FORM_TOKEN, INSTRUCTOR, STUDENT, Refused, Visitor
from .pages import form, page
from .people import People

NAME = "links"
DAY = 24 * 3600.0
LASTS = 200 * DAY  # a link: a term, and a little more
SESSION = 30 * DAY  # as long as one browser need not open the link again
ASKING = 600  # seconds in which to say yes
COLUMNS = ("id", "name", "address", "link", "until")


class LinkDoor:
    """The door of those who have a personal link."""

    name = NAME

    def __init__(self, sessions: Sessions, keys: Keys, people: People) -> None:
        self.sessions = sessions
        self.keys = keys
        self.people = people
        self._asked = f"{sessions.cookie}-link"

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route(f"/{NAME}", self._ask, methods=["GET"]),
            Route(f"/{NAME}", self._enter, methods=["POST"]),
            Route(f"/{NAME}/{{secret}}", self._open, methods=["GET"]),
        ]

    def entrance(self) -> None:
        return None  # it is in the mail

    async def visitor(self, request: Request) -> Visitor | None:
        session = self.sessions.read(request)
        if session is None or session.door != NAME:
            return None
        return await run_in_threadpool(self._visitor, session)

    def _visitor(self, session: Session) -> Visitor:
        held = _valid(self.keys.by_hash(LINK, str(session.kept.get("link"))))
        self.people.check(held.visitor)
        return held.visitor

    # --- from the link to a session -----------------------------------------------------------------

    async def _open(self, request: Request) -> Response:
        """Take the secret out of the address, and ask."""
        held = _valid(await run_in_threadpool(self.keys.find, LINK, request.path_params["secret"]))
        response = RedirectResponse(f"{self.sessions.base}{NAME}", 303, {**self.sessions.headers})
        response.headers["Referrer-Policy"] = "no-referrer"
        asked = self.sessions.seal(NAME, [held.hash, secrets.token_urlsafe(16)])
        self.sessions.set_cookie(request, response, self._asked, asked, ASKING)
        return response

    async def _ask(self, request: Request) -> Response:
        hash, asked = self._pending(request)
        held = _valid(await run_in_threadpool(self.keys.by_hash, LINK, hash))
        now = self.sessions.read(request)
        other = now is not None and (now.door, now.subject) != (held.visitor.door, held.visitor.subject)
        asked = self.sessions.seal("go on", asked)
        return page(request, self.sessions, "go_on.html.j2", person=held.visitor, asked=asked, other=other)

    async def _enter(self, request: Request) -> Response:
        self.sessions.check_origin(request)
        hash, asked = self._pending(request)
        sent = await form(request)
        if self.sessions.unseal("go on", sent.get(FORM_TOKEN, ""), ASKING) != asked:
            raise Refused(ELSEWHERE, 403)
        held = _valid(await run_in_threadpool(self.keys.by_hash, LINK, hash))
        visitor = await run_in_threadpool(self.people.admit, held.visitor)
        response = RedirectResponse(self.sessions.base, 303, self.sessions.headers)
        lasts = min(SESSION, held.ends - time.time())
        self.sessions.open(request, response, NAME, visitor.subject, {"link": held.hash}, lasts)
        self.sessions.set_cookie(request, response, self._asked, "", 0)
        return response

    def _pending(self, request: Request) -> tuple[str, str]:
        """(the hash of the link that was opened, the mark of this opening). Raises Refused."""
        asked = self.sessions.unseal(NAME, request.cookies.get(self._asked, ""), ASKING)
        if not (isinstance(asked, list) and len(asked) == 2):
            raise Refused("Open your personal link again: this page needs the cookie that it sets.", 403)
        return asked[0], asked[1]


def _valid(held: Held | None) -> Held:
    """The link, if it is good. Raises Refused."""
    if held is None:
        raise Refused("No personal link of this desk reads like that: copy all of it from the mail.", 404)
    if held.revoked:
        raise Refused("This personal link was replaced or withdrawn: use the newest one, or ask your instructor.", 403)
    if not held.is_valid:
        raise Refused(f"This personal link ended on {day(held.ends)}: ask your instructor for a new one.", 403)
    return held


def day(seconds: float) -> str:
    """A date that everybody reads alike: 3 December 2026."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.day} {moment:%B %Y}"


# --- making links -----------------------------------------------------------------------------------


def of_student(student: str, name: str) -> Visitor:
    """A student of the roster, as this door knows them."""
    return Visitor(NAME, f"student:{student}", student, name, STUDENT)


def for_instructor(keys: Keys, url: str, name: str = "Instructor", lasts: float = DAY) -> str:
    """A new link for an instructor; the ones before are still good, as long as they last."""
    person = keys.record.person(Visitor(NAME, f"instructor:{name}", "", name, INSTRUCTOR))
    return _address(url, keys.make(LINK, person, lasts))


def for_students(keys: Keys, people: People, url: str, wanted: Iterable[str] = (), lasts: float = LASTS) -> str:
    """A CSV table of new links, for a mail merge: of `wanted` students, or of all who have none that is good.

    The links that a wanted student had before end, with the keys made by them. Raises UsageError for ids that nobody
    has.
    """
    table = line(COLUMNS)
    wanted = _known(people, wanted)
    for student in wanted or people.everyone():
        person = keys.record.person(of_student(student, people.name(student)))
        if not wanted and keys.valid(LINK, person):
            continue
        if wanted:
            keys.revoke(PERSONAL, person)
        link = _address(url, keys.renew(LINK, person, lasts))
        until = datetime.fromtimestamp(time.time() + lasts, UTC).date().isoformat()
        table += line((student, people.name(student), people.email(student), link, until))
    return table


def revoke(keys: Keys, people: People, students: Iterable[str]) -> int:
    """End the links of students; returns how many were good. Raises UsageError.

    The sessions that they opened end, too, and the keys made in these: whoever had the link may have made one.
    """
    ended = 0
    for student in students:
        person = keys.record.person(of_student(student, people.name(student)))
        ended += keys.revoke(LINK, person)
        keys.revoke(PERSONAL, person)
    return ended


def _known(people: People, students: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(students))
    strangers = sorted(set(wanted) - set(people.everyone()))
    if strangers:
        raise UsageError(f"Nobody is called {', '.join(strangers)}: `autograder roster` lists all ids.")
    return wanted


def _address(url: str, secret: str) -> str:
    return f"{url.rstrip('/')}/{NAME}/{secret}"
