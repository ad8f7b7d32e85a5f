"""Runs the graders: pytest collects them once, and their checks are then called for one exercise after another."""

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first check on meta would import it, and be waited for

from ..sandbox.inside import no_dynamo, wire
from ..verdict import Check
from .api import CheckFailed, Draw
from .proxies import StudentError, Submission, Transcript
from .replay import Asked, Foresight, Unforeseen

EXERCISES = Path(__file__).parent.parent / "exercises"


class Stopped(Exception):
    """The exercise cannot go on. `status` is a Verdict's; the message says what happened."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass
class Run:
    """One exercise of one submission, as it is graded: its checks in order (or `only` one), and what each saw."""

    exercise: str
    transport: object
    seed: int
    only: str = None
    checks: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    transcripts: dict = field(default_factory=dict)
    stopped: Stopped = None

    def failed(self):
        return [c for c in self.checks if not c.passed]


@dataclass(frozen=True)
class Collected:
    """A check as pytest collected it: a function that takes some of the fixtures of `conftest.py`."""

    name: str
    exercise: str
    test: Callable
    takes: tuple
    layout: object
    category: str
    points: float
    sentence: str

    def call(self, submission, seed):
        """Make the check: None if it is passed, else the exception that ended it.

        Its fixtures are given by hand: pytest's own way to each test takes longer than most checks.
        """
        fixtures = {
            "submission": lambda: submission,
            "draw": lambda: Draw(seed, f"{self.exercise}/{self.name}"),
            "layout": lambda: self.layout,
        }
        try:
            self.test(**{name: fixtures[name]() for name in self.takes})
            submission.settle()
        except (Exception, pytest.skip.Exception) as outcome:
            return outcome
        return None


class Graders:
    """The graders, collected. `run()` may be called from one thread at a time."""

    def __init__(self):
        no_dynamo.put()
        collector = _Collector()
        options = ["--collect-only", "-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:logging"]
        options += ["-p", "no:warnings", "-p", "no:capture", "-p", "no:faulthandler", "-p", "no:doctest"]
        options += ["-p", "no:unraisableexception", "-p", "no:threadexception", "-p", "no:anyio"]
        options += [
            "-p",
            "no:hypothesispytest",
            "-c",
            str(EXERCISES / "pytest.ini"),
            "--rootdir",
            str(EXERCISES),
            str(EXERCISES),
        ]
        code = pytest.main(options, plugins=[collector])
        if code != pytest.ExitCode.OK:
            raise RuntimeError(f"the graders cannot be collected: pytest ended with {code!r}: {collector.problem}")
        self.foresight = Foresight()
        self.checks = {}
        for item in collector.items:
            check = collected(item)
            self.checks.setdefault(check.exercise, []).append(check)

    def run(self, exercise, transport, seed, only=None, learning=False):
        """Grade one exercise: a Run, of all checks or of the one named `only`.

        `transport` serves the workbench's requests (see `submission.Submission`). With `learning`, what the checks ask
        for is remembered, to be asked for at once from then on: for the course's own solutions, and for nothing else.
        """
        if exercise not in self.checks:
            raise LookupError(f"there is no grader for {exercise}")
        run = Run(exercise, transport, seed, only)
        foreseen = self.foresight.answers(exercise, seed, transport) if only is None else {}
        for check in self.checks[exercise]:
            if only not in (None, check.name):
                continue
            outcome, run.transcripts[check.name] = self._made(check, foreseen.get(check.name), run, learning)
            if isinstance(outcome, Stopped):
                run.stopped = Stopped(outcome.status, f"{outcome}, in the check “{check.sentence}”")
                break
            (run.checks if isinstance(outcome, Check) else run.skipped).append(outcome)
        return run

    def _made(self, check, foreseen, run, learning):
        """(what came of a check, its transcript): with the answers that were foreseen, or request by request.

        See `judge` for what comes of it.
        """
        if foreseen:
            transcript = Transcript()
            outcome = check.call(Submission(foreseen, transcript), run.seed)
            if not isinstance(outcome, Unforeseen):
                return judge(check, outcome), transcript
        asked, transcript = Asked(run.transport), Transcript()
        outcome = check.call(Submission(asked, transcript), run.seed)
        if learning and (outcome is None or isinstance(outcome, pytest.skip.Exception)):
            self.foresight.keep(check.exercise, run.seed, check.name, asked)
        return judge(check, outcome), transcript


class _Collector:
    """The pytest plug-in that keeps what is collected."""

    items = ()
    problem = "no reason given"

    def pytest_collectreport(self, report):
        if report.failed:
            self.problem = str(report.longrepr)

    def pytest_collection_finish(self, session):
        self.items = session.items


def collected(item):
    """The Collected of a pytest item."""
    return Collected(
        name=item.name,
        exercise=exercise_of(item),
        test=item.function,
        takes=tuple(inspect.signature(item.function).parameters),
        layout=getattr(item.module, "LAYOUT", None),
        category=item.get_closest_marker("category").args[0],
        points=float(item.get_closest_marker("points").args[0]),
        sentence=" ".join(inspect.getdoc(item.function).split("\n\n")[0].split()),
    )


def judge(check, outcome):
    """What comes of a check that ended with `outcome` (an exception, or None): a record.Check, or what was skipped.

    A Stopped stays one.
    """
    if isinstance(outcome, Stopped):
        return outcome
    if isinstance(outcome, pytest.skip.Exception):
        return {"name": check.name, "message": f"Skipped: {outcome}."}
    if outcome is None:
        message = check.sentence
    elif isinstance(outcome, CheckFailed):
        message = f"{check.sentence} {outcome}"
    elif isinstance(outcome, StudentError):
        message = f"{check.sentence} {outcome.sentence()}"
    elif isinstance(outcome, wire.WireError):
        message = f"{check.sentence} What your code returned cannot be used: {outcome}."
    else:  # a value that a comparison choked on, or a mistake in the grader: never a lost grade
        place = traceback.extract_tb(outcome.__traceback__)[-1]
        where = f"{type(outcome).__name__}, {Path(place.filename).name}:{place.lineno}"
        message = f"{check.sentence} It could not be compared ({where})."
    return Check(check.name, check.category, check.points, outcome is None, message)


def exercise_of(item):
    """`attention/checks.py` grades the exercise `attention`."""
    return item.path.parent.name
