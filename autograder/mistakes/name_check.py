"""How well names fit: a folder of wrong answers, each with the names that it should get, against those that it gets.

    FOLDER/EXERCISE/NAME.py     one answer, which begins with comments:
    # wrong: what is wrong in it, in words
    # expect: the ids of the bank's mistakes that it makes, of facts, or of mistakes in a softmax of its own; `?` is a
    # mistake that has no id
    # also: ids whose sentences are true of it as well, but need not be said

It is graded as in its notebook: after the setup cells, and after the course's own solutions of what it stands on and
does not define itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import course
from ..checks.source_text import names_in
from ..errors import Unreadable, UsageError
from ..submission import read
from ..submission.restore import RestoredCell
from ..verdict import FACT, STANDS_ON, Outcome, printable
from . import own_softmax
from .bank import bank

FIELD = re.compile(r"# *(expect|also):(.*)")
UNKNOWN = "?"  # stands for a mistake that the bank has not
MOST_SHOWN = 5  # problems told at once


@dataclass(frozen=True)
class Answer:
    """A wrong answer to an exercise: its `name` and `text`, the ids that it should get and those that it may get.

    `unknown` says that it makes a mistake that the bank has not, `expected` may then be empty.
    """

    exercise: str
    name: str
    text: str
    expected: frozenset[str]
    also: frozenset[str]
    unknown: bool

    @property
    def wanted(self) -> list[str]:
        """What it should be named, as its file says it."""
        return sorted(self.expected) + [UNKNOWN] * self.unknown


@dataclass(frozen=True)
class Judgement:
    """What an answer was named, and whether that is right; its `kind` sums it up.

    full: it has full marks, so that nothing is named. false: a name is neither expected nor true. right: at least one
    name is expected. other: all names are true, none is expected. place: no name, but where it goes wrong. none: not
    even that.
    """

    answer: Answer
    outcome: Outcome

    @property
    def named(self) -> list[str]:
        return [diagnosis.id for diagnosis in self.outcome.diagnosis if not diagnosis.is_place]

    @property
    def place(self) -> str:
        """The id of the place that is told in place of a name; empty if there is none."""
        return next((diagnosis.id for diagnosis in self.outcome.diagnosis if diagnosis.is_place), "")

    @property
    def right(self) -> set[str]:
        return set(self.named) & self.answer.expected

    @property
    def false(self) -> set[str]:
        return set(self.named) - self.answer.expected - self.answer.also

    @property
    def complete(self) -> bool:
        """Whether it got all the names that the bank has for it."""
        return bool(self.answer.expected) and self.right == self.answer.expected

    @property
    def has_line(self) -> bool:
        return any(diagnosis.line for diagnosis in self.outcome.diagnosis)

    @property
    def kind(self) -> str:
        if self.outcome.full:
            return "full"
        if self.false:
            return "false"
        return "right" if self.right else "other" if self.named else "place" if self.place else "none"

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "exercise": self.answer.exercise,
            "answer": self.answer.name,
            "kind": self.kind,
            "score": self.outcome.score,
            "max_score": self.outcome.max_score,
            "status": self.outcome.status,
            "expected": self.answer.wanted,
            "named": [{"id": diagnosis.id, "line": diagnosis.line} for diagnosis in self.outcome.diagnosis],
        }

    def text(self) -> str:
        """One line, and one for each line of the answer that a name points to."""
        score = f"{self.outcome.score:g}/{self.outcome.max_score:g}"
        status = "" if self.outcome.status == "graded" else f" ({self.outcome.status})"
        head = f"{self.kind:<6}{self.answer.exercise}/{printable(self.answer.name)} {score}{status}: "
        named = ", ".join(f"{id} (false)" if id in self.false else id for id in self.named) or self.place or "no name"
        missing = [id for id in self.answer.wanted if id not in self.right]
        lines = [f"{head}{named}" + (f"; missing {', '.join(missing)}" if missing else "")]
        lines += [f"        {d.id}: {d.line}" for d in self.outcome.diagnosis if d.line]
        return "\n".join(lines)


class Totals:
    """The counts over some judgements; all but `answers` and `full` are of those that lose points."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        judged = list(judgements)
        losing = [one for one in judged if not one.outcome.full]
        self.answers = len(judged)
        self.full = self.answers - len(losing)
        self.lose = len(losing)
        self.known = sum(bool(one.answer.expected) for one in losing)  # those for which the bank has a name
        self.right = sum(bool(one.right) for one in losing)
        self.complete = sum(one.complete for one in losing)
        self.false = sum(bool(one.false) for one in losing)
        self.place = sum(bool(one.place) for one in losing)
        self.none = sum(not one.named and not one.place for one in losing)
        self.line = sum(one.has_line for one in losing)
        self.names = sum(len(one.named) for one in losing)
        self.false_names = sum(len(one.false) for one in losing)
        self.expected_names = sum(len(one.answer.expected) for one in losing)
        self.right_names = sum(len(one.right) for one in losing)

    def to_dict(self) -> dict[str, int]:
        return dict(vars(self))


