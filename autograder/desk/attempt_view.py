"""A student's attempts as the instructor's pages show them: what came of each, its code, and what changed in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import select

from ..grading.store import Store
from ..report.outcome_text import NOT_STARTED, STATUS, said_of
from ..verdict import Outcome, Verdict
from . import differences, overview
from .codes import CODES, NONE, Code, Line, marked
from .differences import GONE, NEW, Change
from .record import Attempt, Record
from .tables import ATTEMPT

if TYPE_CHECKING:
    from ..course import Assignment
    from .desk import Desk

SHOWN = 20  # attempts on a student's page
BUDGET = 600_000  # pairs of lines that are compared for a page, in all


@dataclass(frozen=True)
class Step:
    """An attempt of a student's in a list that begins with the first: its id, its number and when it came."""

    id: str
    number: int
    arrived: datetime


@dataclass(frozen=True)
class Part:
    """What became of an exercise in an attempt.

    `outcome` is None if it is not graded, and `before` are the points of the attempt before, None if unknown. `found`
    are the mistakes and facts, as (sentence, the student's line or ""). `lines` are the code, `changes` those in it.
    """

    exercise: str
    outcome: Outcome | None
    before: float | None
    found: list[tuple[str, str]]
    lines: list[Line]
    changes: list[Change]
    is_cut: bool = False

    @property
    def has_moved(self) -> bool:
        """Whether the points or the code are other than in the attempt before."""
        return bool(self.changes) or (self.outcome is not None and self.outcome.score != self.before)

    @property
    def why(self) -> str:
        """Why there is no grade; "" if there is one."""
        if self.outcome is None:
            return ""
        return NOT_STARTED if self.outcome.not_started else STATUS[self.outcome.status]

    @property
    def added(self) -> int:
        return sum(change.sign == NEW for change in self.changes)

    @property
    def removed(self) -> int:
        return sum(change.sign == GONE for change in self.changes)


@dataclass(frozen=True)
class Viewed:
    """An attempt with its parts, in the order of the exercises; `is_first`: there is none before."""

    attempt: Attempt
    parts: list[Part]
    is_first: bool

    @property
    def moved(self) -> list[Part]:
        return [part for part in self.parts if part.has_moved]


def steps(record: Record, assignment: str, owners: Sequence[str]) -> list[Step]:
    """All attempts of these owners on an assignment, from the first to the last."""
    query = select(ATTEMPT.c.id, ATTEMPT.c.number, ATTEMPT.c.arrived)
    query = query.where(ATTEMPT.c.owner.in_(list(owners)), ATTEMPT.c.assignment == assignment)
    with record.reading() as connection:
        rows = connection.execute(query.order_by(ATTEMPT.c.arrived, ATTEMPT.c.id)).all()
    return [Step(row.id, row.number, datetime.fromtimestamp(row.arrived, UTC)) for row in rows]


def view(desk: Desk, assignment: Assignment, some: Sequence[Step], before: Step | None) -> list[Viewed]:
    """These attempts, from the first to the last, each compared with the one before; `before` is that of the first."""
    ids = [step.id for step in ([before] if before else []) + list(some)]
    attempts = {one.id: one for one in desk.record.attempts(ids=ids)}
    told, verdicts = Store(desk.root).names.told, overview.verdicts(desk.record, ids)
    budget = [BUDGET]
    scores: dict[str, float] = {}
    last: Mapping[str, Code] | None = None
    found = []
    for number, id in enumerate(ids):
        if (attempt := attempts.get(id)) is None:
            continue
        verdict = told(verdicts[id]) if id in verdicts else None
        code = CODES.of(desk.record, assignment, attempt.sha256)
        if before is None or number > 0:
            names = [e.name for e in assignment.exercises if attempt.exercise in (None, e.name)]
            parts = [_part(name, verdict, scores.get(name), code, last, budget) for name in names]
            found.append(Viewed(attempt, parts, last is None))
        scores |= {one.exercise: one.score for one in verdict.exercises} if verdict else {}
        last = code
    return found


def _part(
    exercise: str,
    verdict: Verdict | None,
    before: float | None,
    code: Mapping[str, Code],
    last: Mapping[str, Code] | None,
    budget: list[int],
) -> Part:
    outcome, now = verdict.exercise(exercise) if verdict else None, code.get(exercise, NONE)
    found = [(said_of(one, outcome), one.line) for one in outcome.diagnosis] if outcome else []
    said = [*(sentence for sentence, _ in found), outcome.message] if outcome else []
    if outcome:
        said += [check.reason for check in outcome.checks if not check.passed]
    changes = []
    if last is not None:
        old, new = last.get(exercise, NONE).lines, now.lines
        if old != new:
            changes = differences.differences(old, new, min(differences.BUDGET, budget[0]))
            budget[0] -= min(budget[0], len(old) * len(new))
    return Part(exercise, outcome, before, found, marked(now, [line for _, line in found], said), changes, now.is_cut)
