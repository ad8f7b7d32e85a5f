"""What an instructor sees of an assignment: who has begun, who is stuck, and what each sentence did.

A sentence is told when an attempt is answered with it. It has helped if, at the student's next try at that exercise,
the mistake is gone. A try is an attempt that answers the exercise with another answer than before: handing in the same
cell once more, because another exercise was worked on, says nothing about the sentence.

What ends the grading of an answer, such as a time-out or an error when its cell runs, is a mistake like any other here.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
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
from ..report.outcome_text import STATUS, said_of
from ..submission import read
from ..submission.answers import CODE, answers_of, is_same
from ..submission.restore import restore
from ..verdict import NO_NAMES, STANDS_ON, Outcome, Verdict
from .record import DONE, GRADING, WAITING, Attempt, Record
from .tables import ATTEMPT, PERSON
from .visitors import INSTRUCTOR

if TYPE_CHECKING:
    from .desk import Desk

STUCK = 3  # tries one after another with the same mistake, or hand-ins of the same wrong answer
KEPT = 1_000  # notebooks of which it is kept in memory how the answers are written
OVERLAP = 60.0  # seconds of the last look that are looked at again: what ends together may be seen one after another
AT_ONCE = 200  # verdicts in a query
# an instructor who is no student, and tries things out
IS_TEACHER = (PERSON.c.role == INSTRUCTOR) & (PERSON.c.student == "") & (PERSON.c.door != "me")
TROUBLE = "stopped: "  # how the ids of mistakes begin that say why there is no grade: no mistake of a bank has a blank
WHOLE = ""  # in place of an exercise: all of the notebook
GONE, STAYED, OPEN, UNGRADED = FATES = ("gone", "still there", "no further try yet", "next try not graded")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A named mistake in one answer, or what ended its grading: `line` is the student's, or "", and `why` says more."""

    id: str
    message: str
    line: str
    why: str = ""

    @property
    def is_trouble(self) -> bool:
        """Whether it ended the grading."""
        return self.id.startswith(TROUBLE)


class Has(NamedTuple):
    """A student who has a mistake: the student's line, or "", and what is said of it besides, such as an error."""

    student: str
    line: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one exercise in one attempt, and the sentences that were `told` of it, as (id, sentence).

    `is_nameless`: it is wrong and has no name. `mistakes` are the named ones, or what ended the grading. `checks` are
    those that were tried, each with whether it passed. Of the attempt, what was told of all of it is left out.
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
    checks: tuple[tuple[str, bool], ...] = ()

    @property
    def is_right(self) -> bool:
        return self.status == "graded" and self.score == self.max_score

    def has(self, id: str) -> bool:
        return any(one.id == id for one in self.mistakes)

    def came_out(self) -> tuple[float, str, list[str]]:
        """What two answers that are the same have in common."""
        return self.score, self.status, [one.id for one in self.mistakes]


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
    """A student in the picture: the squares are in the order of the exercises.

    `waiting` counts the attempts that are not graded yet. `owners` are those whose attempts are the student's.
    """

    student: str
    name: str
    squares: tuple[Square, ...]
    attempts: int
    latest: datetime | None
    waiting: int
    owners: tuple[str, ...]
    is_excused: bool = False

    @property
    def score(self) -> float:
        """The points of all latest answers."""
        return sum(square.answer.score for square in self.squares if square.answer)


@dataclass(frozen=True)
class Stuck:
    """A student whose last `tries` at an exercise all had the same mistake, or who handed in the same `times`.

    The latter means: the same wrong answer, with nothing else changed. `mistake` is None for one without a name.
    """

    student: str
    exercise: str
    mistake: Mistake | None
    tries: int
    times: int
    attempt: Attempt

    @property
    def is_same(self) -> bool:
        """Whether it is the same answer that was handed in again and again."""
        return self.times >= STUCK


@dataclass(frozen=True)
class Effort:
    """How many have an exercise right now, and how many tries it took those who ever had it right."""

    exercise: str
    right: int
    begun: int
    median: float | None
    most: int


@dataclass(frozen=True)
class Common:
    """A mistake that students have in their latest answers, to an exercise or in the WHOLE notebook."""

    exercise: str
    id: str
    message: str
    who: tuple[Has, ...]

    @property
    def is_trouble(self) -> bool:
        """Whether it ended the grading."""
        return self.id.startswith(TROUBLE)


