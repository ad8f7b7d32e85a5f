"""Grades and records all submissions of an assignment: known results come from the store, the rest from an engine."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from ..errors import NotRecorded, Unreadable
from ..report import regrade
from ..submission import files, read
from ..submission.answers import answers_of
from ..submission.read import StrPath, SubmittedCell
from ..submission.restore import restore
from ..verdict import FULL, Graded, Verdict, rejected, settled
from .tasks import Task

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store

SLOWEST = 5


class Engine(Protocol):
    """What grades tasks: the processes of this machine (`pool.Pool`), or a Dask cluster (`cluster.Cluster`).

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
    """What records submissions: `gradebook.GradebookWriter`, many at a time, or nbgrader itself (`runs.StockRecorder`).

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

    def held(self, student: str, key: str) -> Verdict | None:
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


def remarks(root: StrPath, assignment: str, who: Iterable[str]) -> Iterator[str]:
    """Sentences about things in `submitted/` that the instructor should look at, though they stop nothing."""
    submitted = Path(root) / "submitted"
    for name in files.strays(submitted):
        yield f"{name}: it lies in submitted/ and is no student's folder, so nothing of it is graded"
    for students in files.sharing(submitted, assignment, who):
        yield f"{', '.join(students)}: their notebooks are one and the same file (by hard links): find out whose it is"


class Nobody:
    """The Recorder of a run that writes nothing."""

    unrecorded = ()

    def __enter__(self) -> Nobody:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def held(self, student: str, key: str) -> None:
        return None

    def add(self, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str) -> None:
        pass


class Changed(Exception):
    """A submission is no longer what it was when the run began."""


class Batch:
    """One run over the submissions of the students `who`. The constructor looks at each submission once.

    Afterwards `unreadable` lists students, and `known` lists pairs (student, key of the stored result). `pending` maps
    the keys of results still to be found to lists of students: equal submissions are graded once. `stopped` does the
    same for submissions whose last grading was stopped by a deadline or a kill: each run grades them once more, alone,
    before that counts. With `renew`, nothing counts as known; with `new_inputs`, they are drawn anew, too, so that
    scores may change by luck. `results` is the course's store, `sandbox` the level at which the engine grades.

    While running, it keeps `graded` (a count), `statuses` (the statuses of exercises that could not be graded, and how
    many submissions have each), `problems` (student, why there is no row), `unjudged` (checks that ended by a mistake
    of their own, and for how many students), `slowest` (seconds, student, what took most of them, and how many) and
    `changes` (who gets other points than before for the same work).
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
        self.renew = renew or new_inputs
        self.seed = results.seed(assignment.name, renew=new_inputs)
        self.unreadable: list[str] = []
        self.known: list[tuple[str, str]] = []
        self.pending: dict[str, list[str]] = {}
        self.stopped: dict[str, list[str]] = {}
        self.graded = 0
        self.statuses: Counter[str] = Counter()
        self.problems: list[tuple[str, str]] = []
        self.unjudged: Counter[str] = Counter()
        self.slowest: list[tuple[float, str, str, float]] = []
        self.changes: list[regrade.Change] = []
        for student in who:
            self._look_at(student)

    def _look_at(self, student: str) -> None:
        try:
            data = files.read_bytes(self._path(student))
            key = self._key(data)
            if self.results.has(key) and not self.renew:
                self.known.append((student, key))
                return
            read.read_notebook(data)
        except Unreadable:
            self.unreadable.append(student)
        else:
            waiting = self.stopped if self.results.was_stopped(key) and not self.renew else self.pending
            waiting.setdefault(key, []).append(student)

    @property
    def at_once(self) -> int:
        """How many submissions can be graded at the same time."""
        return max(len(self.pending), min(1, len(self.stopped)))

    def _path(self, student: str) -> Path:
        return self.root / "submitted" / student / self.assignment.name / f"{self.assignment.name}.ipynb"

    def _key(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        return self.results.key(digest, self.assignment.name, self.seed, self.device, self.sandbox)

    def run(self, engine: Engine, writer: Recorder) -> Iterator[tuple[str, Verdict]]:
        """Have all submissions graded and recorded; yields (student, Verdict) for each without a problem, when done."""
        for student in self.unreadable:
            problem = files.read_submission(self._path(student))[1] or "It could not be read."
            verdict = rejected("", self.assignment.exercises, problem, self.seed, self.assignment.name, self.sandbox)
            yield from self._record(writer, student, [], Graded(verdict), "")
        for student, key in list(self.known):
            verdict = writer.held(student, key)
            if verdict is not None:
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

    def _tasks(self, waiting: Mapping[str, Sequence[str]], alone: bool = False) -> Iterator[Task]:
        for key, same in waiting.items():
            try:
                data = self._read_again(same[0], key)
                yield Task(same[0], key, data, self.assignment.name, self.seed, alone, sandbox=self.sandbox)
            except Changed as problem:
                self.problems += [(student, str(problem)) for student in same]

    def _record_all(
        self, writer: Recorder, task: Task, students: Iterable[str], graded: Graded
    ) -> Iterator[tuple[str, Verdict]]:
        for student in students:
            self._count(student, graded)
            yield from self._record(writer, student, read.read_notebook(task.data), graded, task.key)

    def _record_again(self, writer: Recorder, student: str, graded: Graded, key: str) -> Iterator[tuple[str, Verdict]]:
        try:
            submitted = read.read_notebook(self._read_again(student, key))
        except Changed as problem:
            self.problems.append((student, str(problem)))
        else:
            yield from self._record(writer, student, submitted, graded, key)

    def _read_again(self, student: str, key: str) -> bytes:
        """The bytes of a submission, if they still match the key. Raises Changed."""
        try:
            data = files.read_bytes(self._path(student))
        except Unreadable:
            data = b""
        if self._key(data) != key:
            raise Changed("the submission has changed during the run: run the same command again")
        return data

    def _record(
        self, writer: Recorder, student: str, submitted: Sequence[SubmittedCell], graded: Graded, key: str
    ) -> Iterator[tuple[str, Verdict]]:
        changes = self._changes(student, submitted, graded.verdict)
        try:
            writer.add(student, submitted, graded, key)
        except NotRecorded as problem:
            self.problems.append((student, str(problem)))
        else:
            self.changes += changes
            self._count_statuses(graded.verdict)
            yield student, graded.verdict

    def _changes(self, student: str, submitted: Sequence[SubmittedCell], verdict: Verdict) -> list[regrade.Change]:
        """What changes for a student whose latest verdict, for the same work, was another one."""
        before, recorded = self.results.latest_of(self.assignment.name, student)
        found = list(regrade.changes(student, before, verdict)) if before else []
        if not found or not isinstance(recorded, dict):
            return found
        answers = answers_of(restore(submitted, self.assignment.cells, self.assignment))
        return found if recorded.get("answers", answers) == answers else []

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
