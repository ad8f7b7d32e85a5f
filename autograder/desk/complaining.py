"""The pages on which a student says why a grade is wrong, and an instructor answers beside the code and the verdict."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from .. import course
from ..errors import UsageError, UserError
from ..grading.waivers import OPTION
from ..report.lesson import of as lesson_of
from . import answers, bodies, codes, complaints, disclosure, handing, pages
from .app import attempt_of, check_post, desk_of, form_of_instructor, token_of, visitor_of, work_for
from .complaints import LONGEST, Complaint
from .record import Attempt, owner_of
from .settings import ALL
from .visitors import FORM_TOKEN, INSTRUCTOR, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from ..report.gradebook_marks import Mark
    from .desk import Desk
    from .visitors import Visitor

PATH = "complaints"
FIELDS = 4  # of a form, at most
LARGEST = 16 * LONGEST  # bytes of it: a character may take twelve in a form
DIGITS = 9  # of a complaint's id, which stays below what the database's integers hold
POINTS = re.compile(r"[0-9]{1,4}([.,][0-9]{0,4})?")
ANSWERING = threading.Lock()  # at a desk, one answer is kept at a time
TOO_LARGE = f"At most {LONGEST:,} characters are kept: shorten it."


def routes() -> Sequence[BaseRoute]:
    """The routes of these pages, below the desk's base."""
    return [
        Route("/attempts/{attempt}/complaint", complaint_page, methods=["GET"]),
        Route("/attempts/{attempt}/complaint", complain, methods=["POST"]),
        Route(f"/{PATH}", all_complaints, methods=["GET"]),
        Route(f"/{PATH}/{{complaint}}", one_complaint, methods=["GET"]),
        Route(f"/{PATH}/{{complaint}}", answer, methods=["POST"]),
    ]


# --- the student's --------------------------------------------------------------------------------


async def complaint_page(request: Request, problem: str = "", says: str = "", status: int = 200) -> Response:
    """What the student has said about an attempt's grades, with the answers, and where to say more."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    desk = desk_of(request)
    made = await work_for(request, visitor, _of_attempt, desk, visitor, token_of(request), attempt, problem, says)
    return HTMLResponse(made, status)


async def complain(request: Request) -> Response:
    """Keep what a student says about the grade of an exercise."""
    visitor = await visitor_of(request)
    attempt = await attempt_of(request, visitor)
    sent = await bodies.fields(request, FIELDS, LARGEST, TOO_LARGE)
    check_post(request, sent.get(FORM_TOKEN, ""))
    desk, exercise, says = desk_of(request), sent.get("exercise", ""), sent.get("says", "")
    try:
        await work_for(request, visitor, _complain, desk, visitor, attempt, exercise, says)
    except UsageError as trouble:
        return await complaint_page(request, str(trouble), says, 422)
    return RedirectResponse(desk.path("attempts", attempt.id, "complaint"), 303)


def _of_attempt(desk: Desk, visitor: Visitor, token: str, attempt: Attempt, problem: str, says: str) -> str:
    made = complaints.of_attempt(desk.record, attempt.id)
    left = [] if owner_of(visitor) != attempt.owner else _told(desk, attempt)
    open_ = [name for name in left if name not in {one.exercise for one in made}]
    about = {"attempt": attempt, "found": made, "exercises": open_, "problem": problem}
    says = complaints.written(says)
    return pages.render(desk, "complaint.html.j2", token, visitor, **about, says=says, longest=LONGEST)


def _complain(desk: Desk, visitor: Visitor, attempt: Attempt, exercise: str, says: str) -> None:
    """Raises UsageError, and Refused unless the attempt is the visitor's."""
    if owner_of(visitor) != attempt.owner:
        raise Refused("Only whoever handed this in can complain about its grade.", 403)
    handing.require_member(desk, visitor)
    if exercise not in _told(desk, attempt):
        raise UsageError("Choose one of the exercises that have points here.")
    complaints.complain(desk.record, attempt, exercise, says)


def _told(desk: Desk, attempt: Attempt) -> list[str]:
    """The exercises of an attempt with points that the student has seen."""
    return [one["exercise"] for one in answers.known(desk, attempt) if one["score"] is not None]


# --- the instructor's -----------------------------------------------------------------------------


async def all_complaints(request: Request) -> Response:
    """The complaints that wait, and those that are answered."""
    visitor = await visitor_of(request, INSTRUCTOR)
    return HTMLResponse(await run_in_threadpool(_all, desk_of(request), visitor))


async def one_complaint(request: Request, problem: str = "", says: str = "", status: int = 200) -> Response:
    """A complaint beside the code and the verdict, and where to answer it."""
    visitor = await visitor_of(request, INSTRUCTOR)
    desk, id = desk_of(request), request.path_params["complaint"]
    return HTMLResponse(await run_in_threadpool(_one, desk, visitor, token_of(request), id, problem, says), status)