COLUMNS = {
    "answers": "answers",
    "full": "full marks",
    "lose": "lose points",
    "known": "with a name in the bank",
    "right": "a right name",
    "complete": "all names",
    "false": "a false name",
    "place": "a place",
    "none": "neither",
    "line": "a line",
}


def answers_in(folder: Path, exercise: str | None = None) -> list[Answer]:
    """The answers of a folder in the course's order, or those to one exercise. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    wanted = [exercise] if exercise else list(course.exercises())
    found, problems = [], []
    for name in wanted:
        for path in sorted((folder / name).glob("*.py")):
            try:
                found.append(_answer(name, path))
            except Unreadable as problem:
                problems.append(f"{name}/{path.name}: {problem}")
    strange = [path.name for path in folder.iterdir() if path.is_dir() and path.name not in course.exercises()]
    problems += [f"{name}: There is no such exercise." for name in sorted(strange) if any((folder / name).glob("*.py"))]
    if problems:
        more = f" And {len(problems) - MOST_SHOWN} more." if len(problems) > MOST_SHOWN else ""
        raise UsageError(f"{folder} cannot be used. {' '.join(problems[:MOST_SHOWN])}{more}")
    if not found:
        raise UsageError(
            f"There are no answers in {folder}: one belongs into {folder / (exercise or 'EXERCISE')}/NAME.py."
        )
    return found


def _answer(exercise: str, path: Path) -> Answer:
    """Read an answer. Raises Unreadable."""
    text = read.read_script(read.read_bytes(path))
    ids: dict[str, set[str]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if field := FIELD.fullmatch(line.strip()):
            ids.setdefault(field[1], set()).update(id.strip() for id in field[2].split(",") if id.strip())
    expected, also = ids.get("expect", set()), ids.get("also", set())
    if not expected:
        raise Unreadable("It does not begin with a comment `# expect: id, id`.")
    for id in sorted((expected | also) - {UNKNOWN} - bank(exercise).keys()):
        if not id.startswith((STANDS_ON, FACT, own_softmax.PREFIX)):
            raise Unreadable(f"It expects {id}, which is no mistake in the bank of {exercise}.")
    return Answer(exercise, path.stem, text, frozenset(expected - {UNKNOWN}), frozenset(also), UNKNOWN in expected)


def cells_for(exercise: str, text: str) -> list[RestoredCell]:
    """The cells to grade: what stands before an answer in its notebook and is needed, then the answer."""
    cells = course.assignments()[course.exercises()[exercise].assignment].cells
    code = [cell for cell in cells if cell.cell_type == "code" and not cell.grade]
    texts = {cell.grade_id: cell.source if cell.locked else course.answer_of(cell.source) for cell in code}
    needed = {cell.grade_id for cell in code if cell.locked}
    own, used = course.defined_in(text) | {exercise}, names_in(text) | _needed_by_checks(exercise)
    while more := {id for id, solution in texts.items() if course.defined_in(solution) & used - own} - needed:
        needed |= more
        used = used.union(*(names_in(texts[id]) for id in more))
    before = [RestoredCell("code", given, "") for id, given in texts.items() if id in needed]
    return [*before, RestoredCell("code", text, "")]


def _needed_by_checks(exercise: str) -> set[str]:
    """The other exercises that the checks of this one build or call, as those of `load_from_torch` do."""
    checks = (course.folder_of(exercise) / "checks.py").read_text(encoding="utf-8")
    return set(re.findall(r'"(\w+)"', checks)) & course.exercises().keys()


def table(judgements: Iterable[Judgement]) -> str:
    """The totals per exercise and of all, as text, then precision and recall."""
    by_exercise: dict[str, list[Judgement]] = {}
    for one in judgements:
        by_exercise.setdefault(one.answer.exercise, []).append(one)
    rows = {name: Totals(ones) for name, ones in by_exercise.items()}
    every = Totals(one for ones in by_exercise.values() for one in ones)
    width = max(map(len, [*rows, "all"]))
    lines = [" " * width + "  " + "  ".join(COLUMNS.values())]
    for name, totals in [*rows.items(), ("all", every)]:
        counts = "  ".join(f"{getattr(totals, key):>{len(title)}}" for key, title in COLUMNS.items())
        lines.append(f"{name:<{width}}  {counts}")
    return "\n".join([*lines, "", *_shares(every)])


def _shares(every: Totals) -> list[str]:
    """Precision and recall, in words."""
    true = every.names - every.false_names
    return [
        f"precision: {_share(true, every.names)} of the names that were given are true",
        f"recall: {_share(every.right_names, every.expected_names)} of the names that were expected were given",
        f"{_share(every.right, every.lose)} of the answers that lose points have a right name,"
        f" {_share(every.complete, every.lose)} all of theirs, {_share(every.false, every.lose)} a false one",
    ]


def _share(some: int, of: int) -> str:
    return f"{some} of {of}" + (f" ({some / of:.0%})" if of else "")
