"""The web application: the doors say who asks, the record has all else. JSON below api/, pages for people elsewhere."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from .. import course
from ..errors import DISK, UserError
from . import answers, bodies, handing, pages
from .costs import ADDRESS, PERSON, PRICE, Costs, address_of
from .logs import Log
from .record import DONE, Attempt, owner_of
from .visitors import FORM_TOKEN, INSTRUCTOR, Refused, Visitor

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .desk import Desk

LOOK = 1.0  # seconds between two looks at an attempt that another desk may be grading
STREAM = 900.0  # seconds after which an attempt's events end; a browser asks again
READERS = 4  # notebooks that are read at the same time: each may take ten times its size
STREAMS = 4  # at a time, for one person
DOWNLOADS = 3  # of learning platforms that arrive at a time, and that are read: each takes minutes, and a thread
SHOWN = 8  # attempts' pages that are made or waited for at a time: the others go on serving
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'"
)
INTERNAL_ERROR = "This is an internal error: tell your instructor."
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Result = TypeVar("Result")


def make_app(desk: Desk, more: Sequence[BaseRoute] = ()) -> Starlette:
    """The application. `desk.doors` are asked in their order who a request comes from; `more` are further routes, with
    paths below the desk's base, such as the instructor's pages.
    """
    routes: list[BaseRoute] = [
        Route("/", home),
        Route("/assignments/{assignment}", assignment_page, methods=["GET"]),
        Route("/assignments/{assignment}", hand_in_by_form, methods=["POST"]),
        Route("/attempts/{attempt}", attempt_page),
        Route("/attempts/{attempt}/notebook", attempt_notebook),
        Route("/api/me", api_me),
        Route("/api/hand-in/{assignment}", api_hand_in, methods=["POST"]),
        Route("/api/attempts/{attempt}", api_attempt),
        Route("/api/attempts/{attempt}/events", api_events),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        *more,
        *(_guarded(route) for door in desk.doors for route in door.routes()),
    ]
    app = Starlette(
        routes=[Mount(desk.base.rstrip("/"), routes=routes)],
        lifespan=_lifespan,
        exception_handlers={
            Refused: _refused,
            HTTPException: _http_error,
            SQLAlchemyError: _no_database,
            OSError: _no_disk,
            UserError: _mistake,
        },
    )
    app.add_middleware(_WithHeaders, desk=desk)
    app.state.desk = desk
    app.state.news = News()
    app.state.readers = CapacityLimiter(READERS)
    app.state.shown = CapacityLimiter(SHOWN)
    app.state.arriving, app.state.collecting = CapacityLimiter(DOWNLOADS), CapacityLimiter(DOWNLOADS)
    app.state.costs = Costs()
    app.state.log = Log(__name__)
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Grade while the application runs."""
    desk: Desk = app.state.desk
    if desk.queue is None:
        yield
        return
    loop, news = asyncio.get_running_loop(), app.state.news

    def heard(id: str) -> None:
        loop.call_soon_threadsafe(news.tell, id)

    desk.queue.heard = heard
    with desk.queue:
        yield
        news.end()
        desk.queue.heard = lambda id: None


def desk_of(request: Request) -> Desk:
    """The Desk that a request was made to."""
    return request.app.state.desk


async def visitor_of(request: Request, role: str | None = None) -> Visitor:
    """Who a request comes from, by the first door that knows.

    Raises Refused: 401 if no door knows, 403 if an instructor is wanted and it is none.
    """
    costs, address = costs_of(request), address_of(request)
    if not request.cookies and "authorization" not in request.headers:
        costs.require(ADDRESS, address)
    try:
        for door in desk_of(request).doors:
            if (visitor := await door.visitor(request)) is not None:
                break
        else:
            raise Refused("Log in first: nobody knows who this request comes from.", 401)
    except Refused:
        costs.charge(ADDRESS, address, PRICE)
        raise
    if role == INSTRUCTOR and visitor.role != INSTRUCTOR:
        raise Refused("This page is for instructors.", 403)
    if handing.is_limited(visitor):
        costs.require(PERSON, owner_of(visitor))
    return visitor


def costs_of(request: Request) -> Costs:
    """What requests to this application cost."""
    return request.app.state.costs