async def answer(request: Request) -> Response:
    """Keep an answer, and set points in the gradebook if the form has any."""
    _, sent = await form_of_instructor(request, FIELDS, LARGEST, TOO_LARGE)
    desk, says = desk_of(request), sent.get("answer", "")
    try:
        await run_in_threadpool(_answer, desk, request.path_params["complaint"], says, sent)
    except UserError as trouble:
        if isinstance(trouble, Refused):
            raise
        return await one_complaint(request, str(trouble), says, 422)
    return RedirectResponse(desk.path(PATH), 303)


def _all(desk: Desk, visitor: Visitor) -> str:
    waiting, done = complaints.waiting(desk.record), complaints.answered(desk.record)
    about = {"waiting": waiting, "done": done, "shown": complaints.SHOWN}
    return pages.render(desk, "complaints.html.j2", "", visitor, **about)


@dataclass(frozen=True)
class Evidence:
    """What an instructor looks at: the code, what the verdict says of it, and the gradebook's points, if it has any.

    `waiver` is the line of a configuration with which everybody would have the points of the checks that failed.
    """

    code: str
    sentence: str
    failed: list[str]
    waiver: str
    mark: Mark | None


def _one(desk: Desk, visitor: Visitor, token: str, id: str, problem: str, says: str) -> str:
    complaint, there = _complaint(desk, id), course.assignments()
    about = {"one": complaint, "evidence": _evidence(desk, complaint), "problem": problem, "longest": LONGEST}
    title = complaint.assignment
    if title in there:
        title = lesson_of(there[title]).title or title
    given = complaints.written(says) or complaint.answer or ""
    return pages.render(desk, "complaint_answer.html.j2", token, visitor, **about, title=title, says=given)


def _complaint(desk: Desk, id: str) -> Complaint:
    """Raises Refused."""
    number = bodies.number_in(id, DIGITS)
    found = None if number is None else complaints.find(desk.record, number)
    if found is None:
        raise Refused("There is no such complaint.", 404)
    return found


def _is_there(desk: Desk, complaint: Complaint) -> bool:
    """Whether the course still has what a complaint is about."""
    about = course.assignments().get(complaint.assignment) if complaint.assignment in desk.book.assignments() else None
    return about is not None and complaint.exercise in {one.name for one in about.exercises}


def _evidence(desk: Desk, complaint: Complaint) -> Evidence | None:
    """None if the course no longer has the exercise."""
    if not _is_there(desk, complaint):
        return None
    about = course.assignments()[complaint.assignment]
    attempt = desk.record.attempt(complaint.attempt)
    assert attempt is not None  # the database holds them together
    code = codes.excerpt(desk.record, about, attempt.sha256, complaint.exercise)
    verdict = answers.verdict_of(desk, attempt)
    outcomes = verdict.exercises if verdict else []
    outcome = next((one for one in outcomes if one.exercise == complaint.exercise), None)
    if outcome is None:
        return Evidence(code, "", [], "", None)
    failed = [check for check in outcome.checks if not check.passed]
    waiver = f"{OPTION} = {json.dumps({outcome.exercise: [check.name for check in failed]})}" if failed else ""
    said, messages = disclosure.told(outcome, ALL)["sentence"], [check.message for check in failed]
    return Evidence(code, said, messages, waiver, _mark(desk, complaint))


def _mark(desk: Desk, complaint: Complaint) -> Mark | None:
    from ..nbgrader import overruling  # with nbgrader's converters
    from ..nbgrader.runs import NbgraderCourse

    if not complaint.student or not desk.book.is_there:
        return None
    about = course.assignments()[complaint.assignment]
    return overruling.mark_of(NbgraderCourse(desk.root), about, complaint.exercise, complaint.student)


def _answer(desk: Desk, id: str, says: str, sent: Mapping[str, str]) -> None:
    """Raises UserError; so it does if somebody has answered since the page was made that `sent` comes from."""
    with ANSWERING:  # or the points of one answer might stand beside the text of another
        complaint, given = _complaint(desk, id), _points(sent.get("points", ""))
        complaints.said(says, "answer")
        if sent.get("state", "") != complaint.state:
            said = f"Somebody has answered this in the meantime: “{complaint.answer}”"
            raise UsageError(f"{said} Send yours if it should replace that.")
        _set_points(desk, complaint, given)
        complaints.answer(desk.record, complaint.id, says, given)


def _set_points(desk: Desk, complaint: Complaint, given: float | None) -> None:
    """Set the points that an answer gives, if it gives any. Raises UserError."""
    from ..nbgrader import overruling
    from ..nbgrader.runs import NbgraderCourse

    if given is not None:
        if not _is_there(desk, complaint):
            raise UsageError(f"The course no longer has `{complaint.exercise}`: leave the points empty.")
        if not complaint.student or not desk.book.is_there:
            raise UsageError(f"{complaint.name} is not in the gradebook: leave the points empty.")
        about = course.assignments()[complaint.assignment]
        overruling.set_points(NbgraderCourse(desk.root), about, complaint.exercise, complaint.student, given)


def _points(text: str) -> float | None:
    """The points that a form has; None if it has none. Raises UsageError."""
    if not text.strip():
        return None
    if not POINTS.fullmatch(text.strip()):
        raise UsageError("The points are no number such as 2.5: write one, or leave them empty.")
    return float(text.strip().replace(",", "."))
