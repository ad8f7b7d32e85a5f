"""What an instructor sees of an assignment: who has begun, who is stuck, and what each sentence did.

A sentence is told when an attempt is answered with it. It has helped if, at the student's next try at that exercise,
the mistake is gone. A try is an attempt that answers the exercise with another answer than before: handing in the same
cell once more, because another exercise was worked on, says nothing about the sentence.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import statistics
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from cachetools import LRUCache
from sqlalchemy import func, select

from ..course import Assignment
from ..errors import Unreadable
from ..grading.store import Store
from ..groups import names
from ..groups.grouping import Grouping, grouped
from ..groups.names import is_unnamed
from ..report.outcome_text import said_of
from ..submission import read
from ..submission.answers import answers_of, is_same
from ..submission.restore import restore
from ..verdict import Outcome, Verdict
from .record import DONE, GRADING, WAITING, Attempt, Record
from .tables import ATTEMPT, PERSON
from .telling import PLACES
from .visitors import INSTRUCTOR

STUCK = 3  # tries one after another with the same mistake
KEPT = 1_000  # notebooks of which it is kept in memory how the answers are written
OVERLAP = 60.0  # seconds of the last look that are looked at again: what ends together may be seen one after another
AT_ONCE = 200  # verdicts in a query
# an instructor who is no student, and tries things out
IS_TEACHER = (PERSON.c.role == INSTRUCTOR) & (PERSON.c.student == "") & (PERSON.c.door != "me")
GONE, STAYED, OPEN, UNGRADED = FATES = ("gone", "still there", "no further try yet", "next try not graded")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A named mistake in one answer: `line` is the student's, or ""."""

    id: str
    message: str
    line: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one exercise in one attempt, and the sentences that were `told` of it, as (id, sentence).

    `is_nameless`: it is wrong and has no name. Of the attempt, what was told of all of it is left out.
    """

    attempt: Attempt
    exercise: str
    score: float
    max_score: float
    status: str
    is_begun: bool
    mistakes: tuple[Mistake, ...]
    told: tuple[tuple[str, str], ...]
    is_nameless: bool

    @property
    def is_right(self) -> bool:
        return self.status == "graded" and self.score == self.max_score

    def has(self, id: str) -> bool:
        return any(one.id == id for one in self.mistakes)


@dataclass
class Sentence:
    """What a sentence did: how often it was told, and the FATES of its mistake, each with how often."""

    exercise: str
    id: str
    message: str
    fates: Counter[str] = field(default_factory=Counter)

    @property
    def told(self) -> int:
        return sum(self.fates.values())


@dataclass(frozen=True)
class Square:
    """A student's latest answer to an exercise, and the number of tries so far; None if there is none."""

    answer: Answer | None
    tries: int


@dataclass(frozen=True)
class Row:
    """A student in the picture: the squares are in the order of the exercises."""

    student: str
    name: str
    squares: tuple[Square, ...]
    attempts: int
    latest: datetime | None


@dataclass(frozen=True)
class Stuck:
    """A student whose last `tries` at an exercise all had the same mistake."""

    student: str
    exercise: str
    mistake: Mistake
    tries: int


@dataclass(frozen=True)
class Effort:
    """How many tries an exercise took those who have it right, and who has not."""

    exercise: str
    right: int
    begun: int
    median: float | None
    most: int


@dataclass(frozen=True)
class Common:
    """A mistake that several have at the moment: the students, each with the line."""

    exercise: str
    id: str
    message: str
    who: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Overview:
    """All that is shown of an assignment. `waiting` and `grading` count attempts; `absent` have not begun."""

    waiting: int
    grading: int
    oldest: datetime | None
    absent: list[str]
    rows: list[Row]
    common: list[Common]
    stuck: list[Stuck]
    efforts: list[Effort]
    sentences: list[Sentence]
    groups: Grouping
    newest: Mapping[str, Attempt]  # a student's latest graded attempt, for the code of a group


class Essences:
    """What was seen of attempts, kept for the next look, which reads only what is new; any thread may ask."""

    def __init__(self) -> None:
        self.seen: WeakKeyDictionary[Record, dict[str, _Seen]] = WeakKeyDictionary()
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def of(self, record: Record, root: Path, assignment: Assignment, named: int) -> Iterator[_Seen]:
        """All attempts on an assignment, as they are now. In the body, nobody else looks."""
        with self.lock:
            seen = self.seen.setdefault(record, {}).setdefault(assignment.name, _Seen())
            seen.look(record, root, assignment, (_changed(root), named))
            yield seen