def log_of(request: Request) -> Log:
    """Where what goes wrong is said."""
    return request.app.state.log


async def work_for(
    request: Request, visitor: Visitor, work: Callable[..., Result], *about: Any, limiter: CapacityLimiter | None = None
) -> Result:
    """Do something for a visitor in a thread: in their turn, and at their cost."""
    costs, owner = costs_of(request), owner_of(visitor)
    async with costs.turn(owner):
        return await to_thread.run_sync(functools.partial(costs.run, owner, work, *about), limiter=limiter)


def _guarded(route: BaseRoute) -> BaseRoute:
    """A route of a door, which anybody may call: what is refused there is at the cost of the address."""
    if isinstance(route, Route):
        route.app = _AtCostOfAddress(route.app)
    return route


class _AtCostOfAddress:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        costs, address = costs_of(request), address_of(request)
        costs.require(ADDRESS, address)

        async def looked_at(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                costs.charge(ADDRESS, address, PRICE)
            await send(message)

        await self.app(scope, receive, looked_at)


def check_post(request: Request, token: str = "") -> None:
    """Raises Refused unless a post of a browser comes from a page of the desk; a program sends a key instead."""
    guard = desk_of(request).guard
    if guard is not None and "authorization" not in request.headers:
        guard.check(request, token)


async def form_of_instructor(
    request: Request, most: int, largest: int, too_large: str = bodies.NOT_OURS
) -> tuple[Visitor, dict[str, str]]:
    """(the instructor who sends a form of a page of the desk, its fields). Raises Refused."""
    visitor = await visitor_of(request, INSTRUCTOR)
    sent = await bodies.fields(request, most, largest, too_large)
    check_post(request, sent.get(FORM_TOKEN, ""))
    return visitor, sent


def token_of(request: Request) -> str:
    """What the forms of a page send back, so that no other site can send them; "" where nothing guards."""
    guard = desk_of(request).guard
    return guard.token(request) if guard else ""


async def attempt_of(request: Request, visitor: Visitor) -> Attempt:
    """The attempt that a path names, if it is the visitor's, or the visitor an instructor. Raises Refused: 404."""
    desk, id = desk_of(request), request.path_params["attempt"]
    whose = None if visitor.role == INSTRUCTOR else owner_of(visitor)
    attempt = await run_in_threadpool(desk.record.attempt, id, whose)
    if attempt is None or attempt.assignment not in desk.book.assignments():
        raise Refused("There is no such attempt.", 404)
    return attempt


# --- JSON -----------------------------------------------------------------------------------------


async def api_hand_in(request: Request) -> Response:
    """Take a notebook, as the body of the request; answers with the receipt."""
    visitor = await visitor_of(request)
    check_post(request)
    await run_in_threadpool(handing.require_room, desk_of(request), visitor)
    with bodies.Body(request, owner_of(visitor)) as body:
        data = await body.notebook()
        attempt = await _receive(request, visitor, request.query_params.get("exercise"), data)
    return JSONResponse(answers.received(desk_of(request), attempt), 201)


async def _receive(request: Request, visitor: Visitor, exercise: str | None, data: bytes) -> Attempt:
    desk, assignment = desk_of(request), request.path_params["assignment"]
    receive = functools.partial(handing.receive, desk, visitor, assignment, exercise, data)
    attempt = await work_for(request, visitor, receive, limiter=request.app.state.readers)
    if desk.queue is not None:
        desk.queue.wake()
    return attempt


async def api_attempt(request: Request) -> Response:
    """An attempt, with all that may be told of it."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    return JSONResponse(await work_for(request, visitor, answers.whole, desk_of(request), attempt))


async def api_me(request: Request) -> Response:
    """Who asks, and how far with each assignment."""
    visitor = await visitor_of(request)
    return JSONResponse(await work_for(request, visitor, _me, desk_of(request), visitor))


def _me(desk: Desk, visitor: Visitor) -> dict[str, Any]:
    handing.require_member(desk, visitor)
    return answers.me(desk, visitor)


async def api_events(request: Request) -> Response:
    """An attempt's exercises as they are graded, then the whole of it, as server-sent events."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    news: News = request.app.state.news
    owner = owner_of(visitor)
    if news.streams.get(owner, 0) >= STREAMS:
        raise Refused(f"You follow {STREAMS} attempts already: close one of their pages.", 429, 5.0)
    last = request.headers.get("last-event-id", "")
    seen = set(last.split("+")) & course.exercises().keys() if len(last) < 4000 else set()
    events = _events(desk_of(request), news, attempt, seen, owner, costs_of(request))
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _events(
    desk: Desk, news: News, attempt: Attempt, seen: set[str], owner: str, costs: Costs | None = None
) -> AsyncIterator[str]:
    """The events; an event's id lists the exercises that were told until then."""
    loop = asyncio.get_running_loop()
    run = functools.partial((costs or Costs()).run, owner)
    until = loop.time() + STREAM
    if news.streams.get(owner, 0) >= STREAMS:
        return  # others were begun between the look at the number and now
    news.streams[owner] = news.streams.get(owner, 0) + 1
    try:
        yield "retry: 1000\n\n"
        while loop.time() < until and not news.is_over:
            with news.of(attempt.id) as told:
                current = await run_in_threadpool(run, desk.record.attempt, attempt.id)
                if current is None:
                    return
                for one in await run_in_threadpool(run, answers.known, desk, current):
                    if one["exercise"] not in seen:
                        seen.add(one["exercise"])
                        yield _event("exercise", one, "+".join(sorted(seen)))
                if current.state == DONE:
                    yield _event("done", await run_in_threadpool(run, answers.whole, desk, current), "done")
                    return
                try:
                    await asyncio.wait_for(told.wait(), LOOK)
                except TimeoutError:
                    yield ": still there\n\n"
    except SQLAlchemyError:
        return  # the browser asks again
    finally:
        news.streams[owner] -= 1
        if not news.streams[owner]:
            del news.streams[owner]


def _event(kind: str, data: Any, id: str) -> str:
    return f"event: {kind}\nid: {id}\ndata: {json.dumps(data)}\n\n"


class News:
    """Who waits for something new of which attempt. It belongs to the loop's thread."""

    def __init__(self) -> None:
        self.waiting: dict[str, set[asyncio.Event]] = {}
        self.streams: dict[str, int] = {}  # how many streams of events each owner has open
        self.is_over = False

    def tell(self, id: str) -> None:
        for event in self.waiting.get(id, ()):
            event.set()

    def end(self) -> None:
        self.is_over = True
        for id in list(self.waiting):
            self.tell(id)

    def of(self, id: str) -> _Waiting:
        """For a `with`: an event that is set when there is something new of an attempt."""
        return _Waiting(self, id)


class _Waiting:
    def __init__(self, news: News, id: str) -> None:
        self.news, self.id, self.event = news, id, asyncio.Event()

    def __enter__(self) -> asyncio.Event:
        self.news.waiting.setdefault(self.id, set()).add(self.event)
        return self.event

    def __exit__(self, *exc: object) -> None:
        waiting = self.news.waiting[self.id]
        waiting.discard(self.event)
        if not waiting:
            del self.news.waiting[self.id]


# --- pages ----------------------------------------------------------------------------------------


async def home(request: Request) -> Response:
    """The student's page: the assignments, and how far."""
    visitor = await visitor_of(request)
    return await _page(request, pages.home, visitor)


async def assignment_page(request: Request) -> Response:
    """An assignment: where to hand in, and the attempts, some at a time."""
    visitor = await visitor_of(request)
    before = request.query_params.get("before", "")
    number = bodies.number_in(before, 9)
    return await _page(request, pages.assignment, visitor, request.path_params["assignment"], number)


async def hand_in_by_form(request: Request) -> Response:
    """Take a notebook from the form of a page; leads to the attempt's page."""
    visitor = await visitor_of(request)
    await run_in_threadpool(handing.require_room, desk_of(request), visitor)
    with bodies.Body(request, owner_of(visitor)) as body:
        data, token = await body.form(FORM_TOKEN)
        check_post(request, token)
        attempt = await _receive(request, visitor, None, data)
    return Response(status_code=303, headers={"Location": desk_of(request).path("attempts", attempt.id)})


async def attempt_page(request: Request) -> Response:
    """An attempt: its receipt, what changed, and the page that `autograder report` makes, as far as it may be told."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    return await _page(request, pages.attempt, visitor, attempt, limiter=request.app.state.shown)


async def attempt_notebook(request: Request) -> Response:
    """What was handed in, byte for byte."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    data = await work_for(request, visitor, desk_of(request).record.content, attempt.sha256)
    name = f'attachment; filename="{attempt.assignment}.ipynb"'
    return Response(data, media_type="application/x-ipynb+json", headers={"Content-Disposition": name})


async def _page(
    request: Request,
    make: Callable[..., pages.Page],
    visitor: Visitor,
    *about: Any,
    limiter: CapacityLimiter | None = None,
) -> Response:
    about = desk_of(request), token_of(request), visitor, *about
    made = await work_for(request, visitor, make, *about, limiter=limiter)
    headers = {"Content-Security-Policy": made.policy} if made.policy else {}
    return Response(made.text, media_type="text/html; charset=utf-8", headers=headers)


# --- what goes wrong ------------------------------------------------------------------------------


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Refused)
    return await _said(request, str(problem), problem.status, problem.again)


