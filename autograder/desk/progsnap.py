"""Exports the attempts in ProgSnap 2, the format in which research on programming courses shares such data.

The tables follow version 1.0 of the specification (CSSPLICE's progsnap2-v1.0.yaml): `MainTable.csv`,
`DatasetMetadata.csv`, code states as a table, a link table of problems. Who somebody is stays here: ids are keyed
hashes, whose key is in the desk's records, so that a second export has the same.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import course
from ..checks.source_text import SPECIAL, own_tree_of
from ..course import Assignment
from ..errors import Unreadable, UsageError
from ..nbgrader.for_students import KIT
from ..submission import read
from ..submission.restore import restore
from ..verdict import NO_NAMES, Outcome
from .overview import students_only
from .record import Attempt, Record

VERSION = "1.0"
MAIN = (
    "EventID",
    "Order",
    "EventType",
    "SubjectID",
    "ToolInstances",
    "CodeStateID",
    "ServerTimestamp",
    "CourseID",
    "AssignmentID",
    "ProblemID",
    "Attempt",
    "ParentEventID",
    "ExecutionID",
    "TestID",
    "ExecutionResult",
    "Score",
    "EventInitiator",
    "InterventionCategory",
    "InterventionType",
    "InterventionMessage",
)
PROPERTIES = {
    "Version": VERSION,
    "IsEventOrderingConsistent": "true",
    "EventOrderScope": "Global",
    "EventOrderScopeColumns": "",
    "CodeStateRepresentation": "Table",
}
README = """\
# Attempts at a course's desk

In the format ProgSnap 2, version {version}. {attempts} attempts of {subjects} students, from {first} to {last} (UTC).

- `Submit`: an answer to one exercise. `Score` is its share of the exercise's points; `Attempt` counts the student's
  attempts at that exercise. An attempt on a whole notebook is one such event for each exercise.
- `Run.Test`: a hidden check of the exercise, by its name.
- `Intervention`: the name of a mistake that the student was told, in the words of the course; its id is the type.
- `CodeStates/CodeStates.csv`: the code in the cells that the exercise asks for.

## What is left out
Names, e-mail addresses and ids of people, written answers, all text and outputs of notebooks, cells that students
added, comments and docstrings, the lines of students that feedback quotes. {unparsed} answers that are no Python have
no code state, since comments in them could not be told from code.

## What is left in
The names that students chose in code and the strings in it, which may say who they are; the times of attempts, to the
second; the names of the hidden checks and the course's sentences. Look through the code states before you share them,
and share no more than your students have agreed to.

Ids of students are keyed hashes. Whoever has the desk's records can find out who is behind them; nobody else can.
"""


@dataclass
class Tables:
    """The rows of a dataset, as they are made."""

    course_id: str
    key: bytes
    main: list[dict[str, Any]] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    tries: Counter[tuple[str, str]] = field(default_factory=Counter)
    unparsed: int = 0

    def id(self, kind: str, text: str) -> str:
        """A pseudonym: the same for the same text, and nobody's without the key."""
        return hmac.new(self.key, f"{kind} {text}".encode(), hashlib.sha256).hexdigest()[:16]

    def add(self, kind: str, common: Mapping[str, Any], **values: Any) -> str:
        """Add an event; returns its id."""
        number = str(len(self.main) + 1)
        self.main.append({"EventID": number, "Order": number, "EventType": kind, **common, **values})
        return number


