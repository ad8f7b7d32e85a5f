"""Grades what the record has waiting, with the workers of batch/: threads, each of which has an attempt at a time."""

from __future__ import annotations

import functools
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from .. import course
from ..batch import naming
from ..batch.commands import engine_for, judged
from ..batch.tasks import Task
from ..errors import CourseError, UsageError, UserError
from ..grading import gate
from ..grading.rounds import Rounds
from ..grading.store import Store
from ..grading.waivers import Scoring
from ..groups import names
from ..groups.names import is_unnamed
from ..verdict import FULL, Graded, Outcome, Verdict, settled
from . import disclosure
from .logs import Log
from .record import LEASE, Attempt, Record

if TYPE_CHECKING:
    from ..batch.run import Engine

LOOK = 0.5  # seconds between two looks for what another desk has received, or has left behind
AGAIN = 20.0  # seconds after which what stopped a worker, or an assignment, is tried again
NO_WORKERS = "The machines that grade cannot be used; your instructor can see why."
INTERNAL_ERROR = "An internal error stops the grading."


@dataclass(frozen=True)
class Grading:
    """How the desk grades: `jobs` processes here, or the workers of a Dask `scheduler`.

    `points` are those that the configuration gives to exercises, `scoring` says how scores are made.
    """

    root: Path
    jobs: int
    scheduler: str | None = None
    device: str = "cpu"
    sandbox: str = FULL
    points: Any = None
    scoring: Scoring = field(default_factory=Scoring)