async def _http_error(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    said = {
        404: "There is no such page.",
        405: "This address does not take such a request.",
    }.get(problem.status_code, "This request is not understood.")
    return await _said(request, said, problem.status_code)


async def _no_database(request: Request, problem: Exception) -> Response:
    log_of(request).error("the records cannot be reached: %s", str(getattr(problem, "orig", problem)).split("\n")[0])
    full = any(word in str(problem) for word in ("disk is full", "No space left", "could not extend file"))
    if full:
        return await _said(request, "The desk's disk is full: nothing was received. Tell your instructor.", 507)
    return await _said(request, "The desk's records cannot be reached at present: nothing was received.", 503, 10.0)


async def _no_disk(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, OSError)
    if problem.errno not in DISK:
        return await _mistake(request, problem)
    log_of(request).error("%s", problem)
    return await _said(request, "The desk's disk is full: nothing was received. Tell your instructor.", 507)


async def _mistake(request: Request, problem: Exception) -> Response:
    if isinstance(problem, UserError):
        log_of(request).error("%s", problem)
        return await _said(request, "The course has a mistake, of which the log tells: tell your instructor.", 503)
    if isinstance(problem, ClientDisconnect):
        return Response(status_code=400)
    raise problem


async def _said(request: Request, sentence: str, status: int, again: float | None = None) -> Response:
    """A sentence about what went wrong, as JSON or as a page."""
    headers = {"Retry-After": str(max(1, round(again + 0.5)))} if again is not None else {}
    desk = desk_of(request)
    if request.url.path.startswith(desk.path("api/")):
        return JSONResponse({"error": sentence}, status, headers=headers)
    entrances = [door.entrance() for door in desk.doors] if status == 401 else []
    text = pages.problem(desk, sentence, [one for one in entrances if one])
    return Response(text, status, media_type="text/html; charset=utf-8", headers=headers)


def _where(problem: BaseException) -> tuple[str, int]:
    """Which error it is, by its type and the line that raised it."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return type(problem).__name__, trace.tb_lineno if trace else 0


class _WithHeaders:
    """Gives each answer the headers that keep other sites out, unless it has them already."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self.app = app
        frames = getattr(desk.guard, "frame_ancestors", "frame-ancestors 'none'")
        of_guard = getattr(desk.guard, "headers", {})
        self.frames = f"; {frames}"
        self.headers = [(name.lower().encode(), value.encode()) for name, value in {**HEADERS, **of_guard}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                there = {name.lower(): value for name, value in message["headers"]}
                policy = there.pop(b"content-security-policy", CSP.encode())
                kept = [(n, v) for n, v in message["headers"] if n.lower() != b"content-security-policy"]
                if b"frame-ancestors" not in policy:
                    policy += self.frames.encode()
                kept.append((b"content-security-policy", policy))
                message["headers"] = kept + [pair for pair in self.headers if pair[0] not in there]
            await send(message)

        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            await self.app(scope, receive, with_headers)
        except Exception as problem:
            scope["app"].state.log.error("internal error", kind=_where(problem), exc_info=problem)
            if not has_begun:
                answer = await _said(Request(scope, receive), INTERNAL_ERROR, 500)
                await answer(scope, receive, with_headers)
