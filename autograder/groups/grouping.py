"""Groups of equal wrong answers that have no name yet, largest first, each with the code of one of them or two."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..course import Assignment
from ..errors import Unreadable
from ..submission import read
from ..submission.read import StrPath
from ..submission.restore import RestoredCell, restore
from ..verdict import Outcome, Verdict
from . import alike
from .names import is_unnamed

STYLES = 2  # answers of a group that are shown as code
TRIED = 6  # students of a group among whom another style is looked for
LINES, WIDTH = 60, 160  # of the code that is shown
UNSEEN = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING})
SHAPES = {tokenize.INDENT: "{", tokenize.DEDENT: "}", tokenize.NEWLINE: "\n"}  # whatever spaces make them


@dataclass(frozen=True)
class Member:
    """A student with an answer that belongs to a group, the outcome and the seed of the inputs."""

    student: str
    outcome: Outcome
    seed: int

    @property
    def id(self) -> str:
        """The id of a group with this first member."""
        return f"{self.outcome.exercise}-{alike.short(self.outcome.fingerprint)}"


@dataclass(frozen=True)
class Group:
    """Equal wrong answers to one exercise, those of at least one student."""

    members: tuple[Member, ...]

    @property
    def id(self) -> str:
        return self.members[0].id

    @property
    def exercise(self) -> str:
        return self.members[0].outcome.exercise

    @property
    def students(self) -> list[str]:
        return [member.student for member in self.members]

    @property
    def failed(self) -> list[str]:
        """The sentences of the checks that these answers fail."""
        return [check.sentence for check in self.members[0].outcome.checks if not check.passed]

    @property
    def place(self) -> str:
        """Where the answers go wrong, if that is certain."""
        return " ".join(d.message for d in self.members[0].outcome.diagnosis)


class Grouping:
    """Collects the unnamed wrong answers of a class."""

    def __init__(self) -> None:
        self.by_exercise: dict[str, alike.Groups[Member]] = {}

    def add(self, student: str, verdict: Verdict) -> None:
        """Take a student's verdict into account."""
        for outcome in verdict.exercises:
            if is_unnamed(outcome):
                found = self.by_exercise.setdefault(outcome.exercise, alike.Groups())
                found.add(outcome.fingerprint, Member(student, outcome, verdict.seed))

    def all(self) -> list[Group]:
        """The groups, the largest first."""
        found = [
            Group(tuple(member for _, member in members))
            for groups in self.by_exercise.values()
            for members in groups.all()
        ]
        return sorted(found, key=lambda group: (-len(group.members), group.exercise, group.id))

    def find(self, id: str) -> Group | None:
        """The group that has this id, or a member of which would give it this id; None if there is none.

        A group is called after its first student, and another may come first tomorrow.
        """
        return next((group for group in self.all() if id in [member.id for member in group.members]), None)


def grouped(verdicts: Iterable[tuple[str, Verdict]]) -> Grouping:
    """The Grouping of a class, from pairs of a student and a verdict."""
    found = Grouping()
    for student, verdict in verdicts:
        found.add(student, verdict)
    return found


def cells_of(root: StrPath, assignment: Assignment, student: str) -> list[RestoredCell]:
    """The cells of a student as they were graded: those of `autograded/`. Raises Unreadable."""
    path = Path(root) / "autograded" / student / assignment.name / f"{assignment.name}.ipynb"
    return restore(read.read_notebook(read.read_bytes(path)), assignment.cells, assignment)


def examples(root: StrPath, assignment: Assignment, group: Group) -> list[tuple[str, str]]:
    """(student, code) of one answer of a group, or of two that are written differently; none if no file is there."""
    found: list[tuple[str, str]] = []
    for student in group.students[:TRIED]:
        try:
            code = code_of(cells_of(root, assignment, student), group.exercise)
        except Unreadable:
            continue
        if code and not any(bare(code) == bare(other) for _, other in found):
            found.append((student, code))
        if len(found) == STYLES:
            break
    return [(student, shown(code)) for student, code in found]


def code_of(cells: Sequence[RestoredCell], exercise: str) -> str:
    """The text of the cell that defines an exercise, as `cell_of` finds it; or ""."""
    found = cell_of(cells, exercise)
    return found.source if found else ""


def cell_of(cells: Sequence[RestoredCell], exercise: str) -> RestoredCell | None:
    """The cell that defines an exercise: the last one before it is graded, else the last one; None if there is none."""
    defines = re.compile(rf"^[ \t]*(?:class|def)[ \t]+{re.escape(exercise)}\b", re.MULTILINE)
    graded = next((number for number, cell in enumerate(cells) if cell.exercise == exercise), len(cells))
    found = [number for number, cell in enumerate(cells) if cell.runs and defines.search(cell.source)]
    early = [number for number in found if number < graded]
    return cells[(early or found)[-1]] if found else None


def bare(code: str) -> str:
    """Code without comments and spaces that mean nothing, to see whether two answers are written in the same way."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):  # no Python, as far as it goes
        return re.sub(r"\s+", " ", re.sub(r"#.*", "", code)).strip()
    return " ".join(SHAPES.get(one.type, one.string) for one in found if one.type not in UNSEEN)


def shown(code: str) -> str:
    """Code as it is shown: not too long, nor too wide."""
    lines = [line if len(line) <= WIDTH else line[:WIDTH] + " …" for line in read.lines_of_code(code)]
    more = len(lines) - LINES
    return "\n".join([*lines[:LINES], *([f"… {more} more lines"] if more > 0 else [])])