@dataclass(frozen=True)
class Asked:
    """What a check asks for, its kind and its points."""

    sentence: str
    category: str
    points: float


@dataclass(frozen=True)
class Overview:
    """All that is shown of an assignment. `waiting` and `grading` count attempts; `absent` have not begun.

    Who is `excused` is not absent, and counted in no effort.
    """

    waiting: int
    grading: int
    oldest: datetime | None
    absent: list[str]
    excused: list[str]
    rows: list[Row]
    common: list[Common]
    stuck: list[Stuck]
    efforts: list[Effort]
    sentences: list[Sentence]
    groups: Grouping
    newest: Mapping[str, Attempt]  # a student's latest graded attempt, for the code of a group
    checks: Mapping[tuple[str, str], Asked]  # by exercise and name


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


ESSENCES = Essences()  # of all desks of this process


@dataclass
class _Way:
    """A student's way through an exercise, try by try: what is shown of it, however many tries there are.

    `latest` is what became of it in the latest attempt, `answer` the latest that is not as it was released. `right_at`
    is the first right try; `streaks` counts, by mistake, the tries up to the latest that have it, and `times` how often
    the latest was handed in with nothing else changed. `told` is what was told in the latest, and `fates` what became
    of each (id, sentence) that was told before. `nameless` is the latest outcome if it is wrong and has no name.
    """

    tries: int = 0
    latest: Answer | None = None
    answer: Answer | None = None
    right_at: int | None = None
    streaks: dict[str, int] = field(default_factory=dict)
    times: int = 0
    told: dict[str, str] = field(default_factory=dict)
    fates: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    nameless: Outcome | None = None

    def add(self, answer: Answer, outcome: Outcome, is_same: Callable[[Answer, Answer], bool]) -> bool:
        """Take in the next answer; returns whether it is a try: no longer as released, and not as it was before."""
        if not answer.is_begun:
            if self.latest is not None or any(one.is_trouble for one in answer.mistakes):
                self.latest, self.nameless = answer, None  # an answer that is gone
            return False
        told = {id: message for id, message in answer.told if not id.startswith(NO_NAMES)}
        self.latest, self.nameless = answer, outcome if answer.is_nameless else None
        if self.answer and self.answer.came_out() == answer.came_out() and is_same(self.answer, answer):
            self.answer, self.told = answer, self.told | told
            return False
        self.fates.update((id, message, _fate(id, answer)) for id, message in self.told.items())
        self.answer, self.tries, self.times, self.told = answer, self.tries + 1, 1, told
        self.streaks = {one.id: self.streaks.get(one.id, 0) + 1 for one in answer.mistakes}
        if self.right_at is None and answer.is_right:
            self.right_at = self.tries
        return True

    def all_fates(self) -> Counter[tuple[str, str, str]]:
        """How often each (id, sentence, fate) came about; told twice for the same answer, it counts once."""
        return self.fates + Counter((id, message, OPEN) for id, message in self.told.items())


class _Student:
    """What was seen of a student's attempts (or an owner's who is none): as much for a hundred attempts as for one."""

    def __init__(self, exercises: Iterable[str]) -> None:
        self.owners: set[str] = set()
        self.attempts = 0
        self.latest: Attempt | None = None
        self.newest: Attempt | None = None  # of those that are graded
        self.waiting: set[str] = set()
        self.is_nameable = False  # an instructor's name may be for one of the attempts
        self.ways = {exercise: _Way() for exercise in exercises}

    def add(
        self,
        attempt: Attempt,
        verdict: Verdict | None,
        told: Sequence[Mapping[str, Any]],
        is_same: Callable[[Answer, Answer], bool],
        is_all_same: Callable[[Attempt, Attempt], bool],
    ) -> bool:
        """Take in an attempt, as it is now; returns False if a later one was taken in before."""
        self.owners.add(attempt.owner)
        if attempt.id not in self.waiting:
            if not _comes_after(attempt, self.latest):
                return False
            self.attempts, self.latest = self.attempts + 1, attempt
        if verdict is None:
            self.waiting.add(attempt.id)
            return True
        self.waiting.discard(attempt.id)
        if not _comes_after(attempt, self.newest):
            return False
        before, self.newest = self.newest, attempt
        self.is_nameable |= any(outcome.fingerprint for outcome in verdict.exercises)
        ways = [(self.ways[one.exercise], one) for one in verdict.exercises if one.exercise in self.ways]
        tries = [way.add(_answer(attempt, outcome, told), outcome, is_same) for way, outcome in ways]
        if before is not None and not any(tries) and is_all_same(before, attempt):
            for way, _ in ways:
                way.times += 1
        return True


