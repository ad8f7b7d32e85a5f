"""What an instructor sees of an assignment: who has begun, who is stuck, and what each sentence did.

A sentence is told when an attempt is answered with it. It has helped if, at the student's next try at that exercise,
the mistake is gone. A try is an attempt that answers the exercise with another answer than before: handing in the same
cell once more, because another exercise was worked on, says nothing about the sentence.
"""

from __future__ import annotations

import functools
import json
import statistics
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

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
KEPT = 4_000  # attempts of which the essence is kept in memory
AT_ONCE = 200  # verdicts in a query
GONE, STAYED, OPEN, UNGRADED = FATES = ("gone", "still there", "no further try yet", "next try not graded")


@dataclass(frozen=True)
class Mistake:
    """A named mistake in one answer: `line` is the student's, or ""."""

    id: str
    message: str
    line: str


@dataclass(frozen=True)
class Answer:
    """What became of one exercise in one attempt; `unnamed` is its outcome if it is wrong and has no name."""

    attempt: Attempt
    exercise: str
    score: float
    max_score: float
    status: str
    is_begun: bool
    mistakes: tuple[Mistake, ...]
    unnamed: Outcome | None = None

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
    """What was seen of attempts, kept for the next look; any thread may ask."""

    def __init__(self) -> None:
        self.kept: OrderedDict[tuple[str, int], tuple[Answer, ...]] = OrderedDict()
        self.texts: OrderedDict[tuple[str, str], dict[str, str]] = OrderedDict()
        self.lock = threading.Lock()

    def of(self, root: Path, record: Record, attempts: Sequence[Attempt]) -> dict[str, tuple[Answer, ...]]:
        """The answers in graded attempts, by the attempt's id."""
        version = _changed(root)
        with self.lock:
            found = {one.id: self.kept[one.id, version] for one in attempts if (one.id, version) in self.kept}
        missing = [one for one in attempts if one.id not in found and one.state == DONE]
        told = Store(root).names.told
        for start in range(0, len(missing), AT_ONCE):
            some = {one.id: one for one in missing[start : start + AT_ONCE]}
            for id, verdict in _verdicts(record, some):
                found[id] = tuple(_answer(some[id], outcome) for outcome in told(verdict).exercises)
        with self.lock:
            for one in attempts:
                if one.id in found:
                    self.kept[one.id, version] = found[one.id]
                    self.kept.move_to_end((one.id, version))
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return found

    def texts_of(self, record: Record, assignment: Assignment, attempt: Attempt) -> dict[str, str]:
        """Hashes of what a student has written in an attempt, as `answers_of` gives them."""
        key = assignment.name, attempt.sha256
        with self.lock:
            if key in self.texts:
                return self.texts[key]
        try:
            cells = read.read_notebook(record.content(attempt.sha256))
            made = answers_of(restore(cells, assignment.cells, assignment))
        except (Unreadable, KeyError):
            made = {}
        with self.lock:
            self.texts[key] = made
            while len(self.texts) > KEPT:
                self.texts.popitem(last=False)
        return made


def of(
    record: Record, root: Path, assignment: Assignment, roster: Mapping[str, str], essences: Essences | None = None
) -> Overview:
    """The Overview of an assignment; `roster` has the name of each student's id."""
    essences = essences or Essences()
    attempts = students_only(record, record.attempts(assignment=assignment.name))
    answers = essences.of(root, record, attempts)
    by_student: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        by_student.setdefault(attempt.student or attempt.owner, []).append(attempt)
    exercises = [exercise.name for exercise in assignment.exercises]
    is_same_answer = functools.partial(_is_same, record, assignment, essences)
    tries = {
        (student, exercise): _tries(theirs, exercise, answers, is_same_answer)
        for student, theirs in by_student.items()
        for exercise in exercises
    }
    known = {**{student: theirs[-1].name for student, theirs in by_student.items()}, **roster}
    rows = [
        _row(student, known[student], by_student.get(student, []), [tries.get((student, e), []) for e in exercises])
        for student in sorted(known)
    ]
    latest = {key: found[-1][-1] for key, found in tries.items() if found}
    waiting = [one for one in attempts if one.state == WAITING]
    return Overview(
        waiting=len(waiting),
        grading=sum(one.state == GRADING for one in attempts),
        oldest=waiting[0].arrived if waiting else None,
        absent=[student for student in sorted(known) if student not in by_student],
        rows=rows,
        common=_common(latest),
        stuck=_stuck(tries),
        efforts=[_effort(e, [found for (_, name), found in tries.items() if name == e]) for e in exercises],
        sentences=_sentences(tries),
        groups=grouped(_unnamed(latest, assignment.name)),
        newest={student: done[-1] for student, theirs in by_student.items() if (done := _graded(theirs))},
    )


