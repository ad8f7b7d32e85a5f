"""The Verdict: the result of grading one submission. All later steps read this and nothing else."""

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # reading a stored verdict needs none of these
    from _typeshed import DataclassInstance

    from . import course
    from .submission.restore import RestoredCell

T = TypeVar("T", bound="DataclassInstance")

SCHEMA = 1
CHECKS, PRICES = CREDITS = ("checks", "prices")  # what a score may be by, see mistakes/prices.py
CREDIT = PRICES  # unless a course says otherwise
FULL, PROCESS, UNSAFE = LEVELS = ("full", "process", "unsafe")  # of the sandbox: docs/security.md says what each is
STATUSES = ("graded", "missing", "error", "timeout", "killed", "rejected")
STOPPED = ("timeout", "killed")  # the statuses that a busy machine may have caused
KILLED = "Each time it was graded, the grading process died, or had to be killed."  # what is said of that
CATEGORIES = ("shape", "values", "masking", "gradients", "numerics", "device", "mode", "arguments")  # in this order
# what checks may measure of an answer, beside its points, with its unit
MEASURES = {"loss": "nats a token above the rules", "bytes": "bytes of state a token"}
JOINERS = str.maketrans("", "", "\u200c\u200d")  # characters that join or separate letters and show nothing themselves
NOT_RECORDED = -1.0  # in place of points
# how the reasons of failed checks begin, by which `report` words what several checks have in common
NOT_READ = "No readable definition"  # how a reason begins that is about the text alone
NOT_HERE = "Not tried: "  # on this machine; then the reason
NOT_TRIED = "Not tried, since an easier case is wrong already: "
RAISED = "Your code raised "
STOPPED_WITH = "It stopped with "
STANDS_ON = "stands-on-"  # how those begin that blame an earlier exercise
PLACE = "place-"  # how the ids of diagnoses begin that are no named mistake
FACT = "fact-"  # and of those that say what is seen of an answer, whatever mistake made it so
NO_NAMES = (PLACE, FACT)  # how the ids begin of all that is no mistake of a bank


class VerdictError(ValueError):
    """A stored verdict cannot be read."""


def typed(kind: type[T], data: object, **made: Any) -> T:
    """Make a dataclass from its dict, if each value has its field's type; `made` holds values already checked.

    Raises VerdictError.
    """
    if not isinstance(data, dict):
        raise VerdictError(f"it is not a {kind.__name__}")
    types = {f.name: f.type for f in fields(kind)}
    for name in data.keys() - made.keys():
        if not _is_a(types.get(name), data[name]):
            raise VerdictError(f"the {name} of a {kind.__name__} is none")
    try:
        return kind(**{**data, **made})
    except TypeError as error:
        raise VerdictError(f"it is not a {kind.__name__} ({error})") from None


def _is_a(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float) and abs(value) < 2**53 and math.isfinite(value)
    return kind is not None and type(value) is kind


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise VerdictError("what should be a list is not")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise VerdictError("what should be a text is not")
    return value


def is_printable(text: str) -> bool:
    """Whether it has no control characters; those that join letters are a part of Persian and Indian spelling."""
    return text.translate(JOINERS).isprintable()