def _comes_after(attempt: Attempt, other: Attempt | None) -> bool:
    return other is None or (attempt.arrived, attempt.id) > (other.arrived, other.id)


class _Seen:
    """What was seen of an assignment, by student: with 20,000 attempts, each look would take a minute otherwise."""

    def __init__(self) -> None:
        self.version: object = None
        self.texts: LRUCache[str, dict[str, str]] = LRUCache(KEPT)
        self.forget()

    def forget(self) -> None:
        self.since = -math.inf
        self.recent: dict[str, tuple[float, object]] = {}  # those that the next look finds again, and how they were
        self.people: dict[int, tuple[str, str, bool]] = {}
        self.students: dict[str, _Student] = {}
        self.checks: dict[tuple[str, str], Asked] = {}

    def look(self, record: Record, root: Path, assignment: Assignment, version: object) -> None:
        """Take in what has changed since the last look; `version` is of the instructor's names."""
        take = functools.partial(self._take, record, assignment, Store(root).names.told)
        late = {student for student, seen in self.students.items() if seen.is_nameable and version != self.version}
        while True:
            for attempts in self._changed(record, assignment):
                late |= take(attempts)
            people = _people(record)  # after the attempts, since people come first
            if all(people.get(id, ("",))[0] == student for id, (student, *_) in self.people.items()):
                break
            self.forget()  # somebody is another student now
            late = set()
        self.people, self.version = people, version
        for student in late:
            owners = self.students.pop(student).owners
            theirs = [one for owner in owners for one in record.attempts(owner=owner, assignment=assignment.name)]
            take(sorted((one for one in theirs if _student(one) == student), key=lambda one: (one.arrived, one.id)))

    def _changed(self, record: Record, assignment: Assignment) -> Iterator[list[Attempt]]:
        """The attempts that are not as they were at the last look, in the order in which they arrived."""
        if self.since == -math.inf:
            yield from record.pages(assignment.name, AT_ONCE)
        else:
            found = record.attempts(assignment=assignment.name, since=self.since)
            yield [one for one in found if self.recent.get(one.id, (0.0, None))[1] != _when(one)]

    def _take(
        self,
        record: Record,
        assignment: Assignment,
        names: Callable[[Verdict], Verdict],
        attempts: Sequence[Attempt],
    ) -> set[str]:
        """Take in attempts in this order; returns the students of whom later ones were taken in before."""
        late = set()
        is_same_answer = functools.partial(self._is_same, record, assignment)
        is_all_same = functools.partial(self._is_all_same, record, assignment)
        for start in range(0, len(attempts), AT_ONCE):
            some = attempts[start : start + AT_ONCE]
            made = verdicts(record, [one.id for one in some if one.state == DONE or one.again])
            for one in some:
                verdict = made.get(one.id)
                self._note_checks(verdict)
                slim = replace(one, told=None, assignment=assignment.name, name="")
                student = _student(one)
                if student not in self.students:
                    self.students[student] = _Student(exercise.name for exercise in assignment.exercises)
                seen = self.students[student]
                if not seen.add(slim, verdict and names(verdict), one.told or (), is_same_answer, is_all_same):
                    late.add(student)
        moments = {one.id: max(moment.timestamp() for moment in (one.arrived, one.ended) if moment) for one in attempts}
        self.since = max([self.since, *(moment - OVERLAP for moment in moments.values())])
        self.recent |= {one.id: (moments[one.id], _when(one)) for one in attempts}
        self.recent = {id: (moment, state) for id, (moment, state) in self.recent.items() if moment > self.since}
        return late

    def _note_checks(self, verdict: Verdict | None) -> None:
        """Keep what the checks of a verdict ask for."""
        for outcome in verdict.exercises if verdict else ():
            for check in outcome.checks:
                key = sys.intern(outcome.exercise), sys.intern(check.name)
                if check.passed or key not in self.checks:
                    self.checks[key] = Asked(check.sentence, check.category, check.points)

    def _is_all_same(self, record: Record, assignment: Assignment, one: Attempt, other: Attempt) -> bool:
        """Whether two attempts have the same code, all of it."""
        if one.sha256 == other.sha256:
            return True
        texts = [self._texts_of(record, assignment, attempt).get(CODE) for attempt in (one, other)]
        return texts[0] == texts[1] is not None

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

    def students_only(self) -> dict[str, _Student]:
        """Without the instructors, who try things out."""
        return {student: seen for student, seen in self.students.items() if not self._of(seen)[2]}

    def name_of(self, student: str) -> str:
        return self._of(self.students[student])[1]

    def _of(self, seen: _Student) -> tuple[str, str, bool]:
        return self.people[seen.latest.person] if seen.latest else ("", "", False)


