"""Grades and records all submissions of an assignment: known results come from the store, the rest from an engine."""

from __future__ import annotations

import contextlib
import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from ..errors import NotRecorded, Unreadable, UsageError
from ..grading.rounds import Rounds
from ..grading.waivers import Scoring
from ..intake.identity import HIDDEN
from ..report import regrade
from ..report.outcome_text import name_of
from ..submission import belonging, files, read
from ..submission.answers import answers_of, is_same
from ..submission.read import StrPath, SubmittedCell
from ..submission.restore import restore
from ..verdict import FULL, Graded, Verdict, rejected, settled
from .tasks import Task

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store

SLOWEST = 5


class Engine(Protocol):
    """Grades tasks: the processes of this machine (`pool.Pool`), or a Dask cluster (`cluster.Cluster`).

    It is a context manager; however it exits, no task is left running. Inside it, `warm` and `graded` may be called
    repeatedly.
    """

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None, /
    ) -> None: ...

    def warm(self, total: int) -> None:
        """Start as many workers as `total` tasks can use, without waiting for them."""
        ...

    def graded(self, coming: Iterator[Task], total: int, alone: bool = False) -> Iterator[tuple[Task, Graded]]:
        """Grade the tasks that are `coming`, at most `total`: yields each with its Graded, as soon as it is done.

        A task is asked for when there is room for it; with `alone`, only when no other is being graded. Raises
        SandboxError or UsageError if nothing can be graded.
        """
        ...


class Recorder(Protocol):
    """Records submissions: `gradebook.GradebookWriter`, many at a time, or nbgrader itself (`runs.StockRecorder`).

    It is a context manager: on exit, it records what is still waiting, unless there was an exception.
    """

    @property
    def unrecorded(self) -> Sequence[tuple[str, str]]:
        """(student, reason) pairs of those who have no row in the end, although `add` accepted their submission."""
        ...

    def __enter__(self) -> Recorder: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None, /
    ) -> None: ...

    def cached_verdict(self, student: str, key: str) -> Verdict | None:
        """The verdict of the result `key`, if that result is already recorded for the student, or None."""
        ...

    def add(self, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str) -> None:
        """Record the result `key` for the cells that a student `submitted` (none if they could not be read).

        Raises NotRecorded.
        """
        ...


def students(root: StrPath, assignment: str) -> list[str]:
    """The names of all students who handed something in, sorted, without those who were dropped."""
    from ..grading.store import Store  # late, for a quick start

    dropped = Store(root).dropped()
    return [name for name in files.students(Path(root) / "submitted", assignment) if name not in dropped]


def asked_for(root: StrPath, assignment: str, only: Sequence[str] | None = None) -> Sequence[str]:
    """The students to be graded: `only` these, or everybody who handed something in. Raises UsageError."""
    from ..grading.store import Store

    handed_in = students(root, assignment)
    who = only or handed_in
    if left := sorted(set(who) & Store(root).dropped()):
        raise UsageError(f"{', '.join(left)}: dropped; `autograder roster --take-back ID` takes them back.")
    if strangers := sorted(set(who) - set(handed_in)):
        raise UsageError(f"Nothing was handed in for {assignment} by {', '.join(strangers)}.")
    if not who:
        nobodys = "".join(f" {name_of(remark)}." for remark in [*remarks(root, assignment, ())][:3])
        raise UsageError(f"Nothing was handed in: there is no submitted/STUDENT/{assignment}.{nobodys}")
    return who


def remarks(root: StrPath, assignment: str, who: Iterable[str], enrolled: Collection[str] = ()) -> Iterator[str]:
    """Sentences about things in `submitted/` that the instructor should look at, though they stop nothing.

    `enrolled` are the students of the roster, if there is one.
    """
    from .. import course
    from ..grading.store import Store

    submitted = Path(root) / "submitted"
    who = list(who)
    known = [*course.assignments()]
    released = submitted.parent / "release"
    results = Store(root)
    by_number = [one for one, note in results.handed_in(assignment).items() if note.get(HIDDEN)]
    enrolled = {*enrolled, *by_number} if enrolled else enrolled
    yield from belonging.strays(submitted, known, {assignment}, enrolled, results.dropped(), released)
    for students in files.sharing(submitted, assignment, who):
        yield f"{', '.join(students)}: their notebooks are one and the same file (by hard links): find out who wrote it"
    for student in who:
        if said := files.left_out(submitted / student / assignment):
            yield f"{student}: {said} to autograded/"


