"""Runs the graders: collects their checks once, then calls them for one exercise after another."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import pytest

from .. import course
from ..errors import CourseError, Ended, GraderError
from ..lazily import Lazily
from ..sandbox.inside import no_dynamo, wire
from ..sandbox.replies import Failure, Place
from ..verdict import NOT_HERE, NOT_TRIED, Check
from .api import FAILURES, CheckFailed, Draw, GateFailed
from .gates import Gates, Passage
from .proxies import Answer, JoinedTransport, NotPassed, StudentError, Submission, Transcript
from .replay import NotPrefetched, RecordingTransport, ReplayedTransport, RequestLog
from .steps import Step

if sys.version_info >= (3, 14):
    import annotationlib

TAKES = ("submission", "draw")  # the fixtures that a check may take, see `grading/by_hand.py`
STEP = "wrong_step"  # the name of the function that finds the first wrong step, see `steps`
# from Python 3.14 on, annotations are only evaluated when they are asked for, and may use names that are not there
AS_TEXT: dict[str, Any] = {"annotation_format": annotationlib.Format.STRING} if sys.version_info >= (3, 14) else {}
TOOLS = (Path(__file__).parent, Path(wire.__file__).parent)  # the folders of what checks call
MARKS = {"category", "points", "witnessed", "decides"}  # the marks that `@check` sets


class Stopped(Exception):
    """The exercise cannot go on. `status` is one of `verdict.STATUSES`; the message says what happened."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


Outcome: TypeAlias = Check | Stopped | dict[str, str]  # of a check; a dict if it was skipped
FORESEEN = (Stopped, pytest.skip.Exception, *FAILURES)  # how a check may end


@dataclass
class ExerciseRun:
    """The grading of one exercise of a submission: its checks in order (or `only` one), and what each observed."""

    exercise: str
    transport: JoinedTransport
    seed: int
    only: str | None = None
    checks: list[Check] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)  # the fields of Skipped
    transcripts: dict[str, Transcript] = field(default_factory=dict)  # by the names of checks
    answers: dict[str, Sequence[Answer]] = field(default_factory=dict)  # those that were fetched ahead, by check
    errors: dict[str, Failure] = field(default_factory=dict)  # of the submission's code, by the check that it ended
    places: dict[str, Place] = field(default_factory=dict)  # where in the submission's code an error ended a check
    unjudged: dict[str, str] = field(default_factory=dict)  # by check: the error of its own, for the instructor
    measured: dict[str, float] = field(default_factory=dict)  # what checks measured of it
    is_decided: bool = False  # whether a check failed that decides alone: then there are no points but those of checks
    fingerprint: str = ""  # of an answer that no known mistake explains, see mistakes/fingerprint.py
    stopped: Stopped | None = None

    def failed(self) -> list[Check]:
        """The checks that did not pass, those among them that could not judge."""
        return [c for c in self.checks if not c.passed]

    def judged(self) -> list[Check]:
        """The checks that ran without a bug of their own: the others are no sign of a mistake."""
        return [c for c in self.checks if c.name not in self.unjudged]

    def rejected(self) -> list[Check]:
        """The checks that found the answer to be wrong."""
        return [c for c in self.judged() if not c.passed]


@dataclass(frozen=True)
class GradedCheck:
    """A check, ready to be called: a function, or a method bound to an instance of its class."""

    name: str
    exercise: str
    test: Callable[..., object]
    takes: tuple[str, ...]
    category: str
    points: float
    sentence: str
    witnessed: bool
    decides: bool

    def call(self, submission: Submission, seed: int) -> BaseException | None:
        """Run the check: None if it passes, else the exception that ended it.

        Its fixtures are passed by hand, because pytest's own overhead per test is larger than most checks.
        """
        fixtures = {"submission": submission, "draw": Draw(seed, f"{self.exercise}/{self.name}")}
        try:
            with np.errstate(all="ignore"):  # a check computes with what answers hold, and its warnings nobody reads
                self.test(**{name: fixtures[name] for name in self.takes})
                submission.settle()
        except Ended:
            raise
        except (Exception, SystemExit, pytest.skip.Exception) as outcome:
            return outcome
        return None


def _import_torch() -> None:
    """Import torch before anything is asked: within a check, others would wait for it, and its limits hold."""
    import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first check on meta would have to wait for this

    from ..sandbox.inside import stubs, training, watching  # noqa: F401

    no_dynamo.put()


