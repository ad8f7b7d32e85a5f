"""The door of `autograder desk --me`: one person on this machine, who has the address that the terminal shows."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse
from starlette.routing import Route

from ..sessions import Sessions
from ..visitors import STUDENT, Refused, Visitor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

HOSTS = ("127.0.0.1", "localhost")
ME = Visitor("me", "me", "me", "", STUDENT)


class SingleUserDoor:
    """Lets in whoever has the token of the start's address, which other users of the machine do not.

    Other sites cannot come in by a name of theirs that leads to this machine: the `Host` must be one of HOSTS.
    """

    name = "me"

    def __init__(self, port: int) -> None:
        self.hosts = {f"{host}:{port}" for host in HOSTS}
        self.token = secrets.token_urlsafe(24)
        self.sessions = Sessions(os.urandom(32).hex())
        self.address = f"http://{HOSTS[0]}:{port}/me/{self.token}"

    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/me/{token}", self._enter)]

    def entrance(self) -> None:
        return None

    async def visitor(self, request: Request) -> Visitor | None:
        self._require_host(request)
        session = self.sessions.read(request)
        return ME if session is not None and session.door == self.name else None

    async def _enter(self, request: Request) -> Response:
        self._require_host(request)
        if not hmac.compare_digest(request.path_params["token"].encode(), self.token.encode()):
            raise Refused("This address is of an earlier start: take the one that the terminal shows.", 403)
        response = RedirectResponse("/", 303)
        self.sessions.open(request, response, self.name, ME.subject)
        return response

    def _require_host(self, request: Request) -> None:
        if request.headers.get("host", "").lower() not in self.hosts:
            raise Refused("This desk is for this machine alone: open the address that the terminal shows.", 403)