class Nobody:
    """The Recorder of a run that writes nothing."""

    unrecorded = ()

    def __enter__(self) -> Nobody:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def cached_verdict(self, student: str, key: str) -> None:
        return None

    def add(self, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str) -> None:
        pass


class Changed(Exception):
    """A submission is no longer what it was when the run began."""


@dataclass(frozen=True)
class Doubt:
    """A change that the inputs alone may have made: the answer is as before. `key` is the new hand-in's result on the
    `earlier` inputs, a seed.
    """

    change: regrade.Change
    key: str
    earlier: int


class Batch:
    """One run over the submissions of the students `who`. The constructor looks at each submission once.

    Afterwards `unreadable` holds reasons by student, and `known` lists pairs (student, key of the stored result).
    `pending` maps the keys of results still to be found to lists of students: equal submissions are graded once.
    `stopped` does the same for submissions that a deadline or a kill stopped last time: each run grades them
    once more, alone, before that counts. With `renew`, nothing counts as known; with `new_inputs`, everybody also gets
    new inputs. `seeds` are those of the inputs, by student (grading/rounds.py). `results` is the course's store,
    `sandbox` the level at which the engine grades, `scoring` how scores are made of what it finds (`score_by`).

    While running, it keeps `graded` (a count), `statuses` (the statuses of exercises that could not be graded, and how
    many submissions have each), `problems` (student, why there is no row), `unjudged` (checks that ended by a mistake
    of their own, and for how many students), `slowest` (seconds, student, what took most of them, and how many) and
    `changes` (who gets other points than before for the same work, or for the same code because of its inputs alone)
    and `with_new_work` (who is graded for the first time, or gets other points for other work than before).
    """

    def __init__(
        self,
        root: StrPath,
        assignment: Assignment,
        who: Iterable[str],
        results: Store,
        device: str = "cpu",
        renew: bool = False,
        new_inputs: bool = False,
        sandbox: str = FULL,
    ) -> None:
        self.root = Path(root)
        self.assignment = assignment
        self.results = results
        self.device = device
        self.sandbox = sandbox
        self.scoring = Scoring()
        self.renew = renew or new_inputs
        self.rounds = Rounds(results, assignment.name)
        if new_inputs:
            self.rounds.renew()
        self.unreadable: dict[str, str] = {}  # the reason by student
        self.known: list[tuple[str, str]] = []
        self.pending: dict[str, list[str]] = {}
        self.stopped: dict[str, list[str]] = {}
        self.graded = 0
        self.statuses: Counter[str] = Counter()
        self.problems: list[tuple[str, str]] = []
        self.unjudged: Counter[str] = Counter()
        self.slowest: list[tuple[float, str, str, float]] = []
        self.changes: list[regrade.Change] = []
        self.with_new_work: set[str] = set()
        self.doubts: list[Doubt] = []
        self.digests = {student: digest for student in who if (digest := self._digest(student))}
        self.seeds = self.rounds.take(self.digests)
        self._sort_all()

    def score_by(self, scoring: Scoring) -> None:
        """Set how scores are made, before `run`. What is waived may ask for other results than those that are known."""
        self.scoring = scoring
        if self.waived:
            self._sort_all()

    def _sort_all(self) -> None:
        """Put each readable hand-in where it belongs: `known`, `stopped` or `pending`."""
        self.known, self.pending, self.stopped = [], {}, {}
        for student, digest in self.digests.items():
            self._sort(student, self._key_for(digest, self.seeds[student]))

    def _digest(self, student: str) -> str | None:
        """The hash of what a student handed in; None if it cannot be read."""
        try:
            file = self._read(student)
            seed = self.rounds.known(student, file.digest)
            if seed is None or self.renew or not self.results.has(self._key_for(file.digest, seed)):
                _ = file.cells  # raises Unreadable
            return file.digest
        except Unreadable as problem:
            self.unreadable[student] = str(problem)
            return None

    def _sort(self, student: str, key: str) -> None:
        if self.results.has(key) and not self.renew:
            self.known.append((student, key))
            return
        waiting = self.stopped if self.results.was_stopped(key) and not self.renew else self.pending
        waiting.setdefault(key, []).append(student)

    @property
    def at_once(self) -> int:
        """How many submissions can be graded at the same time."""
        return max(len(self.pending), min(1, len(self.stopped)))

    def _read(self, student: str) -> read.SubmittedFile:
        """What a student handed in. Raises Unreadable."""
        name = self.assignment.name
        return files.read_submission(self.root / "submitted" / student / name / f"{name}.ipynb")

    def _key_for(self, digest: str, seed: int) -> str:
        about = digest, self.assignment.name, seed, self.device, self.sandbox
        own = self.renew or not self.waived
        return self.results.key(*about, self.waived) if own else self.scoring.waivers.key_of(self.results, *about)

    @property
    def waived(self) -> Mapping[str, Sequence[str]]:
        """The checks that are not made, by exercise."""
        return self.scoring.waivers.of_assignment(self.assignment.name)

    def run(self, engine: Engine, writer: Recorder) -> Iterator[tuple[str, Verdict]]:
        """Have all submissions graded and recorded; yields (student, Verdict) for each without a problem, when done."""
        for student, problem in self.unreadable.items():
            seed = self.rounds.seed()  # nothing was drawn
            verdict = rejected("", self.assignment.exercises, problem, seed, self.assignment.name, self.sandbox)
            yield from self._record(writer, student, [], Graded(verdict), "")
        for student, key in list(self.known):
            verdict = writer.cached_verdict(student, key)
            if verdict is not None and verdict == self._credited(verdict):
                self._count_statuses(verdict)
                yield student, verdict
            elif (graded := self.results.get(key)) is not None:
                yield from self._record_again(writer, student, graded, key)
            else:  # the stored result cannot be read: treat it as missing
                self.known.remove((student, key))
                self.pending.setdefault(key, []).append(student)
        for task, graded in engine.graded(self._tasks(self.pending), len(self.pending)):
            self.results.put(task.key, graded)
            if graded.final:
                yield from self._record_all(writer, task, self.pending[task.key], graded)
            else:
                self.stopped[task.key] = self.pending[task.key]
        alone = self._tasks(self.stopped, alone=True)
        for task, again in engine.graded(alone, len(self.stopped), alone=True):
            before = self.results.get_stopped(task.key)
            graded = settled(before, again) if before else again
            self.results.put(task.key, graded)
            yield from self._record_all(writer, task, self.stopped[task.key], graded)
        self._settle_doubts(engine)

    def _credited(self, verdict: Verdict) -> Verdict:
        """The verdict with the scores that the course gives it."""
        return self.results.names.credited(self.scoring.waivers.applied(verdict), self.scoring.credit)

    def _tasks(self, waiting: Mapping[str, Sequence[str]], alone: bool = False) -> Iterator[Task]:
        # those with the same inputs one after another: what mistakes do on them is cached
        order = {seed: number for number, seed in enumerate(dict.fromkeys(self.seeds.values()))}
        for key, same in sorted(waiting.items(), key=lambda one: order[self.seeds[one[1][0]]]):
            try:
                data = self._read_again(same[0]).data
                about = same[0], key, data, self.assignment.name, self.seeds[same[0]], alone
                yield Task(*about, sandbox=self.sandbox, waived=self.waived)
            except Changed as problem:
                self.problems += [(student, str(problem)) for student in same]

    def _record_all(
        self, writer: Recorder, task: Task, students: Iterable[str], graded: Graded
    ) -> Iterator[tuple[str, Verdict]]:
        submitted = read.read_notebook(task.data)
        for student in students:
            self._count(student, graded)
            yield from self._record(writer, student, submitted, graded, task.key)

    def _record_again(self, writer: Recorder, student: str, graded: Graded, key: str) -> Iterator[tuple[str, Verdict]]:
        try:
            submitted = self._read_again(student).cells
        except Changed as problem:
            self.problems.append((student, str(problem)))
        else:
            yield from self._record(writer, student, submitted, graded, key)

    def _read_again(self, student: str) -> read.SubmittedFile:
        """What a student handed in, if it is what it was when the run began: nobody holds a class in memory.

        Raises Changed.
        """
        with contextlib.suppress(Unreadable):
            file = self._read(student)
            if file.digest == self.digests.get(student):
                return file
        raise Changed("the submission changed during the run: run the same command again")

    def _record(
        self, writer: Recorder, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str
    ) -> Iterator[tuple[str, Verdict]]:
        graded = replace(graded, verdict=self._credited(graded.verdict))
        changes, doubts = self._changes(student, submitted, graded.verdict)
        try:
            writer.add(student, submitted, graded, key)
        except NotRecorded as problem:
            self.problems.append((student, str(problem)))
            self.with_new_work.discard(student)
        else:
            self.changes += changes
            self.doubts += doubts
            self._count_statuses(graded.verdict)
            yield student, graded.verdict

    def _changes(
        self, student: str, submitted: Sequence[SubmittedCell], verdict: Verdict
    ) -> tuple[list[regrade.Change], list[Doubt]]:
        """The changes from a student's latest verdict for the same work; and those in doubt, for the same answers on
        other inputs.
        """
        before, recorded = self.results.latest_of(self.assignment.name, student)
        found = list(regrade.changes(student, before, verdict)) if before else []
        if not before:
            self.with_new_work.add(student)
        if not before or not found or not isinstance(recorded, dict):
            return found, []
        answers = answers_of(restore(submitted, self.assignment.cells, self.assignment))
        earlier = recorded.get("answers", answers)
        doubts = []
        if before.seed != verdict.seed and student in self.digests:
            key = self._key_for(self.digests[student], before.seed)
            same = [change for change in found if is_same(self.assignment, change.exercise, earlier, answers)]
            doubts = [Doubt(change, key, before.seed) for change in same]
        if earlier != answers:
            self.with_new_work.add(student)
            found = []
        return found, doubts

    def mistaken(self, who: Iterable[str]) -> Iterator[str]:
        """A sentence for each of these students who handed in the cells of another assignment."""
        from .. import course

        own = self.assignment.name
        known = {name: {cell.grade_id for cell in found.cells} for name, found in course.assignments().items()}
        for student in who:
            with contextlib.suppress(Changed):
                claims = {cell.grade_id for cell in self._read_again(student).cells}
                others = {name: len(claims & (ids - known[own])) for name, ids in known.items() if name != own}
                most = max(others, key=lambda name: others[name], default=None)
                if most and others[most] and not claims & (known[own] - known[most]):
                    yield f"{student}: the notebook handed in as {own} has the cells of {most}"

    def _settle_doubts(self, engine: Engine) -> None:
        """Grade what is in doubt on the earlier inputs, too: if that gives other points, the inputs alone made them."""
        if not self.doubts:
            return
        keys = {doubt.key: (doubt.change.student, doubt.earlier) for doubt in self.doubts}
        there = {key: graded for key in keys if (graded := self.results.get(key))}
        tasks = self._tasks_again({key: about for key, about in keys.items() if key not in there})
        for task, graded in engine.graded(tasks, len(keys) - len(there)):
            self.results.put(task.key, graded)
            there[task.key] = graded
        for doubt in self.doubts:
            change, graded = doubt.change, there.get(doubt.key)
            then = self._credited(graded.verdict).exercise(change.exercise) if graded else None
            if then and then.status == "graded" and abs(then.score - change.after) > 1e-6:
                others = [one for one in self.changes if one != change]
                self.changes = [*others, replace(change, by_inputs=True)]

    def _tasks_again(self, wanted: Mapping[str, tuple[str, int]]) -> Iterator[Task]:
        for key, (student, seed) in wanted.items():
            with contextlib.suppress(Changed):
                data = self._read_again(student).data
                yield Task(student, key, data, self.assignment.name, seed, sandbox=self.sandbox, waived=self.waived)

    def _count(self, student: str, graded: Graded) -> None:
        self.graded += 1
        spent = graded.spent or {"": 0.0}
        most = max(spent, key=lambda what: spent[what])
        heapq.heappush(self.slowest, (sum(spent.values()), student, most, spent[most]))
        if len(self.slowest) > SLOWEST:
            heapq.heappop(self.slowest)

    def _count_statuses(self, verdict: Verdict) -> None:
        self.statuses.update({e.status for e in verdict.exercises} - {"graded"})
        self.unjudged.update(f"{e.exercise}: {e.unjudged}" for e in verdict.exercises if e.unjudged)
