"""The commands `collect`, `roster` and `export`."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .. import course
from ..batch import run
from ..batch.commands import locked
from ..errors import UsageError
from ..grading import store
from ..grading.rounds import Rounds
from ..grading.store import Store
from ..intake import tables
from ..nbgrader import options, penalties
from ..nbgrader.runs import NbgraderCourse
from ..nbgrader.standings import Due, due_dates
from . import bundle, exports, handins
from . import roster as rosters

if TYPE_CHECKING:
    from ..course import Assignment
    from ..intake.people import Roster

TEXT, JSON = "text", "json"  # of a report
MESSAGE = 2_000  # characters of a sentence that is printed


def collect(
    root: Path,
    assignment: Assignment,
    paths: Sequence[Path],
    system: str | None = None,
    pattern: str | None = None,
    zone: str | None = None,
    forget: Sequence[str] = (),
    dry_run: bool = False,
    format: str = TEXT,
) -> int:
    """Collect hand-ins from downloads into `submitted/`, and report the result; returns the exit code.

    With `dry_run`, nothing is written: the report says what would be, file by file.
    """
    downloads, sheet = handins.take_sheets(paths)
    if not downloads:
        raise UsageError("Which download? Also give the folder or archive with the hand-ins.")
    results, runs = Store(root), NbgraderCourse(root)
    students = rosters.read(runs, results)
    collector = handins.Collector(root, assignment, students, results, sheet, _zone(zone), forget, not dry_run)
    # a look writes nothing, and keeps nobody off
    with contextlib.nullcontext() if dry_run else locked(root, assignment.name):
        systems = []
        for path in downloads:
            with handins.unpacked(path, students.odd_words) as (download, problems):
                collector.result.problems += problems
                systems.append(collector.add(download, system, pattern))
        found = collector.write()
    there = {*run.students(root, assignment.name), *(one.student for one in found.taken)}
    missing = rosters.without_hand_in(students, sorted(there), results, assignment)
    notes = collector.notes
    with runs.gradebook() as gradebook:
        due = due_dates(gradebook, results, assignment)
    found.late = [student for student in found.late if not _has_more_time(due, student, notes)]
    found.taken = [replace(one, late=one.student in found.late) for one in found.taken]
    told = [*handins.told(found, assignment, systems, missing, notes)]
    if format == JSON:
        print(json.dumps(_as_json(assignment, found, told, is_written=not dry_run)))
    else:
        print("\n".join([*(map(_would_be, found.taken) if dry_run else ()), *told]))
        _tell([*found.problems, *(["nothing is written yet: without --dry-run it is"] if dry_run else ())])
    return 1 if found.problems else 0


def _as_json(
    assignment: Assignment, found: handins.Collected, report: Sequence[str], is_written: bool
) -> dict[str, Any]:
    """What was collected, for programs; with the `report` for people."""
    taken = [{**vars(one), "time": f"{one.time:%Y-%m-%d %H:%M:%S}" if one.time else ""} for one in found.taken]
    problems = [*dict.fromkeys(found.problems)]
    about = {"schema": 1, "assignment": assignment.name, "written": is_written}
    return {**about, "taken": taken, "problems": problems, "report": report}


def _would_be(one: handins.Taken) -> str:
    """A line on a hand-in that was found."""
    said = [one.what, f"{one.time:%Y-%m-%d %H:%M} UTC" if one.time else "no time", "late" if one.late else ""]
    beside = f", and {len(one.beside)} beside it" if one.beside else ""
    whose = f"{handins.shown(one.student):<24} {handins.quoted(one.file)} of {handins.quoted(one.name)}"
    return f"{whose}: {', '.join(filter(None, said))}{beside}"


def _has_more_time(due: Due, student: str, notes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an extension or a pause covers a hand-in that its system, which knows of none, calls late."""
    time, theirs = notes.get(student, {}).get("time"), due.of(student)
    if not time or theirs is None or theirs == due.due:
        return False
    return datetime.fromisoformat(time).replace(tzinfo=UTC) <= theirs


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(f"There is no time zone {name!r}. Give one such as Europe/Berlin.") from None


def roster(
    root: Path, files: Sequence[Path], drop: Sequence[str], take_back: Sequence[str], encoding: str | None = None
) -> int:
    """Take rosters in, drop students or take them back, and print who is in the class; returns the exit code."""
    results, runs = Store(root), NbgraderCourse(root)
    for path in files:
        table, left_out, remarks = tables.read_table(path, encoding), list[str](), list[str]()
        taken, others = rosters.take(table, runs, results, left_out, remarks)
        print(f"{path}: {_students(len(taken))}")
        if table.examples:
            print(f"  not in UTF-8: read as {table.guessed}, {table.examples} (--encoding, if that is wrong)")
        if left_out:
            rows = "1 row that is" if len(left_out) == 1 else f"{len(left_out)} rows that are"
            print(f"  left out: {rows} not about a student: {handins.listed(left_out)}")
        for remark in remarks:
            print(f"  {handins.shown(remark, MESSAGE)}")
        if others:
            print(f"  not in it: {', '.join(handins.shown(s.id) for s in others)} (--drop those who have left)")
    students = rosters.read(runs, results)
    if drop or take_back:
        rosters.change(results, students, drop, take_back)
    if not files:
        _print_roster(root, students)
    return 0


