"""Checks that an instructor has waived: everybody has their points, whatever their code does.

    c.Exercises.waived = {"attention": ["test_dtypes"]}

A check that is waived is not made: nothing is named or charged by it. Results are stored without its points, under a
key that says so, and the points are given when a score is made of a result, as what scores are by (credit.py). So what
is waived can be taken back. A result from before serves as well, if the check can have cost no more than its points.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from .. import course
from ..errors import CourseError
from ..mistakes import prices
from ..submission.read import StrPath
from ..verdict import CREDIT, STATUSES, STOPPED, Check, Diagnosis, Outcome, Verdict
from . import credit
from .course_faults import meant

if TYPE_CHECKING:
    from ..checks.runner import GradedCheck
    from .store import Store

GRADED = STATUSES[0]

OPTION = "c.Exercises.waived"
FORM = 'should map names of exercises to lists of their checks, such as {"attention": ["test_dtypes"]}'
SAYS = "This check is waived: everybody has its points."
NEAR = 3  # names that a message suggests for a misspelt one, at most
NEARLY_ALL = 1 - 1e-9  # the share of all points that is all of them
LISTED = 12  # names of checks in a message


class Waivers:
    """The checks that are `waived`, by exercise; `checks` are those of an exercise, by default the course's."""

    def __init__(self, waived: Mapping[str, Sequence[str]] | None = None) -> None:
        self.waived = {exercise: tuple(dict.fromkeys(names)) for exercise, names in (waived or {}).items() if names}
        self._checks: dict[str, list[GradedCheck]] = {}

    def of(self, exercise: str) -> tuple[str, ...]:
        """The names of the waived checks of an exercise."""
        return self.waived.get(exercise, ())

    def checks(self, exercise: str) -> list[GradedCheck]:
        """All checks of an exercise. Raises GraderError."""
        if exercise not in self._checks:
            self._checks[exercise] = _checks_of(exercise)
        return self._checks[exercise]

    def given(self, exercise: course.Exercise) -> dict[str, float]:
        """The points that everybody has of each waived check, where all checks of the exercise can be tried."""
        worth = {check.name: check.points for check in self.checks(exercise.name)} if self.of(exercise.name) else {}
        scale = exercise.points / (sum(worth.values()) or 1.0)
        return {name: round(worth[name] * scale, 4) for name in self.of(exercise.name)}

    def of_assignment(self, assignment: str) -> dict[str, tuple[str, ...]]:
        """The names of the waived checks in an assignment, by exercise."""
        known = course.assignments().get(assignment)
        return {e.name: self.of(e.name) for e in (known.exercises if known else ()) if self.of(e.name)}

    def key_of(self, results: Store, digest: str, assignment: str, seed: int, device: str, sandbox: str) -> str:
        """The key of the result for a submission: one from before the waivers, where it serves as well."""
        about, waived = (digest, assignment, seed, device, sandbox), self.of_assignment(assignment)
        key, before = results.key(*about, waived), results.key(*about)
        if key == before or results.has(key):
            return key
        graded = results.get(before)
        return key if graded is None or needs_another(graded.verdict, waived) else before

    def applied(self, verdict: Verdict) -> Verdict:
        """The verdict with the points of these checks, and of no others that were waived before."""
        if not self.waived and not any(outcome.waived for outcome in verdict.exercises):
            return verdict
        return replace(verdict, exercises=[self.applied_to(outcome) for outcome in verdict.exercises])

    def applied_to(self, outcome: Outcome) -> Outcome:
        """An outcome with the points of the waived checks of its exercise."""
        names = self.of(outcome.exercise)
        if tuple(outcome.waived) == names:
            return outcome
        before = outcome.before_waivers()
        return (
            _waived(before, {check.name: check for check in self.checks(outcome.exercise)}, names) if names else before
        )


@dataclass(frozen=True)
class Scoring:
    """How scores are made of what was graded: by checks or prices (verdict.CREDITS), with what is waived."""

    credit: str = CREDIT
    waivers: Waivers = field(default_factory=Waivers)

    def of(self, verdict: Verdict) -> Verdict:
        """The verdict with the scores that the course gives."""
        return self.waivers.applied(verdict).credited(self.credit)

    def of_outcome(self, outcome: Outcome) -> Outcome:
        """The same of one exercise."""
        return self.waivers.applied_to(outcome).credited(self.credit)


def _checks_of(exercise: str) -> list[GradedCheck]:
    from ..checks.runner import checks_of, collected  # with torch

    return collected(exercise, checks_of(exercise))


def needs_another(verdict: Verdict, waived: Mapping[str, Sequence[str]]) -> bool:
    """Whether something else might be said of an answer, or of one that uses it, if these checks were not made.

    So it is where one of them failed among others, or stopped the exercise.
    """

    def is_affected(outcome: Outcome) -> bool:
        names = waived.get(outcome.exercise, ())
        failed = {check.name for check in outcome.checks if not check.passed}
        both = not failed.isdisjoint(names) and not failed.issubset(names)
        return bool(names) and (both or outcome.status in STOPPED) or any(d.base in waived for d in outcome.diagnosis)

    return any(map(is_affected, verdict.exercises))