def is_bank_name(id: str) -> bool:
    """Whether an id is that of a mistake in a bank, or of a group of answers: others are internal, and not shown."""
    return not id.startswith((*NO_NAMES, STANDS_ON, TROUBLE))


def _student(attempt: Attempt) -> str:
    """Whose row an attempt is in: the student's, or that of the owner who is none."""
    return attempt.student or attempt.owner


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
        students = seen.students_only()
        exercises = [exercise.name for exercise in assignment.exercises]
        known = {**{student: seen.name_of(student) for student in students}, **roster}
        ways = {(student, exercise): way for student, one in students.items() for exercise, way in one.ways.items()}
        excused = Store(root).excused(assignment.name)
        counted = [one for student, one in students.items() if student not in excused]
        by_exercise = {e: [one.ways[e] for one in counted] for e in exercises}
        waiting, grading, oldest = _open(record, assignment.name, seen.people)
        return Overview(
            waiting=waiting,
            grading=grading,
            oldest=oldest,
            absent=[student for student in sorted(known) if student not in students and student not in excused],
            excused=[student for student in sorted(known) if student in excused],
            rows=[
                _row(student, known[student], students.get(student) or _Student(exercises), student in excused)
                for student in sorted(known)
            ],
            common=_common(ways),
            stuck=_stuck(ways),
            efforts=[_effort(e, by_exercise[e]) for e in exercises],
            sentences=_sentences(ways),
            groups=grouped(_unnamed(ways, assignment.name)),
            newest={student: one.newest for student, one in students.items() if one.newest},
            checks=dict(seen.checks),
        )


def of_desk(desk: Desk, assignment: Assignment) -> Overview:
    """The Overview of an assignment of a desk's course, with what was seen of it before."""
    roster = {student: person.name for student, person in desk.book.students().items()}
    named = desk.queue.named_again if desk.queue else 0
    return of(desk.record, desk.root, assignment, roster, ESSENCES, named)


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


def verdicts(record: Record, attempts: Collection[str]) -> dict[str, Verdict]:
    """The verdicts on attempts that have one, by their ids."""
    if not attempts:
        return {}
    with record.reading() as connection:
        query = select(ATTEMPT.c.id, ATTEMPT.c.verdict).where(ATTEMPT.c.id.in_(list(attempts)))
        found = [(row.id, row.verdict) for row in connection.execute(query) if row.verdict]
    return {id: Verdict.from_dict(json.loads(verdict)) for id, verdict in found}


def _answer(attempt: Attempt, outcome: Outcome, told: Sequence[Mapping[str, Any]]) -> Answer:
    named = [] if outcome.not_started else [d for d in outcome.diagnosis if d.is_name]
    about = [one for one in told if one["exercise"] == outcome.exercise]
    said = [(name["id"], name["message"]) for one in about for name in one["names"]]
    mistakes = [Mistake(sys.intern(d.id), sys.intern(said_of(d, outcome)), d.line) for d in named]
    if trouble := _trouble(outcome):
        mistakes.append(trouble)
        said += [(trouble.id, trouble.message) for one in about if one["status"] is not None]
    return Answer(
        attempt,
        outcome.exercise,
        outcome.score,
        outcome.max_score,
        outcome.status,
        outcome.status != "missing" and not outcome.not_started,
        tuple(mistakes),
        tuple((sys.intern(id), sys.intern(message)) for id, message in said),
        is_unnamed(outcome),
        tuple((sys.intern(check.name), check.passed) for check in outcome.checks),
    )