class _Seen:
    """What was seen of an assignment: attempts and tries by student, or by owner for who is none.

    With 20,000 attempts, the class's page would take a minute at each look otherwise; one takes some 4 kB here.
    """

    def __init__(self) -> None:
        self.version: object = None
        self.forget()

    def forget(self) -> None:
        self.since = -math.inf
        self.people: dict[int, tuple[str, str, bool]] = {}
        self.attempts: dict[str, Attempt] = {}
        self.of_student: dict[str, dict[str, Attempt]] = {}
        self.answers: dict[str, tuple[Answer, ...]] = {}
        self.nameable: set[str] = set()  # attempts that an instructor's name may be for
        self.nameless: dict[tuple[str, str], tuple[Attempt, Outcome]] = {}  # the latest, by student and exercise
        self.tries: dict[tuple[str, str], list[list[Answer]]] = {}
        self.texts: LRUCache[str, dict[str, str]] = LRUCache(KEPT)

    def look(self, record: Record, root: Path, assignment: Assignment, version: object) -> None:
        """Take in what has changed since the last look; `version` is of the instructor's names."""
        found = record.attempts(assignment=assignment.name, since=self.since)
        people = _people(record)  # after the attempts, since people come first
        if any(people.get(id, ("",))[0] != student for id, (student, *_) in self.people.items()):
            self.forget()  # somebody is another student now
            found = record.attempts(assignment=assignment.name)
            people = _people(record)
        self.people = people
        changed = {one.id: one for one in found if _when(one) != _when(self.attempts.get(one.id))}
        told = {one.id: one.told or () for one in found}
        if version != self.version:
            changed |= {one.id: one for one in record.attempts(ids=self.nameable - changed.keys())}
            told |= {one.id: one.told or () for one in changed.values()}
            self.version = version
        for one in changed.values():
            slim = replace(one, told=None, assignment=assignment.name, name="")
            self.attempts[one.id] = self.of_student.setdefault(one.student or one.owner, {})[one.id] = slim
        done = [self.attempts[id] for id, one in changed.items() if one.state == DONE]
        names = Store(root).names.told
        for start in range(0, len(done), AT_ONCE):
            some = {one.id: one for one in done[start : start + AT_ONCE]}
            for id, verdict in _verdicts(record, some):
                self._take(some[id], names(verdict), told[id])
        for student in {one.student or one.owner for one in changed.values()}:
            theirs = dict(sorted(self.of_student[student].items(), key=lambda one: (one[1].arrived, one[0])))
            self.of_student[student] = theirs
            for exercise in assignment.exercises:
                is_same_answer = functools.partial(self._is_same, record, assignment)
                made = _tries(list(theirs.values()), exercise.name, self.answers, is_same_answer)
                self.tries[student, exercise.name] = made
        latest = [moment for one in found for moment in (one.arrived, one.ended) if moment]
        self.since = max([self.since, *(moment.timestamp() - OVERLAP for moment in latest)])

    def _take(self, attempt: Attempt, verdict: Verdict, told: Sequence[Mapping[str, Any]]) -> None:
        """Keep the essence of a verdict."""
        self.answers[attempt.id] = tuple(_answer(attempt, outcome, told) for outcome in verdict.exercises)
        if any(outcome.fingerprint for outcome in verdict.exercises):
            self.nameable.add(attempt.id)
        for outcome in filter(is_unnamed, verdict.exercises):
            key = attempt.student or attempt.owner, outcome.exercise
            if key not in self.nameless or self.nameless[key][0].arrived <= attempt.arrived:
                self.nameless[key] = attempt, outcome

    def _is_same(self, record: Record, assignment: Assignment, one: Answer, other: Answer) -> bool:
        """Whether two answers are written the same."""
        if one.attempt.sha256 == other.attempt.sha256:
            return True
        texts = [self._texts_of(record, assignment, answer.attempt) for answer in (one, other)]
        return is_same(assignment, one.exercise, *texts)

    def _texts_of(self, record: Record, assignment: Assignment, attempt: Attempt) -> dict[str, str]:
        """Hashes of what a student has written in an attempt, as `answers_of` gives them."""
        if attempt.sha256 not in self.texts:
            try:
                cells = read.read_notebook(record.content(attempt.sha256))
                self.texts[attempt.sha256] = answers_of(restore(cells, assignment.cells, assignment))
            except (Unreadable, KeyError):
                self.texts[attempt.sha256] = {}
        return self.texts[attempt.sha256]

    def students(self) -> dict[str, list[Attempt]]:
        """The attempts of each, without those of instructors, who try things out."""
        found = {student: list(theirs.values()) for student, theirs in self.of_student.items()}
        return {student: theirs for student, theirs in found.items() if not self.people[theirs[-1].person][2]}


