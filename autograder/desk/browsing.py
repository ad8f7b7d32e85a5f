"""The pages behind the instructor's page of an assignment: a student, an attempt, an exercise, a mistake, an hour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ..errors import UserError
from ..grading.store import Store
from ..report import lesson
from . import attempt_view, bodies, exercise_view, handing, overview, pages, timeline
from .addresses import Addresses
from .app import desk_of, form_of_instructor, token_of, visitor_of
from .deadlines import deadlines_of
from .overview import FATES, WHOLE
from .visitors import INSTRUCTOR, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from ..course import Assignment, Exercise
    from .desk import Desk
    from .exercise_view import Given
    from .overview import Overview, Row
    from .visitors import Visitor

SHOWN = 100  # attempts on a page
FIELDS, FORM = 4, 8_000  # fields and bytes of a form, at most
GROUPS = 12  # groups of answers that are written the same
DIGITS = 11  # of a number in a query: more than a time in seconds has
LATEST_YEAR = 2**33  # seconds since 1970: no attempt comes after it

About = tuple["Desk", "Visitor", str, "Assignment"]  # of a page: with the token of its forms
Query = Mapping[str, str]


def routes() -> Sequence[BaseRoute]:
    """The routes of these pages, below the desk's base."""
    return [
        Route("/instructor/{assignment}/student", _page(student)),
        Route("/instructor/{assignment}/extend", _change("time", _extend), methods=["POST"]),
        Route("/instructor/{assignment}/excuse", _change("why", _excuse), methods=["POST"]),
        Route("/instructor/{assignment}/count", _change("", _count), methods=["POST"]),
        Route("/instructor/{assignment}/attempt/{attempt}", _page(attempt)),
        Route("/instructor/{assignment}/attempts", _page(attempts)),
        Route("/instructor/{assignment}/mistake", _page(mistake)),
        Route("/instructor/{assignment}/exercise/{exercise}", _page(exercise)),
    ]


def _page(make: Callable[[About, Query], str]) -> Callable[[Request], Any]:
    """The endpoint of a page that instructors alone see; `make` gets the query, with what the path names."""

    async def endpoint(request: Request) -> Response:
        visitor = await visitor_of(request, INSTRUCTOR)
        desk = desk_of(request)
        about = desk, visitor, token_of(request), handing.assignment_of(desk, request.path_params["assignment"])
        asked = {**request.query_params, **request.path_params}
        return HTMLResponse(await run_in_threadpool(make, about, asked))

    return endpoint


def _render(about: About, template: str, **more: Any) -> str:
    desk, visitor, token, assignment = about
    return pages.render(
        desk,
        template,
        token,
        visitor,
        at=Addresses(desk, assignment.name),
        lesson=lesson.of(assignment).title or assignment.name,
        **more,
    )


def number(asked: Query, name: str, otherwise: int) -> int:
    """A number of a query that is not negative; `otherwise` if it is none."""
    found = bodies.number_in(asked.get(name, ""), DIGITS)
    return otherwise if found is None else found


def _row(found: Overview, student: str) -> Row | None:
    return next((row for row in found.rows if row.student == student), None)


def student(about: About, asked: Query, problem: str = "") -> str:
    """A student: the latest answers, and all attempts, the newest first, with what changed from one to the next."""
    desk, _, _, assignment = about
    found = overview.of_desk(desk, assignment)
    row = _row(found, asked.get("id", ""))
    if row is None:
        raise Refused("There is no such student.", 404)
    steps = attempt_view.steps(desk.record, assignment.name, row.owners)
    page, size = max(1, number(asked, "page", 1)), attempt_view.SHOWN
    end = max(0, len(steps) - (page - 1) * size)
    start = max(0, end - size)
    shown = attempt_view.view(desk, assignment, steps[start:end], steps[start - 1] if start else None)
    return _render(
        about,
        "class_student.html.j2",
        row=row,
        exercises=[one.name for one in assignment.exercises],
        stuck=[one for one in found.stuck if one.student == row.student],
        attempts=shown[::-1],
        page=page,
        is_last=start == 0,
        many=len(steps),
        problem=problem,
        deadline=deadlines_of(desk, row.student).of(assignment.name),
        excuse=Store(desk.root).excused(assignment.name).get(row.student),
    )


def _change(field: str, make: Callable[[Desk, Assignment, str, str], None]) -> Callable[[Request], Any]:
    """The endpoint of a form on a student's page; `make` gets the student, and what is in the form's `field`."""

    async def endpoint(request: Request) -> Response:
        visitor, sent = await form_of_instructor(request, FIELDS, FORM)
        desk = desk_of(request)
        about = desk, visitor, token_of(request), handing.assignment_of(desk, request.path_params["assignment"])
        who = sent.get("student", "")
        try:
            await run_in_threadpool(make, desk, about[-1], who, sent.get(field, ""))
        except UserError as trouble:
            if isinstance(trouble, Refused):
                raise
            made = await run_in_threadpool(student, about, {"id": who}, str(trouble))
            return HTMLResponse(made, 422)
        return RedirectResponse(Addresses(desk, about[-1].name).student(who), 303)

    return endpoint


def _extend(desk: Desk, assignment: Assignment, who: str, time: str) -> None:
    """Give a student more time, or take it back, as `autograder extend` does."""
    from ..batch import extending  # with nbgrader's converters

    extending.extend(desk.root, assignment, who, extending.span_of(time))


def _excuse(desk: Desk, assignment: Assignment, who: str, why: str) -> None:
    """Have an assignment not count for a student, as `autograder excuse` does."""
    from ..batch import excusing

    excusing.excuse(desk.root, assignment, who, why)