def students_only(record: Record, attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts without those of instructors, who try things out."""
    with record.reading() as connection:
        query = select(PERSON.c.id).where(PERSON.c.role == INSTRUCTOR, PERSON.c.student == "", PERSON.c.door != "me")
        teachers = set(connection.execute(query).scalars())
    return [one for one in attempts if one.person not in teachers]


def _verdicts(record: Record, attempts: Iterable[str]) -> list[tuple[str, Verdict]]:
    with record.reading() as connection:
        query = select(ATTEMPT.c.id, ATTEMPT.c.verdict).where(ATTEMPT.c.id.in_(list(attempts)))
        return [
            (row.id, Verdict.from_dict(json.loads(row.verdict))) for row in connection.execute(query) if row.verdict
        ]


def _answer(attempt: Attempt, outcome: Outcome) -> Answer:
    named = [d for d in outcome.diagnosis if not d.id.startswith(PLACES)]
    return Answer(
        attempt,
        outcome.exercise,
        outcome.score,
        outcome.max_score,
        outcome.status,
        outcome.status != "missing" and not outcome.not_started,
        tuple(Mistake(d.id, said_of(d, outcome), d.line) for d in named),
        outcome if is_unnamed(outcome) else None,
    )


def _graded(attempts: Iterable[Attempt]) -> list[Attempt]:
    return [one for one in attempts if one.state == DONE]


def _is_same(record: Record, assignment: Assignment, essences: Essences, one: Answer, other: Answer) -> bool:
    """Whether two answers are written the same."""
    if one.attempt.sha256 == other.attempt.sha256:
        return True
    texts = [essences.texts_of(record, assignment, answer.attempt) for answer in (one, other)]
    return is_same(assignment, one.exercise, *texts)


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


def _unnamed(latest: Mapping[tuple[str, str], Answer], assignment: str) -> Iterable[tuple[str, Verdict]]:
    for (student, _), answer in sorted(latest.items(), key=lambda one: one[0]):
        if answer.unnamed:
            yield student, Verdict("", [answer.unnamed], answer.attempt.seed, assignment)


# --- what each sentence did -----------------------------------------------------------------------


def _sentences(tries: Mapping[tuple[str, str], list[list[Answer]]]) -> list[Sentence]:
    """What was told, and what came of it; told twice to a student for the same answer, it counts once."""
    found: dict[tuple[str, str], Sentence] = {}
    for (_, exercise), theirs in tries.items():
        for number, same in enumerate(theirs):
            told = {name["id"]: name["message"] for answer in same for name in _told(answer)}
            for id, message in told.items():
                if not id.startswith(PLACES):
                    sentence = found.setdefault((exercise, id), Sentence(exercise, id, message))
                    sentence.fates[_fate(id, theirs[number + 1 : number + 2])] += 1
    return sorted(found.values(), key=lambda one: (-one.told, one.exercise, one.id))


def _told(answer: Answer) -> Iterable[Mapping[str, str]]:
    for one in answer.attempt.told or ():
        if one["exercise"] == answer.exercise:
            yield from one["names"]


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
