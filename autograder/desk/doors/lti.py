"""LTI 1.3: people come from a course of a learning platform (Moodle, Canvas), which says who they are.

`lti_launch.py` says whether it has. Here each launch is used once, ends in the browser in which it began, and becomes a
Visitor.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from anyio import CapacityLimiter, to_thread
from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ...verdict import printable
from ..logs import Log, one_line
from ..record import Record
from ..sessions import Sessions, is_navigation
from ..tables import NONCE
from ..visitors import INSTRUCTOR, STUDENT, Refused, Visitor
from .http import Down
from .lti_keys import KeySets, OwnKey
from .lti_launch import AGAIN, CLAIM, LASTS, LONGEST, Asked, NoLaunch, launched, login_address, platform_of
from .lti_services import Services, same_platform
from .lti_settings import CUSTOM, EMAIL, MEMBERSHIP, SOURCEDID, SUB, Platform, with_numbers
from .pages import form
from .people import EMAIL as BY_EMAIL
from .people import ID, NUMBER, People

NAME = "lti"
SLOTS = 4  # cookies for launches
THREADS = 8  # that may wait for platforms at once: the others go on serving pages
HASHED = "sha256 "  # begins what stands for a longer id: one that begins so itself is hashed, too


class LtiDoor:
    """The door of those who come from a course of a learning platform."""

    name = NAME

    def __init__(self, sessions: Sessions, record: Record, people: People, platforms: Sequence[Platform]) -> None:
        self.sessions = sessions
        self.record = record
        self.people = people
        self.log = Log(__name__)
        self.platforms = {(platform.issuer, platform.client_id): platform for platform in platforms}
        self.numbered = with_numbers(platforms)
        self.key = OwnKey(record)
        self.keys = KeySets()
        self._threads = CapacityLimiter(THREADS)
        self.launch_url = f"{sessions.origin}{sessions.base}{NAME}/launch"

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route(f"/{NAME}/login", self._login, methods=["GET", "POST"]),
            Route(f"/{NAME}/launch", self._launch, methods=["POST"]),
            Route(f"/{NAME}/keys", self._keys, methods=["GET"]),
        ]

    def entrance(self) -> None:
        return None  # it is in the platform's course

    async def visitor(self, request: Request) -> Visitor | None:
        session = self.sessions.read(request)
        if session is None or session.door != NAME:
            return None
        return await run_in_threadpool(self._noted, session.subject)

    def _noted(self, subject: str) -> Visitor | None:
        visitor = self.people.noted(NAME, subject)
        if visitor is None or tuple(json.loads(subject)[:2]) not in self.platforms:
            return None
        self.people.check(visitor)
        return visitor

    async def _keys(self, request: Request) -> Response:
        """The desk's public key, with which a platform checks what the desk says."""
        return JSONResponse(self.key.key_set(), headers={"Cache-Control": "public, max-age=3600"})

    # --- the click in the platform ------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        """Send the browser to the platform, which says who it is; the browser remembers that it asked for this."""
        fields = await form(request) if request.method == "POST" else dict(request.query_params)
        if not is_navigation(request):
            raise Refused("This address is for a click in the platform's course.", 403)
        try:
            platform = platform_of(fields, self.platforms.values())
            asked = Asked.by(platform)
            there = login_address(platform, asked, fields, self.launch_url)
        except NoLaunch as problem:
            raise self._refused(problem.sentence, problem.reason) from None
        response = RedirectResponse(there, 303, self.sessions.headers)
        kept = self.sessions.seal(NAME, astuple(asked))
        self.sessions.set_cookie(request, response, self._cookie(asked.state), kept, LASTS, cross_site=True)
        return response

    def _cookie(self, state: str) -> str:
        """The cookie of one launch. A browser may have a few on their way, but not so many that they fill a request."""
        slot = hashlib.sha256(state.encode("utf-8", "replace")).digest()[0] % SLOTS
        return f"{self.sessions.cookie}-{NAME}-{slot}"

    # --- what the platform says -----------------------------------------------------------------------

    async def _launch(self, request: Request) -> Response:
        """Take who somebody is from what the platform has signed, and open a session."""
        fields = await form(request)
        cookie = self._cookie(fields.get("state", ""))
        kept = self.sessions.unseal(NAME, request.cookies.get(cookie, ""), LASTS)
        asked = Asked(*kept) if kept else None
        subject, target = await to_thread.run_sync(self._enter, fields, asked, limiter=self._threads)
        response = RedirectResponse(target, 303, self.sessions.headers)
        self.sessions.open(request, response, NAME, subject)
        self.sessions.set_cookie(request, response, cookie, "", 0, cross_site=True)
        return response

    def _enter(self, fields: Mapping[str, str], asked: Asked | None) -> tuple[str, str]:
        """(who has come, as a subject; the path to show). Raises Refused."""
        if "error" in fields:
            raise self._refused(f"The platform did not log you in. {AGAIN}", fields["error"])
        platform, claims = self._launched(fields, asked)
        visitor = self._visitor(platform, claims)
        self._use(claims["nonce"])
        self.people.admit(visitor, same_platform(platform))
        Services(self.record).note(visitor, claims)
        target = claims.get(f"{CLAIM}/target_link_uri")
        origin = self.sessions.origin
        is_ours = isinstance(target, str) and target.startswith(f"{origin}/")
        return visitor.subject, self.sessions.own_path(str(target)[len(origin) :] if is_ours else None)

    def _launched(self, fields: Mapping[str, str], asked: Asked | None) -> tuple[Platform, dict[str, Any]]:
        try:
            return launched(fields, asked, self.platforms.values(), self.keys)
        except Down as error:
            self.log.warning("LTI: %s", error)
            raise Refused("The platform does not answer: try again in a minute.", 503, 60.0) from None
        except NoLaunch as problem:
            raise self._refused(problem.sentence, problem.reason) from None

    def _refused(self, sentence: str, reason: object) -> Refused:
        self.log.warning("LTI: %s (%s)", sentence, one_line(reason, 500), kind=sentence)
        return Refused(sentence, 403)

    def _use(self, nonce: str) -> None:
        """Raises Refused if a launch with this nonce was used before."""
        now = time.time()
        try:
            with self.record.writing() as connection:
                connection.execute(delete(NONCE).where(NONCE.c.ends < now))
                connection.execute(insert(NONCE).values(nonce=nonce, ends=now + 2 * LASTS))
        except IntegrityError:
            raise Refused(f"This launch was used before. {AGAIN}", 403) from None

    # --- who that is -------------------------------------------------------------------------------------

    def _visitor(self, platform: Platform, claims: Mapping[str, Any]) -> Visitor:
        """Who somebody is by what the platform says: an id that it vouches for, never a name. Raises Refused."""
        roles = claims[f"{CLAIM}/roles"]
        subject = subject_of(platform, claims["sub"])
        name = printable(
            _text(claims, "name") or f"{_text(claims, 'given_name')} {_text(claims, 'family_name')}".strip()
        )
        if any(role in platform.instructors for role in roles):
            return Visitor(NAME, subject, "", printable(name)[:LONGEST], INSTRUCTOR)
        if f"{MEMBERSHIP}#Learner" not in roles:
            raise Refused("In your course you are neither a learner nor an instructor: the desk is for these.", 403)
        return Visitor(NAME, subject, self._student(platform, claims, subject), printable(name)[:LONGEST], STUDENT)

    def _student(self, platform: Platform, claims: Mapping[str, Any], subject: str) -> str:
        """The student's id in the course; "" if the platform says nothing that the roster has."""
        value = vouched(platform, claims)
        found = {self.people.student(by, value) for by in self._columns(platform)} - {""}
        if len(found) == 1:
            return found.pop()
        return "" if found else self.people.otherwise(NAME, subject, value)

    def _columns(self, platform: Platform) -> list[str]:
        """Which columns of the roster have what names a platform's students.

        The id in the course is the instructor's: the institution's id may be it, and a platform's own number is not.
        """
        if platform.student == EMAIL:
            return [BY_EMAIL]
        return [NUMBER] * (platform in self.numbered) + [ID] * (platform.student == SOURCEDID)


def subject_of(platform: Platform, sub: str) -> str:
    """The door's id for a person: who vouches, and for whom."""
    subject = json.dumps([platform.issuer, platform.client_id, sub])
    if len(subject) <= LONGEST and not sub.startswith(HASHED):
        return subject
    hashed = hashlib.sha256(sub.encode("utf-8", "replace")).hexdigest()
    return json.dumps([platform.issuer, platform.client_id, f"{HASHED}{hashed}"])


def vouched(platform: Platform, claims: Mapping[str, Any]) -> str:
    """What names the student, as `Platform.student` says; "" if the platform did not say it."""
    if platform.student == EMAIL:
        value = _text(claims, "email")
    elif platform.student == SUB:
        value = _text(claims, "sub")
    elif platform.student == SOURCEDID:
        value = _text(claims.get(f"{CLAIM}/lis"), "person_sourcedid")
    else:
        value = _text(claims.get(f"{CLAIM}/custom"), platform.student.removeprefix(CUSTOM))
    return (
        "" if value.startswith("$") or len(value) > LONGEST else value
    )  # $Person.sourcedId: a variable left as it was


def _text(said: Any, name: str) -> str:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value.strip() if isinstance(value, str) else ""