# --- what everybody has ---------------------------------------------------------------------------


def _waived(before: Outcome, checks: Mapping[str, GradedCheck], names: Sequence[str]) -> Outcome:
    """The outcome in which these checks count as passed.

    A check that could not be tried here has its points, too; the others share what is left, as ever. Where nothing was
    tried, as in an answer that is missing or ran too long, the points are given all the same.
    """
    worth = {name: check.points for name, check in checks.items()}
    others = [check for check in before.checks if check.name not in names]
    rest = {check.name: worth.get(check.name, check.points) for check in others}
    if before.status != GRADED:
        rest = {name: points for name, points in worth.items() if name not in names}
    free, all_points = sum(worth[name] for name in names), before.max_score
    total = sum(rest.values()) + free
    scale = all_points / (total or 1.0)
    given = min(all_points, round(scale * free, 4))
    passed = sum(rest[check.name] for check in others if check.passed)
    # whoever passes all has all points, whatever is rounded
    has_all = 0 < total * NEARLY_ALL <= free + passed
    earned = all_points if has_all else round(scale * (free + passed), 4)
    made = replace(
        before,
        by_checks=earned,
        waived=list(names),
        given=given,
        as_graded=asdict(before),
        skipped=[one for one in before.skipped if one["name"] not in names],
        unjudged="; ".join(one for one in before.unjudged.split("; ") if one.partition(" ended with ")[0] not in names),
    )
    if before.status == GRADED:
        made.checks = _all_checks(before, checks, names, scale)
        made.diagnosis = _still_wrong(made)
    if made.checks and all(check.passed for check in made.checks):
        made.diagnosis, made.fingerprint = [], ""
    left = prices.left(made.diagnosis) if made.diagnosis else given / (all_points or 1.0)
    made.by_prices = max(before.by_prices, given, min(all_points, round(all_points * left, 4)))
    made.score = earned
    return made


def _all_checks(before: Outcome, checks: Mapping[str, GradedCheck], names: Sequence[str], scale: float) -> list[Check]:
    """The checks of an outcome, those that are waived as passed, also those that were not tried."""
    found = {check.name: check for check in before.checks}
    absent = [checks[name] for name in names if name not in found]
    found |= {one.name: Check(one.name, one.category, one.points, False, one.sentence) for one in absent}
    order = {name: place for place, name in enumerate(checks)}
    made = []
    for name in sorted(found, key=lambda name: order.get(name, len(order))):
        points = round(scale * checks[name].points, 4) if name in checks else found[name].points
        one = replace(found[name], points=points)
        if name in names:
            one = replace(one, passed=True, message=f"{one.sentence} {SAYS}", reason="")
        made.append(one)
    return made


def _still_wrong(outcome: Outcome) -> list[Diagnosis]:
    """What is said of an answer, at its price: a share of the points that are not given."""
    share = 1 - outcome.given / (outcome.max_score or 1.0)
    return [replace(one, price=one.price * share) if one.has_price else one for one in outcome.diagnosis]


# --- the option -----------------------------------------------------------------------------------


def faults(given: object) -> Iterator[str]:
    """A sentence for each thing that is wrong with a value of the option. Raises GraderError."""
    where = f"{OPTION} in nbgrader_config.py"
    if not isinstance(given, Mapping):
        yield f"{where} {FORM}; it is {given!r:.80}."
        return
    known = course.exercises()
    for exercise, names in given.items():
        if not isinstance(exercise, str) or exercise not in known:
            near = meant(str(exercise), [*known], NEAR)
            yield f"{where} names {exercise!r:.80}, which is not an exercise of this course.{near}"
        elif not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            yield f"{where} {FORM}; {exercise!r} has {names!r:.80}."
        elif names and course.file_of(exercise, "checks") is not None:
            checks = [check.name for check in _checks_of(exercise)]
            for name in names:
                if name not in checks:
                    listed = f" It has {', '.join(checks[:LISTED])}{', …' if len(checks) > LISTED else ''}."
                    said = meant(name, checks, NEAR) or listed
                    yield f"{where} names {name!r:.80}, which is not a check of {exercise}.{said}"


def configured(given: object) -> Waivers:
    """The Waivers that a value of the option says. Raises CourseError."""
    for fault in faults(given):
        raise CourseError(fault)
    return Waivers(given) if isinstance(given, Mapping) else Waivers()


def of_course(root: StrPath) -> Waivers:
    """The Waivers of a course, read from the text of its configuration, as credit.py does. Raises CourseError."""
    found = credit.values_of(root, OPTION)
    if not found:
        return Waivers()
    try:
        given = ast.literal_eval(found[0]) if len(found) == 1 and found[0] is not None else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        given = None
    if given is None:
        raise CourseError(f"{credit.FILE} should set {OPTION} once, and write it out: it {FORM}.")
    return configured(given)


def scoring_of(root: StrPath) -> Scoring:
    """How a course scores, read from the text of its configuration. Raises CourseError."""
    return Scoring(credit.of_course(root), of_course(root))
