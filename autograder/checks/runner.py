"""Runs the graders: pytest collects them once, and their checks are then called for one exercise after another."""

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch.fx.experimental.symbolic_shapes  # noqa: F401  the first check on meta would import it, and be waited for

from ..errors import GraderError
from ..sandbox.inside import no_dynamo, wire
from ..verdict import Check
from .api import CheckFailed, Draw
from .proxies import StudentError, Submission, Transcript
from .replay import Asked, Foresight, Unforeseen

EXERCISES = Path(__file__).parent.parent / "exercises"
TAKES = ("submission", "draw")  # the fixtures of a check, see `exercises/conftest.py`
MARKS = {"category", "points", "witnessed"}  # what `@check` marks it with


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
    """A check as pytest collected it: a function, or a method bound to an instance of its class."""

    name: str
    exercise: str
    test: Callable
    takes: tuple[str, ...]
    category: str
    points: float
    sentence: str
    witnessed: bool

    def call(self, submission: Submission, seed: int) -> BaseException | None:
        """Make the check: None if it is passed, else the exception that ended it.

        Its fixtures are given by hand: pytest's own way to each test takes longer than most checks.
        """
        fixtures = {"submission": submission, "draw": Draw(seed, f"{self.exercise}/{self.name}")}
        try:
            self.test(**{name: fixtures[name] for name in self.takes})
            submission.settle()
        except (Exception, pytest.skip.Exception) as outcome:
            return outcome
        return None


class Graders:
    """The graders, collected. `run()` may be called from one thread at a time."""

    def __init__(self, folder: Path = EXERCISES):
        no_dynamo.put()
        collector = _Collector()
        plugins = "cacheprovider terminal logging warnings capture faulthandler doctest unraisableexception"
        plugins += " threadexception anyio hypothesispytest"
        options = [word for plugin in plugins.split() for word in ("-p", f"no:{plugin}")]
        options += ["--collect-only", "-c", str(EXERCISES / "pytest.ini"), "--rootdir", str(folder), str(folder)]
        code = pytest.main(options, plugins=[collector])
        if code != pytest.ExitCode.OK:
            raise GraderError(f"the graders cannot be collected: pytest ended with {code!r}: {collector.problem}")
        self.foresight = Foresight()
        self.checks: dict[str, list[Collected]] = {}
        for item in collector.items:
            check = collected(item)
            others = self.checks.setdefault(check.exercise, [])
            if check.name in {other.name for other in others}:
                raise _wrong(item, "is not the only one of its name there; results are stored by the names of checks")
            others.append(check)

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


def collected(item: pytest.Function) -> Collected:
    """A pytest item as a check. Raises GraderError for what pytest can run and `Collected.call` can't."""
    owner, name = item.cls, item.originalname
    marks = {mark.name: mark.args for mark in item.iter_markers()}
    if strange := sorted(marks.keys() - MARKS):
        raise _wrong(item, f"is marked with `{strange[0]}`; a check has no other mark than `@check(…)`")
    if not marks.keys() >= {"category", "points"}:
        raise _wrong(item, "is not marked with `@check(category, points=…)`")
    takes = tuple(inspect.signature(item.obj).parameters)
    if strange := [parameter for parameter in takes if parameter not in TAKES]:
        raise _wrong(item, f"takes `{strange[0]}`; a check may take {' and '.join(f'`{t}`' for t in TAKES)}, no more")
    changed = {attribute: getattr(owner, attribute, {}) for attribute in ("points", "sentences")}
    for attribute, others in changed.items():
        if strange := [other for other in others if not callable(getattr(owner, other, None))]:
            raise _wrong(item, f"has a class whose `{attribute}` name {strange[0]}, which is no check of it")
    sentence = changed["sentences"].get(name) or inspect.getdoc(item.obj)
    if not sentence:
        raise _wrong(item, "has no docstring; its first sentence is what the student reads")
    return Collected(
        name=name,
        exercise=exercise_of(item),
        test=item.obj,
        takes=takes,
        category=marks["category"][0],
        points=float(changed["points"].get(name, marks["points"][0])),
        sentence=" ".join(sentence.split("\n\n")[0].split()),
        witnessed="witnessed" in marks,
    )


def _wrong(item: pytest.Function, why: str) -> GraderError:
    return GraderError(f"the check {item.originalname} in {'/'.join(item.path.parts[-2:])} {why}")


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
