"""Formats outcomes: as text for terminals, as HTML for test cells and the feedback."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from .. import course
from ..verdict import (
    CATEGORIES,
    MEASURES,
    NOT_TRIED,
    RAISED,
    STOPPED_WITH,
    Check,
    Diagnosis,
    Outcome,
    Verdict,
    printable,
)

NOT_STARTED = "not started"
ERROR = re.compile(rf"{RAISED}|{STOPPED_WITH}")
STATUS = {
    "graded": "",
    "missing": "not found",
    "error": "could not run",
    "timeout": "ran too long",
    "killed": "was ended",
    "rejected": "could not be read",
}


def points(value: float) -> str:
    """2 for 2.0, 2.5 for 2.5."""
    return f"{value:g}"


def said_of(mistake: Diagnosis, outcome: Outcome) -> str:
    """The message of a named mistake, after its price if that has decided: "−2 of 10: The softmax runs …"."""
    return f"{_lost(mistake, outcome)}: {mistake.message}" if _is_paid(mistake, outcome) else mistake.message


def charged(mistake: Diagnosis, outcome: Outcome) -> str:
    """The same for a page, where the points that the failed checks cost are said as well.

    Nobody knows then how much each of several mistakes cost, so the first one that is paid for says it for all.
    """
    paid = [one for one in outcome.diagnosis if one.price > 0]
    lost = outcome.max_score - outcome.score
    if outcome.is_priced or lost <= 0 or mistake not in paid[:1]:
        return said_of(mistake, outcome)
    return f"−{points(round(lost, 2))} of {points(outcome.max_score)} for the failed checks: {mistake.message}"


def _is_paid(mistake: Diagnosis, outcome: Outcome) -> bool:
    return outcome.is_priced and mistake.price > 0


def _lost(mistake: Diagnosis, outcome: Outcome) -> str:
    return f"−{points(round(mistake.price * outcome.max_score, 2))} of {points(outcome.max_score)}"


def how_scored(outcome: Outcome) -> str:
    """What was charged where a score is not that of the checks alone, in words; else ""."""
    lost = points(round(outcome.max_score - outcome.score, 2))
    many = sum(one.price > 0 for one in outcome.diagnosis)
    named = "named mistakes" if many > 1 else "named mistake"
    return f"−{lost} for the {named}; the failed checks cost nothing more" if outcome.is_priced else ""


def waived(outcome: Outcome) -> str:
    """How many of the points everybody has, since checks are waived, in words; else ""."""
    given = outcome.given
    return f"everybody has {points(given)} of these points: what they were for is waived" if given else ""


def measured(outcome: Outcome) -> str:
    """What was measured, with its units: "128 bytes of state a token, 0.0297 nats a token above the rules"."""
    return ", ".join(f"{points(float(f'{value:.3g}'))} {MEASURES[name]}" for name, value in outcome.measured.items())


def as_text(outcome: Outcome) -> str:
    """The outcome as lines of plain text: the score, the named mistakes, what went wrong, then what is right."""
    heading = f"{outcome.exercise or 'submission'}: {points(outcome.score)} of {points(outcome.max_score)} points"
    if outcome.not_started:
        return "; ".join(filter(None, [f"{heading}, {NOT_STARTED}", waived(outcome)]))
    lines = ["; ".join(filter(None, [", ".join(filter(None, [heading, how_scored(outcome)])), waived(outcome)]))]
    if outcome.message:
        lines.append(f"  {STATUS[outcome.status]}: {outcome.message}")
    if outcome.measured:
        lines.append(f"  Measured: {measured(outcome)}")
    for named in outcome.diagnosis:
        lines.append(f"  What went wrong: {charged(named, outcome)}")
        lines += [f"    in your line: {named.line}"] if named.line else []
    for failure in failures(outcome.checks):
        if failure.heading:
            lines.append(f"  FAIL  {failure.heading}")
            lines += [_line("    ", check, check.sentence) for check in failure.checks]
        else:
            lines += [_line("FAIL", check, check.message) for check in failure.checks]
    lines += [_line("ok  ", check, check.message) for check in outcome.checks if check.passed]
    lines += [f"  skip        {s['message']}" for s in outcome.skipped]
    lines += [f"  note        {note}" for note in outcome.notes]
    return "\n".join(lines)


def _line(mark: str, check: Check, text: str) -> str:
    return f"  {mark} {points(check.points):>4}  {check.category:<9}  {text}"


def as_html(outcome: Outcome) -> str:
    """The same as an HTML fragment, with everything escaped. It uses only tags that `safe_markdown.TAGS` allows."""
    heading = f"{points(outcome.score)} of {points(outcome.max_score)} points"
    if outcome.not_started:
        heading += f", {NOT_STARTED}"
    if alone := how_scored(outcome):
        heading += f", {alone}"
    if for_all := waived(outcome):
        heading += f"; {for_all}"
    parts = [f"<div><strong>{escape(outcome.exercise)}: {heading}</strong></div>"]
    if outcome.not_started:
        return parts[0]
    if outcome.message:
        parts.append(f"<div><strong>It {STATUS[outcome.status]}.</strong> {code_spans(outcome.message)}</div>")
    if outcome.measured:
        parts.append(f"<div>Measured: {escape(measured(outcome))}</div>")
    for named in outcome.diagnosis:
        line = f"<br>In your line: <code>{escape(named.line)}</code>" if named.line else ""
        parts.append(f"<div><strong>What went wrong:</strong> {code_spans(charged(named, outcome))}{line}</div>")
    if outcome.checks:
        parts.append("<div><strong>Points, check by check:</strong></div>")
    for failure in failures(outcome.checks):
        if failure.heading:
            rows = [f"<li>{_check_as_html(check, check.sentence)}</li>" for check in failure.checks]
            parts.append(f"<div>✗ {code_spans(failure.heading)}<ul>{''.join(rows)}</ul></div>")
        else:
            parts += [f"<div>✗ {_check_as_html(check, check.message)}</div>" for check in failure.checks]
    parts += [f"<div>✓ {_check_as_html(check, check.message)}</div>" for check in outcome.checks if check.passed]
    parts += [f"<div>{code_spans(s['message'])}</div>" for s in outcome.skipped]
    parts += [f"<div>{code_spans(note)}</div>" for note in outcome.notes]
    return "\n".join(parts)


def _check_as_html(check: Check, text: str) -> str:
    score = f"{points(check.points if check.passed else 0)} / {points(check.points)}".replace(" ", "&nbsp;")
    return f"<strong>{score}</strong> <em>{escape(check.category)}</em>: {code_spans(text)}"


@dataclass(frozen=True)
class Failure:
    """Failed checks with one reason. If these are several, a `heading` says the reason once for all of them."""

    checks: list[Check]
    heading: str

    @property
    def shared(self) -> str:
        """The reason itself, without how many checks have it."""
        return _error_in(self.checks[0]) or self.checks[0].reason


def failures(checks: Iterable[Check]) -> list[Failure]:
    """The failed checks, those with the same reason together, in the order in which to look at them.

    That is by category, see `CATEGORIES`; what was not tried, since something easier is wrong, comes last.
    """
    failed = sorted((c for c in checks if not c.passed), key=lambda c: (c.reason.startswith(NOT_TRIED), _rank(c)))
    found: dict[tuple[str, ...], list[Check]] = {}
    for number, check in enumerate(failed):
        found.setdefault(_shared_reason(check) or (str(number),), []).append(check)
    return [Failure(group, _heading(group) if len(group) > 1 else "") for group in found.values()]


def _rank(check: Check) -> int:
    return CATEGORIES.index(check.category) if check.category in CATEGORIES else len(CATEGORIES)


def _shared_reason(check: Check) -> tuple[str, ...]:
    """A key that is equal for checks that failed for one reason; empty for a check without one.

    The same error may have other sizes in each check, and an easier case that fails may have other values.
    """
    if check.reason.startswith(NOT_TRIED):
        return (_without_numbers(check.reason),)
    if error := _error_in(check):
        what, comma, place = error.rpartition(", in ")
        return (_without_numbers(what), place) if comma else (_without_numbers(error), "")
    return (check.reason, "") if check.reason else ()


def _error_in(check: Check) -> str:
    """The part of a reason about an error in the student's code; a check for a ValueError says more before it."""
    found = ERROR.search(check.reason)
    return check.reason[found.start() :] if found else ""