class Graders:
    """The graders, collected. `run()` may be called from one thread at a time."""

    def __init__(self, modules: Mapping[str, ModuleType] | None = None) -> None:
        """`modules` maps exercises to the modules with their checks; by default, those of the course.

        The checks of an exercise are collected when they are first asked for, which may raise GraderError.
        """
        if course.imports_torch():
            _import_torch()
        self.request_log = RequestLog()
        self.before_each: Callable[[], None] = lambda: None  # called before each check; what it raises ends the run
        self.waived: Mapping[str, Collection[str]] = {}  # checks that no run makes, by exercise
        self.after_run: Callable[[ExerciseRun], None] | None = None  # called with each run that has ended
        modules = modules or Lazily(_of_the_course(), checks_of)
        self.checks = Lazily(modules, lambda exercise: collected(exercise, modules[exercise]))
        self.step_finders = Lazily(modules, lambda exercise: _step_finder(modules[exercise]))

    def run(
        self,
        exercise: str,
        transport: JoinedTransport,
        seed: int,
        only: str | None = None,
        learning: bool = False,
        gates: dict[str, Passage] | None = None,
        every: bool = False,
    ) -> ExerciseRun:
        """Grade one exercise with all its checks, or only the one named `only`.

        `transport` serves the requests. With `learning`, the requests of the checks are remembered and sent as one from
        then on: use it for the course's own solutions only. `gates` are the gates asked before of the same answer, with
        the same seed; those asked now are added. With `every`, also the checks that are `waived` are made. Raises
        GraderError.
        """
        if exercise not in self.checks:
            raise LookupError(f"there is no grader for {exercise}")
        run = ExerciseRun(exercise, transport, seed, only)
        prefetched = self.request_log.answers(exercise, seed, transport) if only is None else {}
        run.answers = {name: replayed.answers for name, replayed in prefetched.items()}
        learn = functools.partial(self.request_log.keep, exercise, seed) if learning else None
        asked = Gates(transport, gates, prefetched, learn)
        waived = () if every else self.waived.get(exercise, ())
        for check in self.checks[exercise]:
            if only not in (None, check.name) or check.name in waived:
                continue
            self.before_each()
            outcome, run.transcripts[check.name] = self._made(check, prefetched.get(check.name), run, asked)
            if isinstance(outcome, Stopped):
                run.stopped = Stopped(outcome.status, f"{outcome}, in the check “{check.sentence}”")
                break
            if isinstance(outcome, Check):
                run.checks.append(outcome)
            else:
                run.skipped.append(outcome)
        if self.after_run is not None:
            self.after_run(run)
        return run

    def wrong_step(self, run: ExerciseRun) -> Step | None:
        """The first step at which the answer of a run goes wrong, in small cases of its own; None if unknown."""
        find = self.step_finders.get(run.exercise)
        return find(Submission(run.transport), Draw(run.seed, f"{run.exercise}/{STEP}")) if find else None

    def _made(
        self, check: GradedCheck, prefetched: ReplayedTransport | None, run: ExerciseRun, gates: Gates
    ) -> tuple[Outcome, Transcript]:
        """Run a check, with the answers fetched ahead or request by request: its outcome (`judge`) and transcript."""
        if prefetched:
            transcript = Transcript()
            submission = Submission(prefetched, transcript, gates)
            outcome = check.call(submission, run.seed)
            if not isinstance(outcome, NotPrefetched):
                run.measured |= submission.measured
                return self._judged(check, outcome, run), transcript
        asked, transcript = RecordingTransport(run.transport), Transcript()
        submission = Submission(asked, transcript, gates)
        outcome = check.call(submission, run.seed)
        run.measured |= submission.measured
        if gates.learn and (outcome is None or isinstance(outcome, pytest.skip.Exception)):
            gates.learn(check.name, asked)
        return self._judged(check, outcome, run), transcript

    def _judged(self, check: GradedCheck, outcome: BaseException | None, run: ExerciseRun) -> Outcome:
        if isinstance(outcome, StudentError):
            run.errors[check.name] = outcome.failure
            if outcome.where:
                run.places[check.name] = outcome.where
        if problem := mistake(check, outcome):
            run.unjudged[check.name] = problem
        elif isinstance(outcome, FAILURES):
            run.is_decided |= check.decides
        return judge(check, outcome)


def _of_the_course() -> list[str]:
    """The course's exercises; one without checks is left out, as grading/gate.py reports."""
    return [name for name in course.exercises() if course.file_of(name, "checks") is not None]


def checks_of(exercise: str) -> ModuleType:
    """The module with the checks of an exercise. Raises GraderError."""
    try:
        return course.module_of(exercise, "checks")
    except CourseError as error:
        raise GraderError(str(error)) from error


def collected(exercise: str, module: ModuleType) -> list[GradedCheck]:
    """The checks of an exercise in order: functions `test_…`, and methods `test_…` of classes `Test…`, as in pytest.

    Raises GraderError for a check that could not be called or stored, and if there are none that give points.
    """
    found: list[GradedCheck] = []
    for name, value in vars(module).items():
        if not name.startswith("test_") and not inspect.isclass(value) and _marks(value):
            raise _wrong(exercise, name, "is marked with `@check(…)`, but never called: its name must begin with test_")
        if name.startswith("test_") and callable(value):
            found.append(_collected(exercise, name, value, None))
        elif name.startswith("Test") and inspect.isclass(value):
            names = dict.fromkeys(n for base in reversed(value.__mro__) for n in vars(base) if n.startswith("test_"))
            checks = value()
            found += [_collected(exercise, n, getattr(checks, n), value) for n in names if callable(getattr(value, n))]
    names = [check.name for check in found]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(
                exercise, name, "is not the only one of its name there; results are stored by the names of checks"
            )
    if not sum(check.points for check in found) > 0:
        lacks = "its checks give no points" if found else "it has no checks"
        raise GraderError(
            f"{exercise}/checks.py: {lacks}. A check is a function test_… marked with `@check(category, points=…)`."
        )
    return found