def printable(text: str) -> str:
    """The text without control characters, such as escapes and changes of direction: they could deceive a reader.

    Blanks of any width stay: a language has them before its question marks, or between its words.
    """
    if is_printable(text):
        return text
    return "".join(c if is_printable(c) or c in "\n\t" or _is_blank(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_blank(character: str) -> bool:
    return unicodedata.category(character) == "Zs"


@dataclass
class Check:
    """The result of one named check of an exercise.

    `message` is what the student reads: the check's own sentence and, if it failed, the `reason`. Checks that failed
    for one reason have the same `reason`.
    """

    name: str
    category: str
    points: float
    passed: bool
    message: str
    reason: str = ""

    def __post_init__(self) -> None:  # they may quote the submission
        self.message = printable(self.message)
        self.reason = printable(self.reason)

    @property
    def sentence(self) -> str:
        """The requirement that the check tests: the message without the reason why it failed."""
        return self.message.removesuffix(self.reason).strip()


@dataclass
class Diagnosis:
    """A named mistake that gives the same values as the student's code. `line` is the student's, if it is certain.

    `price` is the share of the exercise's points that it costs; all of them where more than what is named may be wrong.
    """

    id: str
    message: str
    line: str = ""
    price: float = 1.0

    def __post_init__(self) -> None:  # it quotes the submission
        self.line = printable(self.line)

    @property
    def has_price(self) -> bool:
        """Whether it costs less than all points."""
        return self.price < 1

    @property
    def is_place(self) -> bool:
        """Whether it only says where the answer goes wrong, and names no mistake."""
        return self.id.startswith(PLACE)

    @property
    def base(self) -> str:
        """The earlier exercise that it blames; empty if it is about this one."""
        return self.id.removeprefix(STANDS_ON) if self.id.startswith(STANDS_ON) else ""

    @property
    def is_name(self) -> bool:
        """Whether it names a mistake, of this exercise or an earlier one: facts say something else to each student."""
        return not self.id.startswith(NO_NAMES)


@dataclass
class Skipped:
    """A check that cannot be run on this machine; its points, if it has some, go to the other checks."""

    name: str
    message: str


@dataclass
class Outcome:
    """The outcome of one exercise. `message` says why, where the status is not "graded".

    The `score` is `by_checks`, the points of the checks that passed, or where it is more and the course has it so,
    `by_prices`: all points less what the mistakes cost. Older records have the score alone, which is by checks.

    If the instructor has `waived` checks (grading/waivers.py), everybody has their points, which are `given`, and
    `as_graded` is the outcome as it was before, as a dict.
    """

    exercise: str
    score: float
    max_score: float
    status: str
    checks: list[Check] = field(default_factory=list)
    diagnosis: list[Diagnosis] = field(default_factory=list)
    message: str = ""
    skipped: list[dict[str, str]] = field(default_factory=list)  # the fields of Skipped, as dicts
    not_started: bool = False  # whether the student has left the exercise as it was released
    unjudged: str = ""  # for the instructor: the checks with errors of their own; their points are given by hand
    fingerprint: str = ""  # of a wrong answer that has no name, by which to find its like: mistakes/fingerprint.py
    by_checks: float = NOT_RECORDED
    by_prices: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)  # by names of MEASURES; what was not measured is not in it
    notes: list[str] = field(default_factory=list)  # what later cells change that the answer uses
    waived: list[str] = field(default_factory=list)  # names of checks
    given: float = 0.0
    as_graded: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.message = printable(self.message)
        self.notes = [printable(note) for note in self.notes]
        if self.by_checks == NOT_RECORDED:
            self.by_checks = self.score

    @property
    def full(self) -> bool:
        """Whether it got all its points."""
        return self.status == "graded" and self.score == self.max_score

    @property
    def is_priced(self) -> bool:
        """Whether it got more than the checks give, by the prices of its mistakes."""
        return self.score > self.by_checks

    def credited(self, credit: str) -> "Outcome":
        """The same with the score that `credit`, one of CREDITS, gives it."""
        return replace(self, score=max(self.by_checks, self.by_prices) if credit == PRICES else self.by_checks)

    def before_waivers(self) -> "Outcome":
        """The outcome as it was graded, without what was waived since."""
        return _exercise(self.as_graded) if self.as_graded else self


@dataclass
class Verdict:
    """The outcome of one submission: its `path` as given, and the `seed` from which the inputs were drawn.

    `sandbox` is the level at which its code ran; older records do not name it.
    """

    path: str
    exercises: list[Outcome]
    seed: int
    assignment: str = ""
    schema: int = SCHEMA
    sandbox: str = FULL

    @property
    def score(self) -> float:
        return sum(e.score for e in self.exercises)

    @property
    def max_score(self) -> float:
        return sum(e.max_score for e in self.exercises)

    @property
    def full(self) -> bool:
        """Whether every exercise got all its points; False if there are no exercises."""
        return bool(self.exercises) and all(e.full for e in self.exercises)

    def credited(self, credit: str) -> "Verdict":
        """The same with the scores that `credit`, one of CREDITS, gives."""
        return replace(self, exercises=[e.credited(credit) for e in self.exercises])

    def exercise(self, name: str | None) -> Outcome | None:
        return next((e for e in self.exercises if e.exercise == name), None)

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        return {"schema": data.pop("schema"), **data}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=True)

    @classmethod
    def from_dict(cls, data: object) -> "Verdict":
        """The inverse of `to_dict`. Raises VerdictError."""
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise VerdictError(f"it is not a verdict of schema {SCHEMA}")
        verdict = typed(cls, data, exercises=[_exercise(e) for e in _list(data.get("exercises"))])
        if verdict.sandbox not in LEVELS:
            raise VerdictError("it has an unknown level of sandbox")
        return verdict


