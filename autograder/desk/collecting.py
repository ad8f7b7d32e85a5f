"""`autograder collect NN --desk`: takes the attempts that count into `submitted/`, with what the desk found in them.

Everything after it is as ever. The rounds and results go into the course's store, so that `autograder grade` gives what
the desk said, without grading anything again.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sqlalchemy import select

from ..batch import run
from ..batch.commands import locked
from ..course import Assignment
from ..errors import Unreadable
from ..grading.rounds import Rounds
from ..grading.store import Store, course_version
from ..intake.identity import Noted, keys_of
from ..lms import handins
from ..lms import roster as rosters
from ..lms.handins import Collected, Taken, shown
from ..nbgrader.runs import NbgraderCourse
from ..submission import files, read
from ..submission.times import time_of
from . import counting
from .command import database_of
from .deadlines import Deadlines
from .gradebook_reader import GradebookReader
from .record import DONE, Attempt, Record
from .settings import BEST, LATEST, Settings, settings_of
from .tables import PERSON

DESK = "desk"  # in the note of a hand-in that came from here: the attempt
FORMAT = "%Y-%m-%d %H:%M:%S"


def from_desk(
    root: Path, assignment: Assignment, database: str | None, device: str, forget: Collection[str] = ()
) -> int:
    """Take the attempts that count from the desk's records, as its settings say. Returns the exit code."""
    runs = NbgraderCourse(root)
    settings = functools.cache(functools.partial(settings_of, runs.config))
    record = Record(database_of(root, runs.directory.db_url, SimpleNamespace(database=database, me=False)))
    try:
        return collect(root, assignment, record, settings, device, forget)
    finally:
        record.close()


def collect(
    root: Path,
    assignment: Assignment,
    record: Record,
    settings: Callable[[str], Settings],
    device: str,
    forget: Collection[str] = (),
) -> int:
    """Take the attempts that count, as the `settings` of assignments say, and say what came of it.

    `forget` holds students whose account is another one than before. Returns the exit code.
    """
    results, runs = Store(root), NbgraderCourse(root)
    with locked(root, assignment.name):
        collector = Collector(root, assignment, record, results, device, forget)
        with contextlib.closing(GradebookReader(root, runs.directory.db_url)) as book:
            collector.collect(settings(assignment.name).counts, functools.partial(_due, root, record, book, settings))
    students = rosters.read(runs, results)
    missing = rosters.without_hand_in(students, run.students(root, assignment.name), results, assignment)
    notes = results.handed_in(assignment.name)
    told = collector.told
    print("\n".join(handins.told(told, assignment, ["the desk"], missing, notes)))
    if collector.anew:
        print(f"  graded again, since the course has changed: {len(collector.anew)} ({handins.listed(collector.anew)})")
    for problem in dict.fromkeys(told.problems):
        print(f"autograder: {shown(problem, 2_000)}", file=sys.stderr)
    return 1 if told.problems else 0


def _due(
    root: Path,
    record: Record,
    book: GradebookReader,
    settings: Callable[[str], Settings],
    assignment: str,
    student: str,
) -> datetime | None:
    """Until when a student's hand-in that counts is in time: with an extension, and the late days that it spends."""
    if assignment not in book.assignments():
        return None
    return Deadlines(root, record, book, settings, student).of(assignment).counts_until