def _marks(test: object) -> dict[str, tuple[object, ...]]:
    """The marks of a check, by name: what each was made with."""
    return {mark.name: mark.args for mark in getattr(test, "pytestmark", ())}


def _step_finder(module: ModuleType) -> Callable[[Submission, Draw], Step | None] | None:
    """The function `wrong_step` of a module, or the method of its class of checks; None if it has neither."""
    classes = (value() for name, value in vars(module).items() if name.startswith("Test") and inspect.isclass(value))
    return next((getattr(one, STEP) for one in (module, *classes) if hasattr(one, STEP)), None)


def _collected(exercise: str, name: str, test: Callable[..., object], owner: type | None) -> GradedCheck:
    marks: dict[str, Any] = {**_marks(owner), **_marks(test)}
    if strange := sorted(marks.keys() - MARKS):
        raise _wrong(exercise, name, f"is marked with `{strange[0]}`; the only mark of a check is `@check(…)`")
    if not marks.keys() >= {"category", "points"}:
        raise _wrong(exercise, name, "is not marked with `@check(category, points=…)`")
    takes = tuple(inspect.signature(test, **AS_TEXT).parameters)
    if strange := [parameter for parameter in takes if parameter not in TAKES]:
        what = " and ".join(f"`{t}`" for t in TAKES)
        raise _wrong(exercise, name, f"takes `{strange[0]}`; a check takes {what}, no more")
    changed = {attribute: getattr(owner, attribute, {}) for attribute in ("points", "sentences")}
    for attribute, others in changed.items():
        if strange := [other for other in others if not callable(getattr(owner, other, None))]:
            raise _wrong(exercise, name, f"has a class with `{attribute}` for {strange[0]}, which is not a check of it")
    sentence = changed["sentences"].get(name) or inspect.getdoc(test)
    if not sentence:
        raise _wrong(exercise, name, "has no docstring; its first sentence is what the student reads")
    points = changed["points"].get(name, marks["points"][0])
    if isinstance(points, bool) or not isinstance(points, (int, float)) or not 0 <= points < math.inf:
        raise _wrong(exercise, name, f"is worth {points!r} points; that must be a number from 0 up")
    return GradedCheck(
        name=name,
        exercise=exercise,
        test=test,
        takes=takes,
        category=marks["category"][0],
        points=float(points),
        sentence=" ".join(sentence.split("\n\n")[0].split()),
        witnessed="witnessed" in marks,
        decides="decides" in marks,
    )


def _wrong(exercise: str, name: str, why: str) -> GraderError:
    return GraderError(f"the check {name} in {exercise}/checks.py {why}")


def mistake(check: GradedCheck, outcome: BaseException | None) -> str | None:
    """For the instructor: which unforeseen exception ended the check, and where; None if there was none."""
    if outcome is None or isinstance(outcome, FORESEEN):
        return None
    frames = traceback.extract_tb(outcome.__traceback__)
    place = next((frame for frame in reversed(frames) if not _is_tool(frame.filename)), frames[-1])
    where = f"{'/'.join(Path(place.filename).parts[-2:])}, line {place.lineno}"
    said = f": {outcome}" if isinstance(outcome, NotPassed) else ""
    return f"{check.name} ended with {type(outcome).__name__} ({where}){said}"


def _is_tool(file: str) -> bool:
    """Whether a file is of what checks call, such as `close`: a bug is in the line that calls it."""
    return Path(file).parent in TOOLS


def judge(check: GradedCheck, outcome: BaseException | None) -> Outcome:
    """The outcome of a check that ended with `outcome`, an exception or None. A Stopped is returned as it is."""
    if isinstance(outcome, Stopped):
        return outcome
    if isinstance(outcome, pytest.skip.Exception):
        return {"name": check.name, "message": f"{check.sentence} {NOT_HERE}{outcome}."}
    reason = _reason(outcome)
    message = f"{check.sentence} {reason}".strip()
    return Check(check.name, check.category, check.points, outcome is None, message, reason)


def _reason(outcome: BaseException | None) -> str:
    """The student's message about the exception that ended a check; empty if there was none."""
    if outcome is None:
        return ""
    if isinstance(outcome, GateFailed):
        return f"{NOT_TRIED}{outcome}"
    if isinstance(outcome, CheckFailed):
        return str(outcome)
    if isinstance(outcome, StudentError):
        return outcome.sentence()
    if isinstance(outcome, wire.WireError):
        return f"What your code returned cannot be used: {outcome}."
    return "This check has a bug, so it was not graded. Your instructor will look at it."


def exercise_of(item: pytest.Item) -> str:
    """The exercise that a test item grades: `attention/checks.py` grades `attention`."""
    return item.path.parent.name