def _exercise(data: object) -> Outcome:
    data = data if isinstance(data, dict) else {}
    outcome = typed(
        Outcome,
        data,
        checks=[typed(Check, c) for c in _list(data.get("checks"))],
        diagnosis=[typed(Diagnosis, d) for d in _list(data.get("diagnosis"))],
        skipped=[vars(typed(Skipped, s)) for s in _list(data.get("skipped", []))],
        measured=_measured(data.get("measured", {})),
        notes=[_text(note) for note in _list(data.get("notes", []))],
        waived=[_text(name) for name in _list(data.get("waived", []))],
        as_graded=_as_graded(data),
    )
    if outcome.status not in STATUSES:
        raise VerdictError("it has an unknown status")
    return outcome


def _as_graded(data: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome that another one had before checks of it were waived; it has no other inside."""
    before = data.get("as_graded", {})
    if before and (not isinstance(before, dict) or before.get("waived") or before.get("as_graded")):
        raise VerdictError("what was graded before checks were waived is no outcome")
    return asdict(_exercise(before)) if before else {}


def _measured(data: object) -> dict[str, float]:
    if not isinstance(data, dict) or not all(name in MEASURES and _is_a(float, one) for name, one in data.items()):
        raise VerdictError("what was measured is no number with a known name")
    return data


@dataclass
class Graded:
    """A Verdict, the restored `cells` of the submission, and their `outputs`, keyed by a cell's index.

    `spent` holds the seconds that grading took, keyed by what they were spent on; it is not stored. `stopped` says
    whether a cell was stopped: an exercise that was graded may depend on that cell. `costs` are the lines of
    grading/ledger.py, if anybody asks for them; they are not stored either.
    """

    verdict: Verdict
    cells: "list[RestoredCell]" = field(default_factory=list)
    outputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    stopped: bool = False
    costs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def final(self) -> bool:
        """Whether the verdict is final: no point was lost to a deadline or a kill, which might not happen again."""
        stopped = self.stopped or any(e.status in STOPPED for e in self.verdict.exercises)
        return self.verdict.full or not stopped


def settled(first: Graded, second: Graded) -> Graded:
    """Combine two attempts: the second counts, but an exercise stopped only in the second keeps its first grade."""
    exercises = [_settled(first.verdict.exercise(e.exercise), e) for e in second.verdict.exercises]
    return replace(second, verdict=replace(second.verdict, exercises=exercises))


def _settled(first: Outcome | None, second: Outcome) -> Outcome:
    return first if first and second.status in STOPPED and first.status not in STOPPED else second


def rejected(
    path: object,
    wanted: "Iterable[course.Exercise]",
    problem: str,
    seed: int,
    assignment: str = "",
    sandbox: str = FULL,
) -> Verdict:
    """The Verdict on a submission that cannot be read: 0 points for each exercise, with the reason."""
    results = [without_grade(e.name, e.points, "rejected", problem) for e in wanted]
    return Verdict(str(path), results, seed, assignment, sandbox=sandbox)


def without_grade(name: str, max_score: float, status: str, message: str) -> Outcome:
    """The outcome of an exercise that could not be graded: 0 points, with the reason."""
    return Outcome(exercise=name, score=0.0, max_score=max_score, status=status, message=message)
