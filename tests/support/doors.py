"""A small web application with doors and no desk behind them, and browsers that are none, for tests of who is who."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from dataclasses import asdict
from types import SimpleNamespace

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from autograder.desk.doors.people import People
from autograder.desk.keys import Keys
from autograder.desk.record import Record
from autograder.desk.sessions import Sessions
from autograder.desk.visitors import Refused
from autograder.intake.people import Roster, Student

ADA = Student("ada", "Ada", "Lovelace", "ada@example.org", "1001")
BELA = Student("bela", "Béla", "Bartók <script>alert(1)</script>", "bela@example.org", "1002")
CARL = Student("carl", "Carl", "Gauss", "carl@example.org", "1003")
CLASS = (ADA, BELA, CARL)


class Place:
    """What doors need: a record, sessions, and the people of a course. `students` may be changed."""

    def __init__(self, folder, base="/", origin="http://desk.test", everybody=False, frames=(), database=None):
        self.record = Record(database or f"sqlite:///{folder}/desk.db")
        self.students = list(CLASS)
        self.sessions = Sessions(self.record.secret("sessions").hex(), base, origin, frames)
        self.keys = Keys(self.record)
        self.people = People(self.record, lambda: Roster(self.students), everybody)
        self.doors = []
        self.url = origin + base

    async def who(self, request):
        for door in self.doors:
            if (visitor := await door.visitor(request)) is not None:
                return visitor
        raise Refused("Log in first.", 401)

    def app(self):
        """`/who` says who asks, a post to `/change` is done if the session's guard lets it."""

        async def who(request):
            visitor = await self.who(request)
            return JSONResponse({**asdict(visitor), "token": self.sessions.token(request)})

        async def change(request):
            visitor = await self.who(request)
            sent = dict(p.split("=", 1) for p in (await request.body()).decode().split("&") if "=" in p)
            self.sessions.check(request, sent.get("token", ""))
            return JSONResponse({"changed by": visitor.subject})

        async def refused(request, error):
            return JSONResponse({"error": str(error)}, error.status)

        routes = [Route("/who", who), Route("/change", change, methods=["POST"])]
        routes += [route for door in self.doors for route in door.routes()]
        inside = Mount(self.sessions.base.rstrip("/"), routes=routes) if self.sessions.base != "/" else None
        app = Starlette(routes=[inside] if inside else routes, exception_handlers={Refused: refused})
        base = self.sessions.base
        app.state.desk = SimpleNamespace(base=base, title="The desk", path=lambda *parts: base + "/".join(parts))
        return app

    def browser(self, **headers):
        """A client that keeps cookies and follows no redirects, and calls itself a browser that opens a page."""
        navigates = {"sec-fetch-mode": "navigate", "sec-fetch-site": "none", "sec-fetch-dest": "document"}
        transport = httpx.ASGITransport(self.app(), raise_app_exceptions=True)
        return Browser(
            httpx.AsyncClient(transport=transport, base_url=self.sessions.origin, headers={**navigates, **headers})
        )


class Browser:
    """An httpx client whose calls wait for their answers."""

    def __init__(self, client):
        self.client = client
        self.loop = asyncio.new_event_loop()

    def get(self, path, **options):
        return self.loop.run_until_complete(self.client.get(path, **options))

    def post(self, path, data=None, site="same-origin", **options):
        """Send a form, as one of the desk's own pages does."""
        headers = {
            "sec-fetch-site": site,
            "origin": str(self.client.base_url).rstrip("/"),
            **options.pop("headers", {}),
        }
        return self.loop.run_until_complete(self.client.post(path, data=data or {}, headers=headers, **options))

    @property
    def cookies(self):
        return self.client.cookies


def said(answer):
    """The sentence with which something was refused."""
    return json.loads(answer.text)["error"]


@contextlib.contextmanager
def served(app, port=0):
    """The application on a port of this machine; gives its address."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        for _ in range(200):
            if server.started:
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