def _count(desk: Desk, assignment: Assignment, who: str, _: str) -> None:
    """Have an assignment count again for a student, as `autograder excuse --undo` does."""
    from ..batch import excusing

    excusing.undo(desk.root, assignment, who)


def attempt(about: About, asked: Query) -> str:
    """An attempt: its code by exercise with the named lines marked, and what changed since the one before."""
    desk, _, _, assignment = about
    there = desk.record.attempt(asked["attempt"])
    if there is None or there.assignment != assignment.name:
        raise Refused("There is no such attempt.", 404)
    row = _row(overview.of_desk(desk, assignment), there.student or there.owner)
    steps = attempt_view.steps(desk.record, assignment.name, row.owners if row else [there.owner])
    place = next((n for n, step in enumerate(steps) if step.id == there.id), None)
    if place is None:  # it has become another's just now
        raise Refused("There is no such attempt.", 404)
    (shown,) = attempt_view.view(desk, assignment, [steps[place]], steps[place - 1] if place else None)
    return _render(
        about,
        "class_attempt.html.j2",
        row=row,
        one=shown,
        before=steps[place - 1] if place else None,
        after=steps[place + 1] if place + 1 < len(steps) else None,
    )


def attempts(about: About, asked: Query) -> str:
    """The attempts of some time, such as an hour."""
    desk, _, _, assignment = about
    since, until = number(asked, "since", 0), number(asked, "until", LATEST_YEAR)
    page = max(1, min(number(asked, "page", 1), 10**6))
    some = timeline.attempts(desk.record, assignment.name, since, min(until, LATEST_YEAR), page, SHOWN)
    names = {row.student: row.name for row in overview.of_desk(desk, assignment).rows}
    return _render(
        about,
        "class_attempts.html.j2",
        attempts=some,
        names=names,
        since=timeline.moment(min(since, LATEST_YEAR)),
        until=timeline.moment(min(until, LATEST_YEAR)),
        span=(since, until),
        page=page,
        has_more=len(some) == SHOWN,
    )


def mistake(about: About, asked: Query) -> str:
    """A mistake: what its sentence did, and who has it now, with their lines side by side."""
    desk, _, _, assignment = about
    found = overview.of_desk(desk, assignment)
    exercise, id = asked.get("exercise", WHOLE), asked.get("id", "")
    common = {(one.exercise, one.id): one for one in found.common}
    one = common.get((exercise, id), common.get((WHOLE, id)))
    told = next((one for one in found.sentences if (one.exercise, one.id) == (exercise, id)), None)
    if one is None and told is None:
        raise Refused("No student has this mistake, and nobody has read its message.", 404)
    place = next((n for n, each in enumerate(assignment.exercises) if each.name == exercise), None)
    answers = {} if place is None else {each.student: each.answer for each in exercise_view.given(found, place)}
    return _render(
        about,
        "class_mistake.html.j2",
        exercise=one.exercise if one else exercise,
        id=id,
        message=one.message if one else told.message if told else "",
        told=told,
        fates=FATES,
        lines=exercise_view.by_line(one) if one else [],
        shown=exercise_view.side_by_side(desk.record, assignment, one, answers) if one and answers else [],
        many=len(one.who) if one else 0,
        names={row.student: row.name for row in found.rows},
        newest={student: attempt.id for student, attempt in found.newest.items()},
    )


def exercise(about: About, asked: Query) -> str:
    """An exercise: its points, its mistakes, its checks, and answers that are written the same."""
    desk, _, _, assignment = about
    name = asked["exercise"]
    place = next((n for n, one in enumerate(assignment.exercises) if one.name == name), None)
    if place is None:
        known = ", ".join(one.name for one in assignment.exercises)
        raise Refused(f"{assignment.name} has no exercise {name[:80]!a}: it has {known}.", 404)
    found, one = overview.of_desk(desk, assignment), assignment.exercises[place]
    answers = exercise_view.given(found, place)
    groups = exercise_view.alike(desk.record, assignment, name, answers)
    tallies = exercise_view.checks(name, answers, found.checks)
    return _render(
        about,
        "class_exercise.html.j2",
        one=one,
        effort=next(effort for effort in found.efforts if effort.exercise == name),
        students=len(found.rows),
        answers=answers,
        picture=exercise_view.histogram(one, answers, Addresses(desk, assignment.name)),
        mistakes=[each for each in found.common if each.exercise == name],
        checks=tallies,
        groups=[group for group in groups if len(group.given) > 1][:GROUPS],
        more=len([group for group in groups if len(group.given) > 1][GROUPS:]),
        alone=sum(len(group.given) == 1 for group in groups),
        chosen=_chosen(one, asked, answers, tallies, groups),
        who=exercise_view.WHO,
    )


def _chosen(
    exercise: Exercise,
    asked: Query,
    answers: Sequence[Given],
    tallies: Sequence[exercise_view.CheckTally],
    groups: Sequence[exercise_view.Alike],
) -> tuple[str, Sequence[Given]] | None:
    """(what they have in common, the answers) of those that the query chooses; None if it chooses none."""
    bars = exercise_view.BARS
    if "points" in asked:
        place = number(asked, "points", len(bars))
        if place < len(bars):
            some = [one for one in answers if exercise_view.bar_of(one.answer.score, exercise.points) == place]
            return f"{bars[place]} of the points", some
    for tally in tallies:
        if asked.get("check") == tally.name:
            return f"Answers that fail: {tally.asked.sentence}", tally.failed
    for group in groups:
        if asked.get("alike") == group.likeness:
            return "Answers that are written the same", group.given
    return None