def of(
    record: Record,
    root: Path,
    assignment: Assignment,
    roster: Mapping[str, str],
    essences: Essences | None = None,
    named: int = 0,
) -> Overview:
    """The Overview of an assignment; `roster` has the name of each student's id.

    `named` changes when examples of the instructor's names were graded on more inputs.
    """
    with (essences or Essences()).of(record, root, assignment, named) as seen:
        by_student = seen.students()
        exercises = [exercise.name for exercise in assignment.exercises]
        tries = {key: found for key, found in seen.tries.items() if key[0] in by_student}
        names = {student: seen.people[theirs[-1].person][1] for student, theirs in by_student.items()}
        known = {**names, **roster}
        rows = [
            _row(student, known[student], by_student.get(student, []), [tries.get((student, e), []) for e in exercises])
            for student in sorted(known)
        ]
        latest = {key: found[-1][-1] for key, found in tries.items() if found}
        by_exercise = {e: [found for (_, name), found in tries.items() if name == e] for e in exercises}
        waiting, grading, oldest = _open(record, assignment.name, seen.people)
        return Overview(
            waiting=waiting,
            grading=grading,
            oldest=oldest,
            absent=[student for student in sorted(known) if student not in by_student],
            rows=rows,
            common=_common(latest),
            stuck=_stuck(tries),
            efforts=[_effort(e, by_exercise[e]) for e in exercises],
            sentences=_sentences(tries),
            groups=grouped(_unnamed(latest, seen.nameless, assignment.name)),
            newest={student: done[-1] for student, theirs in by_student.items() if (done := _graded(theirs))},
        )


def _when(attempt: Attempt | None) -> object:
    """What tells one state of an attempt from a later one."""
    return attempt and (attempt.state == DONE, attempt.ended)


def _people(record: Record) -> dict[int, tuple[str, str, bool]]:
    """(student, name, whether an instructor who tries things out) of everybody, by the number of their row."""
    query = select(PERSON.c.id, PERSON.c.student, PERSON.c.name, IS_TEACHER)
    with record.reading() as connection:
        return {id: (student, name, bool(teaches)) for id, student, name, teaches in connection.execute(query)}


def _open(
    record: Record, assignment: str, people: Mapping[int, tuple[str, str, bool]]
) -> tuple[int, int, datetime | None]:
    """(how many attempts of students wait, how many are being graded, when the oldest that waits came)."""
    query = select(ATTEMPT.c.person, ATTEMPT.c.state, ATTEMPT.c.arrived)
    where = ATTEMPT.c.state.in_((WAITING, GRADING)), ATTEMPT.c.assignment == assignment
    with record.reading() as connection:
        found = [
            row for row in connection.execute(query.where(*where)) if not people.get(row.person, ("", "", False))[2]
        ]
    came = [row.arrived for row in found if row.state == WAITING]
    return len(came), len(found) - len(came), datetime.fromtimestamp(min(came), UTC) if came else None


@dataclass(frozen=True)
class Begun:
    """How many attempts of students there are on an assignment, of how many, and how many are not graded yet."""

    attempts: int
    students: int
    waiting: int


def begun(record: Record) -> dict[str, Begun]:
    """How far the class is, by assignment; counted by the database."""
    is_open = sa.case((ATTEMPT.c.state != DONE, 1), else_=0)
    counts = func.count(), func.count(sa.distinct(ATTEMPT.c.owner)), func.sum(is_open)
    query = select(ATTEMPT.c.assignment, *counts).join(PERSON, PERSON.c.id == ATTEMPT.c.person)
    with record.reading() as connection:
        rows = connection.execute(query.where(~IS_TEACHER).group_by(ATTEMPT.c.assignment))
        return {name: Begun(attempts, students, int(waiting)) for name, attempts, students, waiting in rows}


