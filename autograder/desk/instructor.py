"""The instructor's pages: an assignment as it is being worked on, and what each sentence did. No student sees them.

They work without JavaScript; with it, what changes is fetched again every few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from .. import course
from ..batch import naming
from ..batch.tasks import Task
from ..errors import Unreadable, UserError
from ..grading.store import Store
from ..groups import names
from ..groups.grouping import Group
from ..report import lesson
from ..submission import read
from ..submission.restore import RestoredCell, restore
from . import browsing, class_table, codes, complaints, deliveries, handing, overview, pages, timeline
from .addresses import Addresses
from .app import desk_of, form_of_instructor, token_of, visitor_of
from .overview import GONE, OPEN, STAYED, UNGRADED, Overview
from .visitors import INSTRUCTOR, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from ..verdict import Graded
    from .desk import Desk
    from .visitors import Visitor

SHOWN = 12  # groups of equal answers without a name
MANY = 20  # students named in one line
FIELDS = 4  # of the form, at most
FIELDS_OF_PAUSE = 5
FIELDS_WITH_NAMES = ("student", "assignment")  # a name in each line
LARGEST = 64 * 1024  # bytes of it


def routes() -> Sequence[BaseRoute]:
    """The routes of these pages, below the desk's base."""
    return [
        Route("/instructor", index),
        Route("/instructor/pauses", pause, methods=["POST"]),
        Route("/instructor/pauses/undo", pause, methods=["POST"]),
        Route("/instructor/{assignment}", page, methods=["GET"]),
        Route("/instructor/{assignment}/names", name_group, methods=["POST"]),
        *browsing.routes(),
    ]


async def index(request: Request, problem: str = "", status: int = 200) -> Response:
    """The assignments, with how many have begun and what waits."""
    visitor = await visitor_of(request, INSTRUCTOR)
    made = await run_in_threadpool(_index, desk_of(request), visitor, token_of(request), problem)
    return HTMLResponse(made, status)


async def pause(request: Request) -> Response:
    """Have a period not count, or take that back, as `autograder pause` does."""
    _, sent = await form_of_instructor(request, FIELDS_OF_PAUSE, LARGEST)
    desk, is_undone = desk_of(request), request.url.path.endswith("/undo")
    try:
        await run_in_threadpool(_pause, desk, sent, is_undone)
    except UserError as trouble:
        if isinstance(trouble, Refused):
            raise
        return await index(request, str(trouble), 422)
    return RedirectResponse(f"{desk.path('instructor')}#pauses", 303)


def _pause(desk: Desk, sent: Mapping[str, str], is_undone: bool) -> None:
    from ..batch import pausing  # with nbgrader's converters

    # a browser sends a line break as two characters
    students, assignments = (
        [one for one in sent.get(name, "").replace("\r", "").split("\n") if one] for name in FIELDS_WITH_NAMES
    )
    kept = Store(desk.root).pauses() if is_undone else ()
    wanted = pausing.pause_of(sent.get("begin", ""), sent.get("end", ""), students, assignments, kept)
    (pausing.undo if is_undone else pausing.pause)(desk.root, wanted)


async def page(request: Request, problem: str = "", status: int = 200) -> Response:
    """An assignment as it is being worked on."""
    visitor = await visitor_of(request, INSTRUCTOR)
    desk = desk_of(request)
    told = problem or request.query_params.get("named", "")
    asked = request.path_params["assignment"], dict(request.query_params)
    made = await run_in_threadpool(_page, desk, visitor, token_of(request), *asked, told, bool(problem))
    return HTMLResponse(made, status)


async def name_group(request: Request) -> Response:
    """Give a group of equal wrong answers a sentence, which their students' pages have then."""
    too_large = f"The sentence is too long: at most {names.LONGEST} characters are shown to a student."
    _, sent = await form_of_instructor(request, FIELDS, LARGEST, too_large)
    desk, group = desk_of(request), sent.get("group", "")
    about = handing.assignment_of(desk, request.path_params["assignment"])
    try:
        await run_in_threadpool(_name, desk, about, group, sent.get("sentence", ""))
    except UserError as trouble:
        if isinstance(trouble, Refused):
            raise
        return await page(request, str(trouble), 422)
    return RedirectResponse(f"{desk.path('instructor', about.name)}?named={group}#named", 303)


