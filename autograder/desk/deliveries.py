"""What an instructor sees of points that a learning platform has not taken: whose, why, and when they are sent again.

doors/lti_services.py sends them. This page needs nothing of what only platforms need.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from . import pages
from .app import desk_of, form_of_instructor, token_of, visitor_of
from .record import Record
from .tables import DELIVERY, PERSON
from .visitors import INSTRUCTOR

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from .desk import Desk
    from .visitors import Visitor

TRIES = 40  # more than a week, as doors/lti_services.py waits between them
SHOWN = 200  # on the page
FIELDS = 2  # of the form, at most
LARGEST = 4096  # bytes of it
PATH = "deliveries"

# refused by the platform, and neither taken nor replaced since
UNDELIVERED = DELIVERY.c.problem.is_not(None) & (DELIVERY.c.done.is_(None) | (DELIVERY.c.tries >= TRIES))


@dataclass(frozen=True)
class Undelivered:
    """Points that a platform has not taken, or None where it was to drop those that it has.

    `again` is when they are sent again; None if they no longer are.
    """

    student: str
    name: str
    assignment: str
    points: float | None
    max_points: float
    problem: str
    tries: int
    again: datetime | None


def undelivered(record: Record) -> list[Undelivered]:
    """The points that platforms have refused, the oldest first, at most SHOWN of them."""
    columns = PERSON.c.student, PERSON.c.name, *DELIVERY.c
    query = select(*columns).join(PERSON, PERSON.c.id == DELIVERY.c.person).where(UNDELIVERED)
    with record.reading() as connection:
        rows = connection.execute(query.order_by(DELIVERY.c.id).limit(SHOWN)).all()
    return [
        Undelivered(
            row.student,
            row.name,
            row.assignment,
            None if row.withdrawn else row.points,
            row.max_points,
            row.problem,
            row.tries,
            datetime.fromtimestamp(row.next, UTC) if row.done is None else None,
        )
        for row in rows
    ]


def count(record: Record) -> int:
    """How many points platforms have refused."""
    with record.reading() as connection:
        return connection.execute(select(func.count()).select_from(DELIVERY).where(UNDELIVERED)).scalar_one()


def send_now(record: Record) -> int:
    """Have all of them sent at once, also those that were given up; returns how many."""
    with record.writing() as connection:
        again = sa.update(DELIVERY).where(UNDELIVERED).values(next=time.time(), done=None, tries=0)
        return connection.execute(again).rowcount


# --- the page -------------------------------------------------------------------------------------


def routes() -> Sequence[BaseRoute]:
    """The routes of this page, below the desk's base."""
    return [Route(f"/{PATH}", page, methods=["GET"]), Route(f"/{PATH}", send, methods=["POST"])]


async def page(request: Request) -> Response:
    """The points that were not taken."""
    visitor = await visitor_of(request, INSTRUCTOR)
    about = desk_of(request), visitor, token_of(request), "sent" in request.query_params
    return HTMLResponse(await run_in_threadpool(_page, *about))


def _page(desk: Desk, visitor: Visitor, token: str, is_sent: bool) -> str:
    found = undelivered(desk.record)
    return pages.render(desk, "deliveries.html.j2", token, visitor, found=found, is_sent=is_sent, shown=SHOWN)


async def send(request: Request) -> Response:
    """Have them sent at once."""
    await form_of_instructor(request, FIELDS, LARGEST)
    desk = desk_of(request)
    await run_in_threadpool(send_now, desk.record)
    return RedirectResponse(f"{desk.path(PATH)}?sent=1", 303)