class Queue:
    """The threads that grade. Use it in a `with`: it gives back what it has not finished.

    `heard` is called, by any of its threads, with the id of an attempt of which there is something new.
    """

    def __init__(self, record: Record, grading: Grading, heard: Callable[[str], None] = lambda id: None) -> None:
        self.record = record
        self.grading = grading
        self.heard = heard
        self.log = Log(__name__)
        self.name = f"{socket.gethostname()[:30]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.early: dict[str, dict[str, Outcome]] = {}  # outcomes of attempts in grading, by exercise
        self.problems: dict[str, str] = {}  # why nothing is graded now, for students: by assignment, "" for all
        self.fault = ""  # why nothing is graded now, for instructors: students must not learn where machines are
        self.faulty: dict[str, float] = {}  # assignments that cannot be graded, and when to try again
        self.passed: set[str] = set()  # those whose gate has been passed since the desk began
        self.trying = ""  # the assignment whose gate is being passed
        self.gates = threading.Lock()
        self.names_read = _changed(grading.root)
        self.named_again = 0  # times that the names' examples were graded for inputs that were drawn before
        self.news = threading.Condition()
        self.is_ending = False
        self.threads: list[threading.Thread] = []

    def __enter__(self) -> Queue:
        """Raises UsageError if what grades is not installed."""
        self.engine()
        jobs = 1 if self.grading.scheduler else self.grading.jobs
        self.threads = [threading.Thread(target=self._work, name=f"grading-{n}", daemon=True) for n in range(jobs)]
        self.threads.append(threading.Thread(target=self._stay, name="leases", daemon=True))
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.is_ending = True
        with self.news:
            self.news.notify_all()
        try:
            self.record.give_back(self.name)
        except SQLAlchemyError as problem:
            self.log.warning("what was begun is graded again after %g s (%s)", LEASE, first_line(problem))

    def wake(self) -> None:
        """Say that something has arrived."""
        with self.news:
            self.news.notify_all()

    def outcomes(self, id: str) -> dict[str, Outcome]:
        """The outcomes that are known of an attempt in grading, by exercise."""
        return dict(self.early.get(id, {}))

    def problem(self, assignment: str) -> str:
        """Why nothing of an assignment is graded at present, as a sentence; "" if all is well."""
        return self.problems.get("") or self.problems.get(assignment, "")

    def is_trying(self, assignment: str) -> bool:
        """Whether it is being found out whether an assignment can be graded."""
        return self.trying == assignment

    # --- the threads ------------------------------------------------------------------------------

    def _stay(self) -> None:
        """Renew the leases of this desk."""
        while not self._waited(LEASE / 4):
            try:
                self.record.renew(self.name, list(self.early))
            except SQLAlchemyError as problem:
                self.log.warning("the records cannot be reached (%s)", first_line(problem))

    def _waited(self, seconds: float) -> bool:
        """Wait so long; returns at once, with True, when the desk ends."""
        until = time.monotonic() + seconds
        while not self.is_ending and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK))
        return self.is_ending

    def _work(self) -> None:
        """Grade one attempt after another; whatever stops that is said, and tried again after a while."""
        while not self.is_ending:
            try:
                with self.engine() as engine:
                    engine.warm(1)
                    while not self.is_ending:
                        if not self._grade_next(engine):
                            self._wait_for_news()
            except SQLAlchemyError as problem:
                self.log.error("the records cannot be reached (%s)", first_line(problem))
                self._waited(1.0)
            except Exception as problem:
                known = isinstance(problem, UserError)
                self.problems[""] = NO_WORKERS if known else INTERNAL_ERROR
                self.fault = str(problem) if known else INTERNAL_ERROR
                self.log.error("nothing is graded: %s", problem, exc_info=not known)
                self._waited(AGAIN if known else LEASE)

    def engine(self) -> Engine:
        """What grades for one thread: a process of its own, or the cluster. Raises UsageError if there is no Dask."""
        about = self.grading
        learnt = Store(about.root).learnt
        return engine_for(about.scheduler, 1, about.device, about.sandbox, learnt, self._hear, ahead=1)

    def _wait_for_news(self) -> None:
        with self.news:
            if not self.is_ending:
                self.news.wait(LOOK)

    def _grade_next(self, engine: Engine) -> bool:
        """Grade what comes next, as far as the engine takes it; returns whether there was anything."""
        self._name_again(engine)
        coming = _Coming(self, most=None if self.grading.scheduler else 1)
        try:
            for task, graded in engine.graded(coming, 1):
                self.problems.pop("", None)
                self.fault = ""
                self._finish(task, graded, engine)
                coming.held.discard(task.key)
        finally:
            for id in coming.held:
                self.early.pop(id, None)  # all of them first: what cannot be given back must lapse
            for id in coming.held:
                self.record.unclaim(id, self.name)
        if coming.unfit:
            self._pass_gate(coming.unfit, engine)
        return coming.found or self._grade_again(engine)

    def _grade_again(self, engine: Engine) -> bool:
        """Grade once more what was stopped, if there is nothing else to do; returns whether there was anything.

        As `autograder grade` does, though others may arrive and be graded meanwhile: so what is stopped once more is
        graded by `grade` once more, before it counts.
        """
        attempt = self.record.claim_again(self.name, self._unfit())
        if attempt is None:
            return False
        try:
            if attempt.assignment not in self.passed:
                self._pass_gate(attempt.assignment, engine)
                return True
            task = replace(self.task(attempt), alone=True, tells=False)
            for _, graded in engine.graded(iter([task]), 1, alone=True):
                before = self.record.graded(attempt.id)
                self._finish(task, settled(before, graded) if before else graded, engine)
        finally:
            self.early.pop(attempt.id, None)
            self.record.unclaim(attempt.id, self.name)
        return True

    def claimed(self) -> Attempt | None:
        """The attempt whose turn it is, if there is one."""
        return self.record.claim(self.name, self._unfit(), rests=True)

    def _unfit(self) -> list[str]:
        """The assignments that cannot be graded at present."""
        now = time.monotonic()
        return [name for name, until in self.faulty.items() if until > now]

    def task(self, attempt: Attempt) -> Task:
        self.early[attempt.id] = {}
        self.heard(attempt.id)
        data = self.record.content(attempt.sha256)
        settings = {"sandbox": self.grading.sandbox, "exercise": attempt.exercise or "", "tells": True}
        waived = self.grading.scoring.waivers.of_assignment(attempt.assignment)
        return Task(attempt.student, attempt.id, data, attempt.assignment, attempt.seed, waived=waived, **settings)

    def _hear(self, task: Task, outcome: Outcome) -> None:
        """Take the outcome of one exercise while the others are still being graded."""
        if (known := self.early.get(task.key)) is not None:
            known[outcome.exercise] = self.grading.scoring.of_outcome(outcome)
            self.heard(task.key)

    def _pass_gate(self, name: str, engine: Engine) -> None:
        """Find out whether an assignment can be graded (grading/gate.py)."""
        with self.gates:
            if name in self.passed:
                return
            self.trying = name
            try:
                assignment, results = course.find_assignment(name), Store(self.grading.root)
                seed = Rounds(results, name).first()
                judge = functools.partial(judged, engine, seed)
                for sentence in gate.require(assignment, judge, self.grading.points, results, seed):
                    self.log.warning("%s", sentence, kind=sentence)
            except CourseError as problem:
                self.log.error("%s is not graded: %s", name, problem, kind=name)
                self.problems[name] = "This assignment cannot be graded yet, by a mistake in it: tell your instructor."
                self.faulty[name] = time.monotonic() + AGAIN
            else:
                self.passed.add(name)
                self.problems.pop(name, None)
                self.faulty.pop(name, None)
            finally:
                self.trying = ""

    def _finish(self, task: Task, graded: Graded, engine: Engine) -> None:
        """Record what became of an attempt, with what its person is told of it."""
        graded = replace(graded, verdict=self.grading.scoring.of(graded.verdict))
        attempt = self.record.attempt(task.key)
        if attempt is None:
            return
        named = self.named(graded.verdict, engine)
        told = [disclosure.told(outcome, attempt.level, attempt.withheld) for outcome in named.exercises]
        again = not (graded.final or task.alone)
        if not self.record.finish(attempt.id, self.name, graded, told, again):
            self.log.warning("another desk has graded %s meanwhile", attempt.id)
        self.early.pop(attempt.id, None)
        self.heard(attempt.id)

    # --- the instructor's own names ---------------------------------------------------------------

    def named(self, verdict: Verdict, engine: Engine) -> Verdict:
        """The verdict with the names that the instructor has given to answers like these."""
        results = Store(self.grading.root)
        try:
            if results.names.given and any(map(is_unnamed, verdict.exercises)):
                self._grade_examples(results, verdict.assignment, [verdict.seed], engine)
            return results.names.told(verdict)
        except CourseError as problem:
            self.log.error("no names are told: %s", problem)
            return verdict

    def _name_again(self, engine: Engine) -> None:
        """If the instructor has given a name: find out what its example does on all inputs that were drawn."""
        changed = _changed(self.grading.root)
        with self.gates:
            if changed == self.names_read:
                return
            self.names_read = changed
        results = Store(self.grading.root)
        try:
            for name in {course.find_exercise(given.exercise).assignment for given in results.names.given.values()}:
                self._grade_examples(results, name, self.record.seeds(name), engine)
            self.named_again += 1
        except (CourseError, UsageError) as problem:
            self.log.error("no names are told: %s", problem)

    def _grade_examples(self, results: Store, name: str, seeds: Iterable[int], engine: Engine) -> None:
        about = self.grading
        naming.grade_examples(engine, results, course.find_assignment(name), seeds, about.device, about.sandbox)


class _Coming(Iterator[Task]):
    """The tasks that an engine gets, at most so many; it may be asked again after there was none.

    `held` are the attempts that were claimed for it, and not yet finished; `unfit` is an assignment whose gate must be
    passed first.
    """

    def __init__(self, queue: Queue, most: int | None) -> None:
        self.queue = queue
        self.left = math.inf if most is None else most
        self.held: set[str] = set()
        self.found = False
        self.unfit = ""

    def __next__(self) -> Task:
        if self.left < 1 or self.unfit or self.queue.is_ending:
            raise StopIteration
        attempt = self.queue.claimed()
        if attempt is None:
            raise StopIteration
        self.found = True
        if attempt.assignment not in self.queue.passed:
            self.unfit = attempt.assignment
            self.queue.record.unclaim(attempt.id, self.queue.name)
            raise StopIteration
        self.left -= 1
        self.held.add(attempt.id)
        return self.queue.task(attempt)


def _changed(root: Path) -> int:
    """When the file of the instructor's names was changed; 0 if there is none."""
    try:
        return (root / names.FILE).stat().st_mtime_ns
    except OSError:
        return 0


def first_line(error: BaseException) -> str:
    """The first line of what an error of a database says."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]
