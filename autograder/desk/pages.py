"""Makes the desk's pages. What may be told in them is decided in `disclosure.py` alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from .. import course
from ..report import pages
from . import answers, complaints, disclosure, handing, overview
from .record import DONE, Attempt, owner_of
from .settings import RECEIVED
from .visitors import FORM_TOKEN, INSTRUCTOR

if TYPE_CHECKING:
    from jinja2 import Environment

    from .desk import Desk
    from .record import Record
    from .visitors import Visitor

REPORT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
SHOWN = 20  # attempts on a page: the earlier ones are on further pages


@dataclass(frozen=True)
class Page:
    """A page: its HTML, and its Content-Security-Policy, if that is another than all pages have."""

    text: str
    policy: str = ""


def render(desk: Desk, template: str, token: str = "", visitor: Visitor | None = None, **about: Any) -> str:
    """A page of the folder templates/, all of which begin with base.html.j2."""
    settings = {"desk": desk, "token": token, "token_name": FORM_TOKEN, "visitor": visitor}
    return environment().get_template(template).render(**settings, is_instructor=_teaches(visitor), **about)


def _teaches(visitor: Visitor | None) -> bool:
    return visitor is not None and visitor.role == INSTRUCTOR and visitor.door != "me"


@functools.lru_cache(maxsize=1)
def environment() -> Environment:
    """The reports' environment, with the desk's templates and filters for times."""
    made = pages.environment(Path(__file__).parent / "templates")
    made.filters["moment"] = answers.moment
    made.filters["short_moment"] = lambda when: when.astimezone(UTC).strftime("%-d %b, %H:%M")
    made.tests["bank_name"] = overview.is_bank_name
    made.filters["iso"] = lambda when: when.astimezone(UTC).isoformat(timespec="seconds")
    return made


def home(desk: Desk, token: str, visitor: Visitor) -> Page:
    """The student's page: the assignments with their due dates, points so far, what is next."""
    handing.require_member(desk, visitor)
    found, said = answers.progress(desk, visitor), complaints.of_owner(desk.record, owner_of(visitor))
    there = desk.book.assignments()
    answered = [one for one in said if one.answer is not None and one.assignment in there]
    return Page(
        render(desk, "home.html.j2", token, visitor, assignments=found, answered=answered, now=datetime.now(UTC))
    )


def hints(found: answers.Progress) -> list[tuple[str, Markup]]:
    """The hints of the exercise to do next, as `autograder watch` gives them: titles, and texts as HTML."""
    from ..nbgrader.safe_markdown import with_formulas

    given = course.hints_of(found.next) if found.next else []
    return [(hint.title, Markup(with_formulas(hint.text))) for hint in given]


@dataclass(frozen=True)
class Row:
    """An attempt in a list: how far it is, and what changed since the one before."""

    attempt: Attempt
    points: float | None
    changes: Sequence[str]


def assignment(desk: Desk, token: str, visitor: Visitor, name: str, before: int | None = None) -> Page:
    """An assignment: where to hand in, and the attempts, the newest first; `before`: those with a lower number."""
    about = handing.assignment_of(desk, name)
    handing.require_member(desk, visitor, desk.settings(name))
    some = desk.record.latest(owner_of(visitor), name, SHOWN + 1, before)
    shown, (progress,) = rows(desk.record, some[:SHOWN]), answers.progress(desk, visitor, only=name)
    return Page(
        render(
            desk,
            "assignment.html.j2",
            token,
            visitor,
            one=progress,
            written=answers.written(about),
            hints=hints(progress) if visitor.door == "me" else [],
            exercises=[exercise.name for exercise in about.exercises],
            rows=shown,
            earlier=shown[-1].attempt.number if len(some) > SHOWN else None,
            is_first=before is None,
            now=datetime.now(UTC),
        )
    )


def rows(record: Record, attempts: Sequence[Attempt]) -> list[Row]:
    """The rows of attempts, the newest first; what changed is made of what was told of the one before."""
    found = []
    for place, attempt in enumerate(attempts):
        told: Any = attempt.told or []
        before = next(
            (one for one in attempts[place + 1 :] if one.told and one.exercise in (None, attempt.exercise)), None
        )
        if before is None and told:
            before = record.before(attempt)
        known: Any = before.told if before else []
        found.append(Row(attempt, disclosure.total(told), disclosure.changes(known or [], told)))
    return found


def attempt(desk: Desk, token: str, visitor: Visitor, attempt: Attempt) -> Page:
    """An attempt: its receipt and what changed, above the page of `autograder report`; or that it waits."""
    whole = answers.whole(desk, attempt)
    may_complain = visitor.door != "me" and owner_of(visitor) == attempt.owner
    about = {
        "attempt": attempt,
        "whole": whole,
        "note": whole["note"],
        "changes": whole["changes"],
        "may_complain": may_complain,
    }
    if attempt.state == DONE and attempt.level != RECEIVED and desk.painter is not None:
        verdict = answers.verdict_of(desk, attempt)
        assert verdict is not None
        may_be_told = disclosure.limited_verdict(verdict, attempt.level, attempt.withheld)
        above = environment().get_template("above.html.j2").render(desk=desk, **about)
        data, graded = desk.record.content(attempt.sha256), desk.record.graded(attempt.id)
        if made := desk.painter.page(attempt, may_be_told, graded, data, above):
            return Page(made, REPORT)
    return Page(render(desk, "attempt.html.j2", token, visitor, **about))


def problem(desk: Desk, sentence: str, entrances: Sequence[tuple[str, str]] = ()) -> str:
    """A page that says what went wrong, and how to log in if it was that."""
    return render(desk, "problem.html.j2", sentence=sentence, entrances=entrances)