def export(root: Path, record: Record, folder: Path, course_id: str) -> str:
    """Write all graded attempts of students into a folder that is empty or new; returns what to tell the user.

    Raises UsageError.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and is not empty: choose another folder.")
    attempts = [one for one in students_only(record, record.attempts()) if one.assignment in course.assignments(root)]
    tables = Tables(course_id, record.secret("pseudonyms"))
    graded = [one for one in attempts if _add(tables, record, one, course.assignments(root)[one.assignment])]
    if not graded:
        raise UsageError("Nothing is graded at the desk yet, so there is nothing to export.")
    subjects = len({row["SubjectID"] for row in tables.main})
    _write(folder / "MainTable.csv", MAIN, tables.main)
    _write(folder / "DatasetMetadata.csv", ("Property", "Value"), _rows(PROPERTIES, "Property", "Value"))
    _write(folder / "CodeStates" / "CodeStates.csv", ("CodeStateID", "Code"), _rows(tables.code, "CodeStateID", "Code"))
    _write(folder / "LinkTables" / "Problem.csv", ("AssignmentID", "ProblemID", "MaxScore"), _problems(root, graded))
    (folder / "README.md").write_text(
        README.format(
            version=VERSION,
            attempts=len(graded),
            subjects=subjects,
            first=_date(graded[0]),
            last=_date(graded[-1]),
            unparsed=tables.unparsed or "No",
        ),
        encoding="utf-8",
    )
    return (
        f"{folder}: {len(graded)} attempts of {subjects} students, {len(tables.main)} events. README.md in it says what"
        " is left out, and what to look through before you share it."
    )


def _add(tables: Tables, record: Record, attempt: Attempt, assignment: Assignment) -> bool:
    """Add an attempt's events; returns whether it is graded."""
    verdict = record.verdict(attempt.id)
    if verdict is None:
        return False
    code = _code_of(record, attempt, assignment)
    subject = tables.id("subject", attempt.owner)
    told = {one["exercise"]: one["names"] for one in attempt.told or ()}
    for outcome in verdict.exercises:
        tables.tries[subject, outcome.exercise] += 1
        common = {
            "SubjectID": subject,
            "ToolInstances": _tools(),
            "CodeStateID": _code_state(tables, code.get(outcome.exercise)),
            "ServerTimestamp": attempt.arrived.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            "CourseID": tables.course_id,
            "AssignmentID": attempt.assignment,
            "ProblemID": outcome.exercise,
            "Attempt": tables.tries[subject, outcome.exercise],
            "ExecutionID": tables.id("execution", f"{attempt.id} {outcome.exercise}"),
        }
        score = outcome.score / outcome.max_score if outcome.max_score else 0.0
        parent = tables.add("Submit", common, Score=round(score, 4))
        _add_tests(tables, common, parent, outcome)
        for name in told.get(outcome.exercise, ()):
            if not name["id"].startswith(NO_NAMES):  # what those say may quote the student's code
                tables.add(
                    "Intervention",
                    common,
                    ParentEventID=parent,
                    EventInitiator="ToolReaction",
                    InterventionCategory="Feedback",
                    InterventionType=name["id"],
                    InterventionMessage=name["message"],
                )
    return True


def _add_tests(tables: Tables, common: Mapping[str, Any], parent: str, outcome: Outcome) -> None:
    for check in outcome.checks:
        tables.add(
            "Run.Test",
            common,
            ParentEventID=parent,
            TestID=f"{outcome.exercise}/{check.name}",
            ExecutionResult="Success" if check.passed else "TestFailed",
            Score=float(check.passed),
        )


def _code_of(record: Record, attempt: Attempt, assignment: Assignment) -> dict[str, str]:
    """The code of an attempt by exercise, of the cells into which the course asks for it."""
    try:
        cells = restore(read.read_notebook(record.content(attempt.sha256)), assignment.cells, assignment)
    except (Unreadable, KeyError):
        return {}
    found: dict[str, list[str]] = {}
    for cell in cells:
        known = cell.known
        if known is None or not known.solution or known.grade or cell.cell_type != "code" or cell.added:
            continue
        for exercise in assignment.exercises:
            if exercise.name in course.defined_in(known.source):
                found.setdefault(exercise.name, []).append(cell.source)
    return {name: "\n\n".join(parts) for name, parts in found.items()}


def _code_state(tables: Tables, code: str | None) -> str:
    """The id of a code state, without comments and docstrings; "" if it is not known."""
    if code is None:
        return ""
    plain = _without_prose(code)
    if plain is None:
        tables.unparsed += 1
        return ""
    id = tables.id("code", plain)
    tables.code[id] = plain
    return id


def _without_prose(code: str) -> str | None:
    """Code without comments and docstrings; None if it is not Python that can be parsed."""
    tree = own_tree_of(code)
    if SPECIAL.search(code) or (not tree.body and _has_code(code)):
        return None
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list) and statements:
                setattr(node, part, [one for one in statements if not _is_text(one)] or [ast.Pass()])
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError, MemoryError):
        return None


def _has_code(code: str) -> bool:
    """Whether there is a line that is no comment."""
    return any(line.strip() and not line.strip().startswith("#") for line in code.splitlines())


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is only a string, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _tools() -> str:
    return f"Python;{KIT} {metadata.version(KIT)}"


def _problems(root: Path, attempts: Iterable[Attempt]) -> Iterator[dict[str, Any]]:
    for name in sorted({one.assignment for one in attempts}):
        for exercise in course.assignments(root)[name].exercises:
            yield {"AssignmentID": name, "ProblemID": exercise.name, "MaxScore": exercise.points}


def _rows(values: Mapping[str, str], first: str, second: str) -> Iterator[dict[str, str]]:
    for key, value in values.items():
        yield {first: key, second: value}


def _date(attempt: Attempt) -> str:
    return attempt.arrived.astimezone(UTC).strftime("%Y-%m-%d")


def _write(path: Path, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