def _without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.e+-]*", "0", text)


def _heading(checks: Sequence[Check]) -> str:
    many, reason = len(checks), checks[0].reason
    if reason.startswith(NOT_TRIED):
        return f"{many} checks were not tried, since an easier case is wrong already: {reason.removeprefix(NOT_TRIED)}"
    if error := _error_in(checks[0]):
        return f"{many} checks stopped at the same error: {error}"
    return f"{many} checks failed for the same reason: {reason}"


def code_spans(text: str) -> str:
    """Text as HTML: escaped, with text between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def verdict_as_text(verdict: Verdict) -> str:
    """A whole verdict as text, headed by its path and total."""
    path = printable(verdict.path)
    if all(e.status == "rejected" for e in verdict.exercises):
        return "\n".join(f"{path}: {reason}" for reason in dict.fromkeys(e.message for e in verdict.exercises))
    if not verdict.assignment and all(e.status == "missing" for e in verdict.exercises):
        return _defines_nothing(path, verdict.exercises)
    total = f"{points(verdict.score)} of {points(verdict.max_score)} points{_by_hand(verdict)}"
    return "\n".join([f"{path}: {total}", *(as_text(e) for e in verdict.exercises)])


def _defines_nothing(path: str, exercises: Sequence[Outcome]) -> str:
    """For a file without any of the exercises that it was graded on, up to all of the course."""
    plain = [f"`{e.exercise}` is not defined." for e in exercises]
    near = [e.message for e, without in zip(exercises, plain, strict=True) if e.message != without]
    if len(exercises) == 1 or near:
        return f"{path}: {' '.join(near or plain)}"
    return f"{path}: It defines none of the exercises: {', '.join(e.exercise for e in exercises)}."


def _by_hand(verdict: Verdict) -> str:
    """For the total of a whole notebook: how many more points a person gives for written answers."""
    more = points_by_hand(verdict)
    return f" so far; {points(more)} more are given by hand" if more else ""


def points_by_hand(verdict: Verdict) -> float:
    """The points that a person gives for written answers in a whole notebook; 0 for a part of one, or a .py file."""
    assignment = course.assignments().get(verdict.assignment)
    whole = assignment and {e.name for e in assignment.exercises} == {e.exercise for e in verdict.exercises}
    return assignment.points_by_hand if assignment and whole else 0


def name_of(student: str) -> str:
    """A student's name, printable on one line of a terminal."""
    return printable(student).replace("\n", "\N{REPLACEMENT CHARACTER}").replace("\t", " ")