class Collector:
    """Takes the attempts on one assignment. `anew` are students whose result is of an earlier version of the course."""

    def __init__(
        self,
        root: Path,
        assignment: Assignment,
        record: Record,
        results: Store,
        device: str,
        forget: Collection[str] = (),
    ) -> None:
        self.root, self.assignment, self.record, self.results = root, assignment, record, results
        self.device, self.forget = device, set(forget)
        self.told = Collected()
        self.anew: list[str] = []
        self.people = _people(record)
        self.noted = Noted(results.all_handed_in(), assignment.name, forget)

    def collect(self, counts: str, due: Callable[[str, str], datetime | None]) -> None:
        """Write the attempts that count into `submitted/`, and what is known of them into the store.

        `due` says until when a hand-in of a student is in time, for an assignment.
        """
        by_student: dict[str, list[Attempt]] = {}
        strangers = set[str]()
        for attempt in self.record.attempts(assignment=self.assignment.name):
            if attempt.student:
                by_student.setdefault(attempt.student, []).append(attempt)
            elif self.people[attempt.person][2] == "student":
                strangers.add(attempt.name or attempt.owner)
        if strangers:
            self.told.remarks.append(f"not on the roster, so nothing is taken: {handins.listed(sorted(strangers))}")
        notes, dropped = self.results.handed_in(self.assignment.name), self.results.dropped()
        rounds = Rounds(self.results, self.assignment.name)
        rounds.put({student: {one.sha256: one.round for one in theirs} for student, theirs in by_student.items()})
        for student, theirs in sorted(by_student.items()):
            if student in dropped:
                self.told.remarks.append(f"{shown(student)}: dropped, so nothing is taken")
                continue
            until = due(self.assignment.name, student)
            chosen = counting.counted(theirs, counts, until)
            if chosen is None:
                self._say_why_none(student, theirs, until)
                continue
            if counts == BEST and any(one.state != DONE and one.exercise is None for one in theirs):
                self.told.problems.append(f"{shown(student)}: an attempt is not graded yet, which may be better")
            if not self._take(student, chosen, until, notes.get(student, {})):
                continue
            self._keep_result(student, chosen)
            late = counting.is_late(chosen, until)
            if late:
                self.told.late.append(student)
            notes[student] = self._note(chosen, late)
        self.results.put_handed_in(self.assignment.name, notes)

    def _say_why_none(self, student: str, theirs: Sequence[Attempt], due: datetime | None) -> None:
        whole = [one for one in theirs if one.exercise is None]
        if whole and all(counting.is_late(one, due) for one in whole):
            why = f'handed in after the due date, which does not count (c.Desk.counts = "{LATEST}" takes it)'
        elif whole:
            why = "has handed in, and nothing of it is graded yet: collect again when it is"
            self.told.problems.append(f"{shown(student)} {why}")
            return
        else:
            why = "has asked about single exercises alone"
        self.told.remarks.append(f"{shown(student)}: {why}")

    def _take(self, student: str, attempt: Attempt, due: datetime | None, note: Mapping[str, Any]) -> bool:
        """Write an attempt into `submitted/`; returns whether it lies there now. `note` is of what lay there."""
        if problem := files.problem_of(student) or self._who_else(student, attempt):
            self._problem(student, problem)
            return False
        folder = self.root / "submitted" / student / self.assignment.name
        notebook, stamp = folder / f"{self.assignment.name}.ipynb", folder / "timestamp.txt"
        if any(part.is_symlink() for part in (folder.parent, folder, notebook, stamp)):
            self._problem(student, f"submitted/{student} is or holds a link, so nothing is written there")
            return False
        data, before = self.record.content(attempt.sha256), _bytes_of(notebook)
        there = time_of((_bytes_of(stamp) or b"").decode("utf-8", "replace"))
        arrived = attempt.arrived.replace(microsecond=0, tzinfo=None)
        if before is not None and before != data and DESK not in note and there and there > arrived:
            self.told.remarks.append(f"{shown(student)}: what lies in submitted/ is of {there} UTC, later, and stays")
            return False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if before != data:
                handins.replace_bytes(notebook, data)
            handins.replace_bytes(stamp, f"{arrived:{FORMAT}} UTC\n".encode())
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self._problem(student, f"something else lies in the place of submitted/{student}")
            return False
        what, late = handins.what_of(before, data), counting.is_late(attempt, due)
        self.told.taken.append(Taken(student, attempt.name, notebook.name, arrived, late, what, []))
        return True

    def _who_else(self, student: str, attempt: Attempt) -> str:
        """Why somebody may not be the student of earlier hand-ins, or ""."""
        keys = self._keys(attempt)
        if found := self.noted.difference(student, keys):
            return f"{found}: if it is the same person, --forget {student}"
        others = {other for kind, value in keys.items() for other in self.noted.students(kind, value)} - {student}
        return f"is by the account of {', '.join(sorted(others))}" if others else ""

    def _keys(self, attempt: Attempt) -> dict[str, str]:
        door, subject, _ = self.people[attempt.person]
        return keys_of(door, lms_id=subject)

    def _problem(self, student: str, problem: str) -> None:
        self.told.problems.append(f"{shown(student)}: {problem}")
        self.told.unusable.add(student)

    def _keep_result(self, student: str, attempt: Attempt) -> None:
        """Put what the desk found into the course's store, unless something has changed on which it depends."""
        if attempt.state != DONE:
            return
        graded, version = self.record.graded(attempt.id), self.record.course_version(attempt.id)
        if graded is None or version != course_version() or graded.verdict.seed != attempt.seed:
            self.anew.append(student)
            return
        level = graded.verdict.sandbox
        waived = {outcome.exercise: outcome.waived for outcome in graded.verdict.exercises}
        key = self.results.key(attempt.sha256, self.assignment.name, attempt.seed, self.device, level, waived)
        self.results.put(key, graded)

    def _note(self, attempt: Attempt, late: bool) -> dict[str, Any]:
        """What is noted of a hand-in, as handins.py does: who it is by, by what no student can type."""
        door, subject, _ = self.people[attempt.person]
        said = {"name": attempt.name, "email": "", "lms_id": subject, "participant": "", "given": ""}
        time = f"{attempt.arrived:{FORMAT}}"
        return {"system": door, "entry": "", "late": late, "time": time, DESK: attempt.id, **said}


def _people(record: Record) -> dict[int, tuple[str, str, str]]:
    """(door, the door's id, role) of everybody, by the number of their row."""
    with record.reading() as connection:
        rows = connection.execute(select(PERSON.c.id, PERSON.c.door, PERSON.c.subject, PERSON.c.role))
        return {row.id: (row.door, row.subject, row.role) for row in rows}


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read.read_bytes(path)
    except Unreadable:
        return None
