"""JupyterHub: the desk is a service of the Hub, which says who somebody is and in which groups.

Browsers log in by OAuth, with `jupyterhub`'s own HubOAuth. `hand_in()` sends the token that a spawned server has in
JUPYTERHUB_API_TOKEN; it must have the scope to use this service. The Hub is asked again after a minute.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from cachetools import LRUCache, TTLCache
from jupyterhub.services.auth import HubOAuth
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from tornado.httputil import url_concat
from tornado.web import HTTPError

from ...errors import CourseError
from ..costs import address_of
from ..keys import PREFIX
from ..logs import Log, one_line
from ..sessions import Sessions, is_navigation
from ..visitors import INSTRUCTOR, STUDENT, Refused, Visitor
from .people import EMAIL, ID, People, is_newcomer
from .personal import bearer
from .places import NoPlace, Places

NAME = "hub"
CALLBACK = "oauth_callback"  # below the service's prefix, as a Hub expects it
FRESH = 60.0  # seconds for which an answer of the Hub is taken for true
KEPT = 10_000  # answers
PATIENCE = 5.0  # seconds in which the Hub must answer
WAITS = 20.0  # seconds for a place to ask it: guesses at tokens must not become a flood there
LOGIN = 600  # seconds to log in at the Hub
SAYS_NO = "Failed to check authorization:"  # how HubAuth begins to tell of an answer that is a refusal
LONGEST = 500  # characters of a code
TOKEN = re.compile(r"[A-Za-z0-9_.~-]{16,128}")  # the Hub's own have 32 hexadecimal digits, those of OAuth 30 letters
SESSION_ID = "jupyterhub-session-id"  # the Hub's cookie, which changes when somebody logs out there
WHERE = "c.Desk.hub in nbgrader_config.py"

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class HubSettings:
    """`c.Desk.hub`: who is what.

    `instructors` are groups of the Hub; with `admins`, the Hub's admins are instructors, too. `students` says how a
    user is found on the roster: "id" (the user's name is the student's id), "email" (it is the address), or a dict of
    ids by user names.
    """

    instructors: Sequence[str] = ("instructors",)
    admins: bool = False
    students: str | Mapping[str, str] = field(default=ID)


def hub_settings(given: object) -> HubSettings:
    """The settings of the Hub's door. Raises CourseError with a sentence on what is wrong."""
    if not isinstance(given, Mapping):
        raise CourseError(f"{WHERE} should be a dict, such as {{'instructors': ['teachers']}}.")
    known = [one.name for one in fields(HubSettings)]
    if strangers := sorted(str(name) for name in given if name not in known):
        raise CourseError(f"{WHERE} has {strangers[0]!r}, which sets nothing: it takes {', '.join(known)}.")
    found = HubSettings(**given)
    groups = found.instructors
    if isinstance(groups, str) or not isinstance(groups, Sequence) or not all(isinstance(g, str) for g in groups):
        raise CourseError(f"{WHERE}: 'instructors' should be a list of the Hub's groups.")
    if not isinstance(found.admins, bool):
        raise CourseError(f"{WHERE}: 'admins' should be True or False.")
    if found.students not in (ID, EMAIL) and not isinstance(found.students, Mapping):
        raise CourseError(f"{WHERE}: 'students' should be 'id', 'email', or a dict of ids by user names.")
    return found


def is_there() -> bool:
    """Whether a Hub has started this process, or its operator says where the Hub is."""
    return bool(os.environ.get("JUPYTERHUB_API_TOKEN") and os.environ.get("JUPYTERHUB_API_URL"))