# --- what the pages hold --------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """An assignment in the list."""

    name: str
    title: str
    due: datetime | None
    begun: overview.Begun


def _index(desk: Desk, visitor: Visitor, token: str, problem: str) -> str:
    from ..batch import pausing

    found, none = overview.begun(desk.record), overview.Begun(0, 0, 0)
    lines = [Line(name, _title(name), due, found.get(name, none)) for name, due in desk.book.assignments().items()]
    about = {"lines": lines, "now": datetime.now(UTC), "undelivered": deliveries.count(desk.record)}
    about["complaints"] = complaints.count(desk.record)
    about["pauses"] = [(pausing.words(one), pausing.in_words(one)) for one in sorted(Store(desk.root).pauses())]
    return pages.render(desk, "instructor_index.html.j2", token, visitor, problem=problem, **about)


def _title(name: str) -> str:
    return lesson.of(course.assignments()[name]).title or name


@dataclass(frozen=True)
class Unnamed:
    """A group of equal wrong answers without a name, and the code of one of them."""

    group: Group
    code: str
    students: list[str]


def _page(
    desk: Desk, visitor: Visitor, token: str, name: str, query: Mapping[str, str], told: str, is_problem: bool
) -> str:
    about = handing.assignment_of(desk, name)
    exercises = [exercise.name for exercise in about.exercises]
    choice = class_table.choice_of(query, exercises)
    at, due, now = Addresses(desk, name), desk.book.assignments().get(name), datetime.now(UTC)
    found = overview.of_desk(desk, about)
    who = {row.student: row.name for row in found.rows}
    groups = [
        Unnamed(group, _code_of(desk, about, found, group), group.students) for group in found.groups.all()[:SHOWN]
    ]
    given = {one.id: one for one in names.read(desk.root)}
    return pages.render(
        desk,
        "instructor.html.j2",
        token,
        visitor,
        title=_title(name),
        name=name,
        due=due,
        now=now,
        at=at,
        base=at.attempt(""),
        timeline=timeline.of(desk.record, name, due, now),
        found=found,
        choice=choice,
        shows=class_table.SHOWS,
        rows=class_table.chosen(found, exercises, choice),
        who=who,
        exercises=exercises,
        groups=groups,
        many=MANY,
        fates=(GONE, STAYED, OPEN, UNGRADED),
        fault=desk.queue.fault if desk.queue else "",
        problem=told if is_problem else "",
        named=given.get(told) if not is_problem else None,
    )


def _cells(desk: Desk, about: course.Assignment, found: Overview, student: str) -> list[RestoredCell]:
    """The cells of a student's latest graded attempt. Raises Unreadable."""
    attempt = found.newest.get(student)
    if attempt is None:
        raise Unreadable("its attempt is no longer there")
    return restore(read.read_notebook(desk.record.content(attempt.sha256)), about.cells, about)


def _code_of(desk: Desk, about: course.Assignment, found: Overview, group: Group) -> str:
    """The code of one of a group."""
    attempt = found.newest.get(group.students[0])
    return codes.excerpt(desk.record, about, attempt.sha256, group.exercise) if attempt else ""


# --- naming ---------------------------------------------------------------------------------------


def _name(desk: Desk, about: course.Assignment, group: str, says: str) -> None:
    """Name a group as `autograder name` does, of the answers at the desk. Raises UsageError and the like."""
    if naming.assignment_of(group).name != about.name:
        raise Refused("This group is of another assignment.", 404)
    if naming.rename(desk.root, group, says) is not None:
        return
    if desk.queue is None:
        raise Refused("Nothing is graded at this desk, so no answer can be tried.", 503)
    found = overview.of_desk(desk, about)
    answers = naming.Answers(found.groups, lambda member: _cells(desk, about, found, member.student))
    about_grading = desk.queue.grading
    with desk.queue.engine() as engine:

        def graded(data: bytes, seed: int) -> Graded:
            task = Task("", "example", data, about.name, seed, alone=True, sandbox=about_grading.sandbox)
            return next(its for _, its in engine.graded(iter([task]), 1))

        judge = naming.Judge(graded, about_grading.device, about_grading.sandbox)
        naming.give(desk.root, group, says, judge, answers)
    desk.queue.wake()