def _print_roster(root: Path, students: Roster) -> None:
    """Print everybody, with the assignments that they have handed in."""
    handed_in = {name: set(run.students(root, name)) for name in course.assignments(root)}
    for student in sorted(students.all.values(), key=lambda s: s.id):
        numbers = [name.split("_")[0] for name, them in handed_in.items() if student.id in them]
        what = "dropped" if student.id in students.dropped else f"handed in {', '.join(numbers) or 'nothing'}"
        about = "  ".join(filter(None, (student.name, student.email, student.lms_user_id)))
        print(f"{handins.shown(student.id):<24} {handins.shown(about):<48} {what}")
    dropped = len(students.dropped & students.all.keys())
    print(f"{_students(len(students.all) - dropped)}, {dropped} dropped")


def _students(many: int) -> str:
    return "1 student" if many == 1 else f"{many} students"


def export(
    root: Path,
    assignment: Assignment,
    wanted: Sequence[str],
    fill: Path | None = None,
    column: str | None = None,
    scale: bool = False,
    zeros: bool = False,
    encoding: str | None = None,
) -> int:
    """Write grades and feedback in the layouts of other systems below exports/; returns the exit code."""
    results, runs = Store(root), NbgraderCourse(root)
    students = rosters.read(runs, results)
    settings = exports.Settings(exports.highest(runs, assignment), scale, zeros)
    penalties.settle(runs, assignment)
    grades = exports.grades(runs, assignment, students, results)
    if all(grade.standing is None for grade in grades):
        raise UsageError(f"Nothing of {assignment.name} is graded yet: run `autograder grade` first.")
    sheet = tables.read_table(fill, encoding) if fill else None
    Rounds(results, assignment.name).give_out()
    folder = root / bundle.FOLDER / assignment.name
    remarks: list[str] = []
    for system in dict.fromkeys(wanted):
        if system in ("gradescope", "exercism"):
            many = _write_results(folder / system, system, grades, assignment, results)
            print(f"{_shown(root, folder / system)}/STUDENT/results.json: {_students(many)}")
            continue
        if system == "csv":
            _save(root, folder / "grades.csv", exports.nbgrader_table(runs, assignment, students, results).encode())
            continue
        if system == "moodle":
            filled = exports.moodle_filled(grades, settings, sheet, column) if sheet else None
            table, said = filled or exports.moodle_table(grades, settings)
            pages, more = exports.moodle_feedback(root, grades, assignment)
        else:
            name = assignment.name
            filled = exports.canvas_filled(grades, settings, name, sheet, column) if sheet else None
            table, said = filled or exports.canvas_table(grades, settings, name, column)
            pages, more = exports.canvas_feedback(root, grades, assignment, results)
        remarks += [*said, *more]
        _save(root, folder / f"{system}_grades.csv", table.encode())
        _save(root, folder / f"{system}_feedback.zip", pages)
    remarks += waived(results, assignment, options.waived(runs.config))
    remarks += _without_all_points(grades, wanted, zeros)
    _tell(remarks)
    return 0


def _write_results(
    folder: Path, system: str, grades: Sequence[exports.Grade], assignment: Assignment, results: Store
) -> int:
    """Write a results.json for each student, and remove those of who is excused since; returns how many there are."""
    many = 0
    for student, text in exports.results_files(system, grades, assignment, results):
        store.write(folder / student / "results.json", text)
        many += 1
    for grade in grades:
        if grade.is_excused:
            (folder / grade.student.id / "results.json").unlink(missing_ok=True)
    return many


def _without_all_points(grades: Sequence[exports.Grade], wanted: Sequence[str], zeros: bool) -> Iterator[str]:
    """Sentences on the students whose grades are not all that one may expect."""
    waiting = sum(grade.waits for grade in grades)
    if waiting:
        have = "has" if waiting == 1 else "have"
        yield f"{_students(waiting)} {have} answers still to be graded by hand; these grades do not include them"
    absent = [grade.student.id for grade in grades if grade.standing is None and not grade.is_excused]
    if absent:
        what = "with 0" if zeros else "with no grade (--zeros gives 0)"
        yield f"without a hand-in, and {what}: {', '.join(absent)}"
    if excused := [grade.student.id for grade in grades if grade.is_excused]:
        yield f"excused, so {exports.EXCUSED} for Canvas and no points elsewhere: {', '.join(excused)}"
        if "moodle" in wanted:
            yield "a grade that Moodle has of them already stays there: take it out in its gradebook"


def waived(results: Store, assignment: Assignment, wanted: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A sentence for each exercise of which checks are waived in the latest verdicts, or were to be, as is `wanted`."""
    said: dict[str, tuple[str, float]] = {}
    behind: dict[str, list[str]] = {}
    verdicts = results.each(assignment.name)
    for student, verdict in verdicts:
        if not wanted and not any(one.waived for one in verdict.exercises):
            break  # whoever is graded next has none either
        for one in verdict.exercises:
            if one.waived:
                said[one.exercise] = ", ".join(one.waived), one.given
            if list(dict.fromkeys(wanted.get(one.exercise, ()))) != one.waived:
                behind.setdefault(one.exercise, []).append(student)
    for exercise, (names, given) in said.items():
        yield f"{exercise}: {names} waived, so everybody has {given:g} of the points for that"
    for exercise, students in behind.items():
        number = assignment.name.split("_")[0]
        yield (
            f"{exercise}: {_students(len(students))} graded with other checks waived than nbgrader_config.py says:"
            f" run `autograder grade {number}`, then export again"
        )


def _save(root: Path, path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handins.replace_bytes(path, data)
    print(_shown(root, path))


def _shown(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _tell(lines: Iterable[str]) -> None:
    for line in dict.fromkeys(lines):
        print(f"autograder: {handins.shown(line, MESSAGE)}", file=sys.stderr)