def students_only(record: Record, attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts without those of instructors, who try things out."""
    people = _people(record)
    return [one for one in attempts if not people[one.person][2]]


def _verdicts(record: Record, attempts: Iterable[str]) -> list[tuple[str, Verdict]]:
    with record.reading() as connection:
        query = select(ATTEMPT.c.id, ATTEMPT.c.verdict).where(ATTEMPT.c.id.in_(list(attempts)))
        return [
            (row.id, Verdict.from_dict(json.loads(row.verdict))) for row in connection.execute(query) if row.verdict
        ]


def _answer(attempt: Attempt, outcome: Outcome, told: Sequence[Mapping[str, Any]]) -> Answer:
    named = [d for d in outcome.diagnosis if not d.id.startswith(PLACES)]
    said = [name for one in told if one["exercise"] == outcome.exercise for name in one["names"]]
    return Answer(
        attempt,
        outcome.exercise,
        outcome.score,
        outcome.max_score,
        outcome.status,
        outcome.status != "missing" and not outcome.not_started,
        tuple(Mistake(sys.intern(d.id), sys.intern(said_of(d, outcome)), d.line) for d in named),
        tuple((sys.intern(name["id"]), sys.intern(name["message"])) for name in said),
        is_unnamed(outcome),
    )


def _graded(attempts: Iterable[Attempt]) -> list[Attempt]:
    return [one for one in attempts if one.state == DONE]


# --- tries ----------------------------------------------------------------------------------------


def _tries(attempts: Sequence[Attempt], exercise: str, answers: Mapping, is_same_answer) -> list[list[Answer]]:
    """A student's tries at an exercise, each with the answers that are the same, one attempt after another.

    An answer that is as it was released is none.
    """
    found: list[list[Answer]] = []
    for attempt in attempts:
        for answer in answers.get(attempt.id, ()):
            if answer.exercise != exercise or not answer.is_begun:
                continue
            before = found[-1][-1] if found else None
            came_out = [(a.score, a.status, [m.id for m in a.mistakes]) for a in (before, answer) if a]
            if before and came_out[0] == came_out[1] and is_same_answer(before, answer):
                found[-1].append(answer)
            else:
                found.append([answer])
    return found


def _row(student: str, name: str, attempts: Sequence[Attempt], tries: Sequence[list[list[Answer]]]) -> Row:
    squares = tuple(Square(found[-1][-1] if found else None, len(found)) for found in tries)
    return Row(student, name, squares, len(attempts), attempts[-1].arrived if attempts else None)


def _effort(exercise: str, tries: Sequence[list[list[Answer]]]) -> Effort:
    begun = [found for found in tries if found]
    needed = [
        number for found in begun if (number := next((n for n, t in enumerate(found, 1) if t[-1].is_right), None))
    ]
    median = statistics.median(needed) if needed else None
    return Effort(exercise, len(needed), len(begun), median, max(needed, default=0))


def _stuck(tries: Mapping[tuple[str, str], list[list[Answer]]]) -> list[Stuck]:
    found = []
    for (student, exercise), theirs in tries.items():
        for mistake in theirs[-1][-1].mistakes[:1] if theirs else ():
            many = next((n for n, one in enumerate(reversed(theirs)) if not one[-1].has(mistake.id)), len(theirs))
            if many >= STUCK:
                found.append(Stuck(student, exercise, mistake, many))
    return sorted(found, key=lambda one: (-one.tries, one.exercise, one.student))


def _common(latest: Mapping[tuple[str, str], Answer]) -> list[Common]:
    who: dict[tuple[str, str], list[tuple[str, str]]] = {}
    messages: dict[tuple[str, str], str] = {}
    for (student, exercise), answer in latest.items():
        for mistake in answer.mistakes:
            who.setdefault((exercise, mistake.id), []).append((student, mistake.line))
            messages[exercise, mistake.id] = mistake.message
    made = [Common(exercise, id, messages[exercise, id], tuple(sorted(them))) for (exercise, id), them in who.items()]
    return sorted(made, key=lambda one: (-len(one.who), one.exercise, one.id))


def _unnamed(
    latest: Mapping[tuple[str, str], Answer],
    nameless: Mapping[tuple[str, str], tuple[Attempt, Outcome]],
    assignment: str,
) -> Iterable[tuple[str, Verdict]]:
    for key, answer in sorted(latest.items(), key=lambda one: one[0]):
        if answer.is_nameless and key in nameless and nameless[key][0].id == answer.attempt.id:
            yield key[0], Verdict("", [nameless[key][1]], answer.attempt.seed, assignment)


# --- what each sentence did -----------------------------------------------------------------------


def _sentences(tries: Mapping[tuple[str, str], list[list[Answer]]]) -> list[Sentence]:
    """What was told, and what came of it; told twice to a student for the same answer, it counts once."""
    found: dict[tuple[str, str], Sentence] = {}
    for (_, exercise), theirs in tries.items():
        for number, same in enumerate(theirs):
            told = {id: message for answer in same for id, message in answer.told}
            for id, message in told.items():
                if not id.startswith(PLACES):
                    sentence = found.setdefault((exercise, id), Sentence(exercise, id, message))
                    sentence.fates[_fate(id, theirs[number + 1 : number + 2])] += 1
    return sorted(found.values(), key=lambda one: (-one.told, one.exercise, one.id))


def _fate(id: str, following: Sequence[list[Answer]]) -> str:
    """What became of a mistake at the next try."""
    if not following:
        return OPEN
    after = following[0][0]
    if after.status != "graded":
        return UNGRADED
    return STAYED if after.has(id) else GONE


def _changed(root: Path) -> int:
    """When the instructor's names were changed; 0 if there are none."""
    try:
        return (root / names.FILE).stat().st_mtime_ns
    except OSError:
        return 0