class HubDoor:
    """The door of the Hub's users. `auth` talks with the Hub; it finds out from the environment where that is."""

    name = NAME

    def __init__(self, sessions: Sessions, people: People, settings: HubSettings, auth: HubOAuth | None = None) -> None:
        self.sessions = sessions
        self.people = people
        self.settings = settings
        self.auth = auth or HubOAuth()
        self._known: TTLCache[tuple[str, str], Mapping[str, Any]] = TTLCache(KEPT, FRESH)
        self._unknown: TTLCache[tuple[str, str], bool] = TTLCache(
            KEPT, FRESH
        )  # apart: guesses must not push out others
        self._good: LRUCache[str, bool] = LRUCache(KEPT)  # hashes of tokens that were somebody's
        self._places = Places()
        self.log = Log(__name__)
        self._login_cookie = f"{sessions.cookie}-hub"

    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route(f"/{NAME}/login", self._login, methods=["GET"]),
            Route(f"/{CALLBACK}", self._callback, methods=["GET"]),
        ]

    def entrance(self) -> tuple[str, str]:
        return "Log in with JupyterHub", f"{self.sessions.base}{NAME}/login"

    async def visitor(self, request: Request) -> Visitor | None:
        token = bearer(request)
        if token is None:
            session = self.sessions.read(request)
            if session is None or session.door != NAME:
                return None
            token, session_id = str(session.kept.get("token")), request.cookies.get(SESSION_ID, "")
            model = await self._model(token, address_of(request), session_id, is_known=True)
            if model is None or model["name"] != session.subject:
                return None  # logged out at the Hub
        else:
            if token.startswith(PREFIX):
                return None
            model = await self._model(token, address_of(request))
            if model is None:
                raise Refused("JupyterHub does not know this token: start your server again, or log in again.", 401)
        return await run_in_threadpool(self.people.admit, self._visitor(model))

    def _visitor(self, model: Mapping[str, Any]) -> Visitor:
        """Who a user of the Hub is. Raises Refused for who may not use this service."""
        name = model["name"]
        if model.get("kind", "user") != "user":
            raise Refused("This token is a service's of JupyterHub, and nobody's.", 403)
        if not self.auth.check_scopes(self.auth.access_scopes, dict(model)):
            scope = max(self.auth.access_scopes, key=len, default="access:services")  # the one for this service alone
            raise Refused(
                f"This token may not use the desk: it lacks the scope `{scope}`. Whoever runs JupyterHub can give it to"
                " all servers, see docs/desk_hub.md.",
                403,
            )
        groups = model.get("groups")
        teaches = isinstance(groups, list) and bool(set(self.settings.instructors) & {str(one) for one in groups})
        if teaches or self.settings.admins and model.get("admin") is True:
            return Visitor(NAME, name, "", name, INSTRUCTOR)
        student = self._student(name)
        is_known = student and not is_newcomer(student)
        return Visitor(NAME, name, student, self.people.name(student) if is_known else name, STUDENT)

    def _student(self, name: str) -> str:
        """The id of the student who is a user; "" if nobody on the roster is."""
        if isinstance(self.settings.students, Mapping):
            return self.people.row(str(self.settings.students.get(name, "")))
        return self.people.student(self.settings.students, name) or self.people.otherwise(NAME, name, name)

    # --- the Hub's word -------------------------------------------------------------------------------

    async def _model(
        self, token: str, address: str = "", session_id: str = "", is_known: bool = False
    ) -> Mapping[str, Any] | None:
        """What the Hub says of who has a token; None if it does not know the token. Raises Refused.

        `is_known`: the Hub itself gave it to the desk, so it is no guess.
        """
        if not TOKEN.fullmatch(token):
            return None
        hashed = hashlib.sha256(token.encode()).hexdigest()
        key = (hashed, session_id)
        if key in self._known:
            return self._known[key]
        if key in self._unknown:
            return None
        model = await self._asked(
            lambda: self.auth.user_for_token(token, use_cache=False, session_id=session_id, sync=False),
            address,
            is_known or hashed in self._good,
        )
        if isinstance(model, Mapping) and isinstance(model.get("name"), str) and "scopes" in model:
            self._known[key] = model
            self._good[hashed] = True
            return model
        self._good.pop(hashed, None)
        self._unknown[key] = True
        return None

    async def _asked(
        self, question: Callable[[], Awaitable[Answer]], address: str = "", is_known: bool = False
    ) -> Answer:
        """An answer of the Hub. Raises Refused if it gives none, or says no."""
        try:
            async with self._places.place(address, is_known, WAITS), asyncio.timeout(PATIENCE):
                return await question()
        except NoPlace:
            self.log.warning("JupyterHub: too many tokens that it does not know, from %s", address)
            raise Refused("Too many ask who they are at this moment: try again in a minute.", 503, 60.0) from None
        except (HTTPError, OSError, TimeoutError, ValueError) as error:
            self.log.warning("JupyterHub: %s", one_line(error, 300) or type(error).__name__)
            if isinstance(error, HTTPError) and str(error.log_message).startswith(SAYS_NO):
                raise Refused("JupyterHub does not let you in by this: log in again.", 403) from None
            raise Refused(
                "JupyterHub does not answer: nobody can be recognised. Try again in a minute.", 503, 60.0
            ) from None

    # --- logging in -------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        """Send the browser to the Hub, and let it remember that it asked for this."""
        if not is_navigation(request):
            raise Refused("This address is for a click on the desk's page.", 403)
        state = secrets.token_urlsafe(16)
        verifier, challenge, method = self.auth.generate_pkce_code_challenge()
        there = url_concat(
            self.auth.login_url, {"state": state, "code_challenge": challenge, "code_challenge_method": method}
        )
        response = RedirectResponse(there, 303, self.sessions.headers)
        following = self.sessions.own_path(request.query_params.get("next"))
        asked = self.sessions.seal(NAME, [state, verifier, following])
        self.sessions.set_cookie(request, response, self._login_cookie, asked, LOGIN)
        return response

    async def _callback(self, request: Request) -> Response:
        """Take the Hub's word for who has logged in, and open a session."""
        asked = self.sessions.unseal(NAME, request.cookies.get(self._login_cookie, ""), LOGIN)
        state, verifier, following = asked if isinstance(asked, list) and len(asked) == 3 else ("", "", "")
        sent = request.query_params
        if not state or not hmac.compare_digest(state.encode(), sent.get("state", "").encode()):
            raise Refused("This login was begun elsewhere, or took too long: log in again.", 403)
        code = sent.get("code", "")
        if "error" in sent or not code or len(code) > LONGEST:
            raise Refused("JupyterHub did not let you use the desk: ask who runs it.", 403)
        token = await self._asked(
            lambda: self.auth.token_for_code(code, code_verifier=verifier, sync=False), address_of(request)
        )
        model = await self._model(str(token), address_of(request), request.cookies.get(SESSION_ID, ""), is_known=True)
        if model is None:
            raise Refused("JupyterHub did not say who you are: log in again.", 403)
        visitor = await run_in_threadpool(self.people.admit, self._visitor(model))
        response = RedirectResponse(self.sessions.own_path(following), 303, self.sessions.headers)
        self.sessions.open(request, response, NAME, visitor.subject, {"token": token})
        self.sessions.set_cookie(request, response, self._login_cookie, "", 0)
        return response