def _trouble(outcome: Outcome) -> Mistake | None:
    """What ended the grading of an answer, as a mistake; None if it is graded, or there is none."""
    if outcome.status == "graded" or outcome.not_started:
        return None
    status = {"missing": "was not found"}.get(outcome.status, STATUS[outcome.status])
    return Mistake(sys.intern(f"{TROUBLE}{outcome.status}"), sys.intern(f"It {status}."), "", outcome.message)


# --- what is shown --------------------------------------------------------------------------------

_Ways = Mapping[tuple[str, str], _Way]  # by student and exercise


def _row(student: str, name: str, seen: _Student, is_excused: bool) -> Row:
    squares = tuple(Square(way.latest, way.tries) for way in seen.ways.values())
    latest = seen.latest.arrived if seen.latest else None
    owners = tuple(sorted(seen.owners))
    return Row(student, name, squares, seen.attempts, latest, len(seen.waiting), owners, is_excused)


def _effort(exercise: str, ways: Sequence[_Way]) -> Effort:
    right = sum(way.latest is not None and way.latest.is_right for way in ways)
    needed = [way.right_at for way in ways if way.right_at]
    median = statistics.median(needed) if needed else None
    return Effort(exercise, right, sum(way.tries > 0 for way in ways), median, max(needed, default=0))


def _stuck(ways: _Ways) -> list[Stuck]:
    found = []
    for (student, exercise), way in ways.items():
        if way.latest is None or way.latest is not way.answer or way.latest.is_right:
            continue
        tries, mistake = 0, None
        for one in way.latest.mistakes:
            if way.streaks[one.id] > tries:
                tries, mistake = way.streaks[one.id], one
        if max(tries, way.times) >= STUCK:
            found.append(Stuck(student, exercise, mistake, tries, way.times, way.latest.attempt))
    return sorted(found, key=lambda one: (-max(one.tries, one.times), one.exercise, one.student))


def _common(ways: _Ways) -> list[Common]:
    who: dict[tuple[str, str], set[Has]] = {}
    messages: dict[tuple[str, str], str] = {}
    whole = _of_the_whole(ways)
    for (student, exercise), way in ways.items():
        for mistake in way.latest.mistakes if way.latest else ():
            place = WHOLE if whole.get(student) == mistake.id else exercise
            who.setdefault((place, mistake.id), set()).add(Has(student, mistake.line, mistake.why))
            messages[place, mistake.id] = mistake.message
    made = [Common(exercise, id, messages[exercise, id], tuple(sorted(them))) for (exercise, id), them in who.items()]
    return sorted(made, key=lambda one: (-len(one.who), one.exercise, one.id))


def _of_the_whole(ways: _Ways) -> dict[str, str]:
    """What ended the grading of all exercises of a student's notebook, where it is one thing for several of them."""
    found: dict[str, list[Mistake | None]] = {}
    for (student, _), way in ways.items():
        troubles = [one for one in way.latest.mistakes if one.is_trouble] if way.latest else []
        found.setdefault(student, []).append(troubles[0] if troubles else None)
    return {
        student: troubles[0].id
        for student, troubles in found.items()
        if troubles[0] and len(troubles) > 1 and all(one == troubles[0] for one in troubles)
    }


def _unnamed(ways: _Ways, assignment: str) -> Iterable[tuple[str, Verdict]]:
    for (student, _), way in sorted(ways.items(), key=lambda one: one[0]):
        if way.nameless and way.latest:
            yield student, Verdict("", [way.nameless], way.latest.attempt.seed, assignment)


def _sentences(ways: _Ways) -> list[Sentence]:
    """What was told, and what came of it."""
    found: dict[tuple[str, str], Sentence] = {}
    for (_, exercise), way in ways.items():
        for (id, message, fate), times in way.all_fates().items():
            sentence = found.setdefault((exercise, id), Sentence(exercise, id, message))
            sentence.fates[fate] += times
    return sorted(found.values(), key=lambda one: (-one.told, one.exercise, one.id))


def _fate(id: str, after: Answer) -> str:
    """What became of a mistake at the next try."""
    if after.has(id):
        return STAYED
    if after.status != "graded":
        return UNGRADED
    return GONE


def _changed(root: Path) -> int:
    """When the instructor's names were changed; 0 if there are none."""
    try:
        return (root / names.FILE).stat().st_mtime_ns
    except OSError:
        return 0
