"""The screen of `autograder watch`: a State as text. Nothing here reads a file or knows a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ..course import Hint
from ..report.outcome_text import NOT_STARTED, STATUS, failures, points
from ..verdict import Outcome, Verdict, printable

MOST_SENTENCES = 3  # of checks that failed for the same reason
BAR = 30  # characters of the bar, at most
KEEPS_ITS_LINES = re.compile(r"\s*(\||    |\t)")  # tables and code in Markdown
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
GREEN, RED, YELLOW, BOLD, FAINT = "32", "31", "33", "1", "2"


@dataclass(frozen=True)
class State:
    """The data of a screen: the latest verdict on a file, the exercise to do next, and its hints so far.

    `problem` says why the file cannot be read now; the verdict is then an older one, or None. `warning` tells of a cell
    that was stopped. `by_hand` is the number of points that a person gives for the rest of the notebook; `blank` has a
    sentence for each written answer that is blank. If it is not `settled`, mistakes are still to be named.
    """

    path: str
    verdict: Verdict | None = None
    problem: str = ""
    warning: str = ""
    next: str | None = None
    hints: Sequence[Hint] = ()
    more_hints: int = 0
    by_hand: float = 0
    blank: Sequence[str] = ()
    note: str = ""
    settled: bool = True
    keys: bool = False


def next_exercise(verdict: Verdict, edited: set[str], before: str | None) -> str | None:
    """The exercise to do next; None if all are solved.

    That is one that was just `edited` and is not right yet, else the one `before`, else the first that is not right.
    """
    left = [outcome.exercise for outcome in verdict.exercises if not outcome.full]
    chosen = [name for name in left if name in edited] or [name for name in left if name == before] or left
    return chosen[0] if chosen else None


def as_text(state: State, width: int = 80, colours: bool = False) -> str:
    """The whole screen, as lines of at most `width` characters where they can be wrapped."""
    page = _Page(width, colours)
    page.line(page.paint(printable(state.path), BOLD) + (f"   {state.note}" if state.note else ""))
    page.line()
    if state.problem:
        page.wrapped(state.problem, page.paint("! ", YELLOW))
    elif state.verdict is not None:
        _progress(page, state.verdict, state.by_hand)
        page.line()
        if state.warning:
            page.wrapped(printable(state.warning), page.paint("! ", YELLOW))
            page.line()
        outcome = state.verdict.exercise(state.next) if state.next else None
        if outcome is None:
            _all_solved(page, state)
        else:
            _next(page, outcome, state)
        for sentence in state.blank:
            page.line()
            page.wrapped(printable(sentence), page.paint("! ", YELLOW))
    if state.keys:
        page.line()
        more = state.more_hints and not state.problem
        page.line(page.paint("h: the next hint   q: quit" if more else "q: quit", FAINT))
    return "\n".join(page.lines)


def _progress(page: _Page, verdict: Verdict, by_hand: float) -> None:
    done, all_of_them = sum(outcome.full for outcome in verdict.exercises), len(verdict.exercises)
    bar = min(BAR, max(page.width - 50, 10))
    filled = bar * done // max(all_of_them, 1)
    hand = f"; {points(by_hand)} more by hand" if by_hand else ""
    page.line(
        f"[{page.paint('#' * filled, GREEN)}{'-' * (bar - filled)}]  {done} of {all_of_them} exercises,"
        f" {points(verdict.score)} of {points(verdict.max_score)} points{hand}"
    )
    page.line()
    longest = max((len(outcome.exercise) for outcome in verdict.exercises), default=0)
    for outcome in verdict.exercises:
        mark = page.paint("✓", GREEN) if outcome.full else page.paint("✗", RED) if _is_begun(outcome) else "·"
        score = f"{points(outcome.score):>4} / {points(outcome.max_score):<4}"
        why = NOT_STARTED if outcome.not_started else STATUS[outcome.status]
        page.line(f"  {mark} {outcome.exercise.ljust(longest)}  {score} {why}".rstrip())


def _is_begun(outcome: Outcome) -> bool:
    return not outcome.not_started and outcome.status != "missing"


def _all_solved(page: _Page, state: State) -> None:
    hand = f" {points(state.by_hand)} more points are given by hand, for written answers." if state.by_hand else ""
    page.wrapped(f"All solved: every check passes, the hidden ones, too.{hand}", page.paint("✓ ", GREEN))


def _next(page: _Page, outcome: Outcome, state: State) -> None:
    page.line(page.paint(f"Next: {outcome.exercise}", BOLD))
    page.line()
    if outcome.not_started:
        page.wrapped("Not started yet: its cell is as it was released.", "  ")
    elif outcome.message:
        page.wrapped(f"It {STATUS[outcome.status]}: {outcome.message}", "  ")
    else:
        _what_fails(page, outcome, state.settled)
    for note in outcome.notes:
        page.line()
        page.wrapped(note, "  ")
    if outcome.unjudged:
        page.wrapped(f"Not your mistake: a check has a bug ({outcome.unjudged}).", "  ")
    for hint in state.hints:
        page.line()
        page.line("  " + page.paint(printable(hint.title), YELLOW))
        page.markdown(hint.text, "    ")


def _what_fails(page: _Page, outcome: Outcome, settled: bool) -> None:
    """The named mistakes with their lines, and the first failing check with its reason."""
    for named in outcome.diagnosis:
        page.wrapped(named.message, "  " + page.paint("What went wrong: ", RED))
        if named.line:
            page.line(f"    in your line: {named.line}")
    if not settled and not outcome.diagnosis:
        page.line("  What went wrong: …")
    failed = failures(outcome.checks)
    if not failed:
        return
    if outcome.diagnosis or not settled:
        page.line()
    first, many = failed[0], sum(len(failure.checks) for failure in failed)
    if first.heading:
        page.wrapped(first.heading, "  ")
        for check in first.checks[:MOST_SENTENCES]:
            page.wrapped(check.sentence, "    - ")
    else:
        page.line("  The check that fails:" if many == 1 else f"  The first of {many} checks that fail:")
        page.wrapped(first.checks[0].message, "    ")


class _Page:
    """The lines of a screen in the making."""

    def __init__(self, width: int, colours: bool) -> None:
        self.width = max(width, 40)
        self.colours = colours
        self.lines: list[str] = []

    def line(self, text: str = "") -> None:
        self.lines.append(text)

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours and text else text

    def wrapped(self, text: str, start: str) -> None:
        """Add a text, wrapped line by line; `start` comes before the first line, and the others are indented as far."""
        plain = re.sub(r"\x1b\[\d+m", "", start)
        further = " " * (len(plain) - len(plain.lstrip()) + 2) if len(plain) > 8 else " " * len(plain)
        for number, line in enumerate(text.strip().split("\n")):
            first = plain if number == 0 else further
            made = textwrap.wrap(line, self.width, initial_indent=first, subsequent_indent=further) or [""]
            if number == 0:
                made[0] = start + made[0][len(plain) :]
            self.lines += made

    def markdown(self, text: str, indent: str) -> None:
        """Add Markdown as it is written, with its paragraphs and items wrapped; tables and code keep their lines."""
        fenced = False
        for line in printable(text).split("\n"):
            fence = line.lstrip().startswith("```")
            fenced ^= fence
            if fence:
                continue
            if fenced or KEEPS_ITS_LINES.match(line) or not line.strip():
                self.lines.append((indent + line).rstrip())
                continue
            item = ITEM.match(line)
            further = indent + " " * (len(item[0]) if item else 0)
            self.lines += textwrap.wrap(line, self.width, initial_indent=indent, subsequent_indent=further)
