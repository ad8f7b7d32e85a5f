"""Personal keys: what `hand_in()` sends where there is no Hub. A person makes one on the page, by whatever door."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ..keys import PERSONAL, PREFIX, Held, Keys
from ..sessions import Sessions
from ..visitors import FORM_TOKEN, INSTRUCTOR, Refused, Visitor
from .links import DAY, day
from .pages import form, page
from .people import People

LASTS = 200 * DAY
TEACHES = DAY  # an instructor's: it opens everybody's work, and outlives the group or course that made one of them
BEARER = re.compile(r"(?:bearer|token) +(\S+)", re.IGNORECASE)


def bearer(request: Request) -> str | None:
    """The token in a request's header `Authorization`; None if it has no such header. Raises Refused."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    found = BEARER.fullmatch(header.strip())
    if found is None:
        raise Refused("The header `Authorization` should be `Bearer` and a key.", 401)
    return found[1]


class KeyDoor:
    """The door of programs that send a personal key, the page on which a key is made, and the way out.

    `who` says who a browser's request comes from, by all doors.
    """

    name = "keys"

    def __init__(
        self, sessions: Sessions, keys: Keys, people: People, who: Callable[[Request], Awaitable[Visitor]]
    ) -> None:
        self.sessions = sessions
        self.keys = keys
        self.people = people
        self.who = who

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/key", self._show, methods=["GET"]),
            Route("/key", self._change, methods=["POST"]),
            Route("/log-out", self._leave, methods=["POST"]),
        ]

    def entrance(self) -> None:
        return None

    async def visitor(self, request: Request) -> Visitor | None:
        key = bearer(request)
        if key is None or not key.startswith(PREFIX):
            return None
        return await run_in_threadpool(self._visitor, key)

    def _visitor(self, key: str) -> Visitor:
        held = self.keys.find(PERSONAL, key)
        if held is None:
            raise Refused("The desk does not know this key: copy it again, or make a new one on the desk's page.", 401)
        if held.revoked:
            raise Refused("This key was replaced by a newer one, or ended: make a new one on the desk's page.", 401)
        if not held.is_valid:
            raise Refused(f"This key ended on {day(held.ends)}: make a new one on the desk's page.", 401)
        self.people.check(held.visitor)
        return held.visitor

    async def _show(self, request: Request) -> Response:
        visitor = await self.who(request)
        held = await run_in_threadpool(self._newest, visitor)
        return self._page(request, visitor, held)

    async def _change(self, request: Request) -> Response:
        visitor = await self.who(request)
        sent = await form(request)
        self.sessions.check(request, sent.get(FORM_TOKEN, ""))
        person = await run_in_threadpool(self.keys.record.person, visitor)
        if "revoke" in sent:
            await run_in_threadpool(self.keys.revoke, PERSONAL, person)
            return RedirectResponse(f"{self.sessions.base}key", 303, self.sessions.headers)
        lasts = TEACHES if visitor.role == INSTRUCTOR else LASTS
        key = await run_in_threadpool(self.keys.renew, PERSONAL, person, lasts)
        return self._page(request, visitor, await run_in_threadpool(self._newest, visitor), key)

    async def _leave(self, request: Request) -> Response:
        self.sessions.check(request, (await form(request)).get(FORM_TOKEN, ""))
        response = RedirectResponse(self.sessions.base, 303, self.sessions.headers)
        self.sessions.end(request, response)
        return response

    def _newest(self, visitor: Visitor) -> Held | None:
        person = self.keys.record.person(visitor)
        return next(iter(self.keys.valid(PERSONAL, person)), None)

    def _page(self, request: Request, visitor: Visitor, held: Held | None, key: str = "") -> Response:
        made, until = (day(held.made), day(held.ends)) if held else ("", "")
        return page(request, self.sessions, "key.html.j2", visitor, key=key, held=held, made=made, until=until)
