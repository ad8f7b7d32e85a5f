"""Takes hand-ins from what Moodle, Canvas, Gradescope or mail give an instructor into `submitted/`."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from .. import course
from ..errors import Unreadable, UsageError
from ..nbgrader.collecting import BoundedExtractor, without_suffix
from ..nbgrader.unpacking import is_archive, is_message
from ..submission import files, read
from ..submission.times import time_of
from . import layouts, roster, tables
from .layouts import Download, HandIn, Owner, Place

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store
    from .roster import Roster, Student
    from .tables import Table

NUMBER = re.compile(r"(?:\s*\((\d+)\)|-(\d+))$")  # of a copy: `x (1).ipynb` from a browser, `x-1.ipynb` from Canvas
LITTER = {"__MACOSX", ".DS_Store", "Thumbs.db"}
NO_TIME = {"", "-"}  # what Moodle writes where there is no time


@dataclass
class Collected:
    """What came of collecting: everything that the instructor is told. Lists hold ids, or sentences."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what was done otherwise than one might think
    problems: list[str] = field(default_factory=list)  # what was not taken


@dataclass
class Choice:
    """The notebook that counts of a hand-in: its place in the download, and the name that the student gave it."""

    hand_in: HandIn
    place: Place
    name: str
    data: bytes
    system: str

    @property
    def owner(self) -> Owner:
        return self.hand_in.owner


class Collector:
    """Collects one assignment's hand-ins from downloads, one after another: a later one counts.

    `sheet` is Moodle's grading worksheet, if there is one: it tells who a participant is, and when somebody handed in,
    in the time `zone`.
    """

    def __init__(
        self,
        root: Path,
        assignment: Assignment,
        students: Roster,
        results: Store,
        sheet: Table | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self.root, self.assignment, self.roster, self.results = root, assignment, students, results
        self.participants = participants(sheet, zone) if sheet else {}
        self.marks = {name: _marks_of(a) for name, a in course.assignments(root).items()}
        self.told = Collected()
        self.chosen: dict[str, Choice] = {}
        if sheet and (untold := _times_untold(sheet, self.participants)):
            self.told.remarks.append(f"{untold}, so nobody of them counts as late by a time: export it in English")

    def add(self, download: Download, system: str | None = None, pattern: str | None = None) -> str:
        """Choose the notebooks of a download; returns the system that it is from. Raises UsageError."""
        insists = system is not None
        system = system or ("mail" if pattern else layouts.system_of(download))
        found, strays = layouts.hand_ins(download, system, pattern, insists)
        self.told.problems += [f"{shown(name)}: it is named as nobody's, so nothing of it is taken" for name in strays]
        owners: dict[str, list[HandIn]] = {}
        for hand_in in found:
            hand_in.owner = self._told_by_sheet(hand_in.owner)
            if student := self._student(hand_in.owner):
                owners.setdefault(student, []).append(hand_in)
        for student, theirs in owners.items():
            self._choose_between(student, theirs, system)
        return system

    def write(self) -> Collected:
        """Write what was chosen into `submitted/`."""
        notes = self.results.handed_in(self.assignment.name)
        for student, choice in sorted(self.chosen.items()):
            kept = self._write(student, choice)
            if not kept:
                continue
            if choice.owner.late:
                self.told.late.append(student)
            notes[student] = _note(choice)
        self.results.put_handed_in(self.assignment.name, notes)
        return self.told

    # --- whose ------------------------------------------------------------------------------------

    def _told_by_sheet(self, owner: Owner) -> Owner:
        """The owner, with what Moodle's worksheet tells of this participant."""
        said = self.participants.get(owner.participant)
        if said is None:
            return owner
        return replace(said, name=said.name or owner.name, given=owner.given)

    def _student(self, owner: Owner) -> str | None:
        """The id of the student whom an owner is, or None if nobody can be told; then it says why."""
        certain = self.roster.find(owner)
        known = certain or self.roster.guess(owner)
        if len(known) > 1:
            self._problem(owner, f"it may be {' or '.join(s.id for s in known)}: {self._what_helps()}")
        elif known and known[0].id in self.roster.dropped:
            self._problem(owner, f"{known[0].id} was dropped, so it is not taken")
        elif known:
            if not certain:
                self._remark(known[0].id, f"{quoted(owner.shown)} is taken for theirs by how its name begins")
            return known[0].id
        elif not self.roster.is_empty:
            more = ", and --pattern finds students in the subject" if owner.is_sender else ""
            self._problem(owner, f"it belongs to nobody on the roster: `autograder roster FILE` adds students{more}")
        elif made := owner.student_id or self._made_id(owner):
            if made in self.roster.dropped:
                self._problem(owner, f"{made} was dropped, so it is not taken")
            else:
                return made
        else:
            self._problem(
                owner, "its name tells nobody's id: give a roster, or put it into a folder with the student's id"
            )
        return None

    def _made_id(self, owner: Owner) -> str:
        """An id for somebody without a roster, by what is known; with Moodle's anonymous ones, by the number."""
        if owner.is_text and owner.name.lower().endswith(".ipynb"):
            return ""  # nobody knows where the student's name in it ends
        name = f"participant-{owner.participant}" if owner.name.casefold() == "participant" else owner.name
        return roster.clean(owner.email.partition("@")[0]) if owner.email else roster.clean(name)

    def _what_helps(self) -> str:
        if self.participants:
            return "give them different e-mail addresses or numbers with `autograder roster`"
        return "a roster with e-mail addresses, and Moodle's grading worksheet beside the download, tell them apart"

    def _problem(self, owner: Owner, why: str) -> None:
        self.told.problems.append(f"{shown(owner.shown)}: {why}")

    # --- which notebook ---------------------------------------------------------------------------

    def _choose_between(self, student: str, theirs: list[HandIn], system: str) -> None:
        """Choose between the hand-ins of one student in one download: the latest, if the system tells when."""
        people = {(h.owner.name, h.owner.email, h.owner.participant, h.owner.lms_id) for h in theirs}
        if len(people) > 1 and not self.roster.find(theirs[0].owner):
            names = " and ".join(sorted(shown(h.owner.shown) for h in theirs)[:2])
            self.told.problems.append(f"{names} may be two people: {self._what_helps()}")
            return
        choices = [choice for hand_in in theirs if (choice := self._choice(student, hand_in, system))]
        if not choices:
            return
        choices.sort(key=lambda c: (c.owner.time or datetime.min, _number(c.owner.given), c.owner.given))
        best = choices[-1]
        for other in choices[:-1]:
            if other.data != best.data:
                why = "the latest" if best.owner.time and other.owner.time else "the last by its name"
                self._remark(student, f"{quoted(best.owner.shown)} counts, {why}, and not {quoted(other.owner.shown)}")
        before = self.chosen.get(student)
        if before and before.owner.time and best.owner.time and before.owner.time > best.owner.time:
            self._remark(student, "of two downloads, the earlier one has the later hand-in, which counts")
            return
        if before and before.data != best.data:
            self._remark(student, "is in two downloads: what was given last counts")
        self.chosen[student] = best

    def _choice(self, student: str, hand_in: HandIn, system: str) -> Choice | None:
        """The notebook that counts of one hand-in; None if it holds none of this assignment, and says so."""
        wanted = f"{self.assignment.name}.ipynb"
        named, fitting, others = [], [], []
        for place, path in hand_in.files:
            name = place[-1]
            if not name.lower().endswith(".ipynb"):
                continue
            with contextlib.suppress(Unreadable):
                data = read.read_bytes(path)
                choice = Choice(hand_in, place, self._own_name(hand_in, name), data, system)
                assignment = self._assignment_of(data)
                if assignment == self.assignment.name:
                    fitting.append(choice)
                elif choice.name == wanted and assignment is None:
                    named.append(choice)  # whatever is wrong with it, the student is told when it is graded
                else:
                    others.append((choice, assignment))
        if not (fitting or named):
            what = "; ".join(f"{shown(c.name)} is {a or 'of no assignment of this course'}" for c, a in others[:3])
            self._problem(hand_in.owner, f"no notebook of {self.assignment.name} is in it{what and f' ({what})'}")
            return None
        return self._latest(student, fitting or named, wanted)

    def _own_name(self, hand_in: HandIn, name: str) -> str:
        """The name that the student gave a file, without what the system has put before it."""
        given = hand_in.owner.given
        if not given or not name.startswith(given):
            return name
        return re.sub(r"^_\d+_", "", name[len(given) :]) or name

    def _latest(self, student: str, choices: list[Choice], wanted: str) -> Choice:
        """Of several notebooks of one assignment, the one that a browser or system has numbered highest."""
        best = max(choices, key=lambda c: (_number(c.name), c.name == wanted, c.name))
        for other in choices:
            if other is not best and other.data != best.data:
                self._remark(student, f"has several: {quoted(best.name)} counts, and not {quoted(other.name)}")
        if best.name != wanted:
            self._remark(student, f"{quoted(best.name)} is taken, since its cells are this assignment's")
        return best

    def _assignment_of(self, data: bytes) -> str | None:
        """The assignment whose cells most of a notebook's are; None if it has none of any, or cannot be read."""
        try:
            cells = read.read_notebook(data)
        except Unreadable:
            return None
        found = {mark for cell in cells for mark in (cell.id, cell.grade_id) if mark}
        shares = {name: len(found & marks) / len(marks) for name, marks in self.marks.items() if marks}
        best = max(shares, key=lambda name: (shares[name], name == self.assignment.name), default=None)
        return best if best and shares[best] > 0 else None

    def _remark(self, student: str, text: str) -> None:
        self.told.remarks.append(f"{shown(student)}: {text}")

    # --- into submitted/ --------------------------------------------------------------------------

    def _write(self, student: str, choice: Choice) -> bool:
        """Write one student's notebook; returns whether it is what lies there now."""
        folder = self.root / "submitted" / student / self.assignment.name
        notebook, stamp = folder / f"{self.assignment.name}.ipynb", folder / "timestamp.txt"
        if problem := files.problem_of(student):
            self._problem(choice.owner, problem)
            return False
        if any(part.is_symlink() for part in (folder.parent, folder, notebook)):
            self._problem(choice.owner, f"submitted/{student} is or holds a link, so nothing is written there")
            return False
        before = _bytes_of(notebook)
        time = choice.owner.time
        known = time_of((_bytes_of(stamp) or b"").decode("utf-8", "replace"))
        if before is not None and before != choice.data and known and time and known > time:
            self._remark(student, f"what lies in submitted/ is of {known} UTC, later than this, and stays")
            return False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if before != choice.data:
                replace_bytes(notebook, choice.data)
            if time:
                replace_bytes(stamp, f"{time:%Y-%m-%d %H:%M:%S} UTC\n".encode())
            elif before is not None and before != choice.data:
                stamp.unlink(missing_ok=True)  # it was of what lay there before
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self._problem(choice.owner, f"something else lies in the place of submitted/{student}")
            return False
        kind = self.told.new if before is None else self.told.same if before == choice.data else self.told.changed
        kind.append(student)
        return True


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read.read_bytes(path)
    except Unreadable:
        return None


def replace_bytes(path: Path, data: bytes) -> None:
    """Write a file that readers see whole, the old one or the new one."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _note(choice: Choice) -> dict[str, Any]:
    """What is needed to give grades and feedback back, as JSON."""
    owner = choice.owner
    entry = next(name for at, name in choice.hand_in.names.items() if choice.place[: len(at)] == at)
    said = {key: getattr(owner, key) for key in ("name", "email", "lms_id", "participant", "given")}
    time = f"{owner.time:%Y-%m-%d %H:%M:%S}" if owner.time else ""
    return {"system": choice.system, "entry": entry, "late": owner.late, "time": time, **said}


def _number(name: str) -> int:
    """The number of a copy, 0 if it has none."""
    found = NUMBER.search(os.path.splitext(name)[0] if name.lower().endswith(".ipynb") else name)
    return int((found[1] or found[2])[:9]) if found else 0


def _marks_of(assignment: Assignment) -> set[str]:
    """The ids by which the cells of an assignment are known: the notebook's, and nbgrader's."""
    cells = course.cells_in(assignment.path)
    return {cell["id"] for cell in cells if cell.get("id")} | {cell.grade_id for cell in assignment.cells}


# --- downloads ------------------------------------------------------------------------------------


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[tuple[Download, list[str]]]:
    """Unpack a folder or an archive, within limits: yields (the Download, sentences on files that were left out).

    Raises UsageError.
    """
    if not path.exists():
        raise UsageError(f"There is no {path}.")
    if not path.is_dir() and not is_archive(path.name):
        raise UsageError(f"{path} is neither a folder nor a .zip, .tar.gz or .eml.")
    with tempfile.TemporaryDirectory(prefix="autograder-collect-") as made:
        extractor = BoundedExtractor()
        extractor.log = logging.Logger("autograder.collect", logging.WARNING)
        extractor.log.addHandler(keeper := _Keeper())
        source, target = path, Path(made, "out")
        target.mkdir()
        if not path.is_dir():  # the extractor takes what lies in a folder
            source = Path(made, "in")
            source.mkdir()
            shutil.copy(path, source / path.name)
        extractor.extract(str(source), str(target))
        outer = 0 if path.is_dir() or is_message(path.name) else 1  # an archive's own name is the instructor's
        taken = {origin.parts[outer:]: Path(where) for where, origin in extractor.taken.items()}
        found = {place: where for place, where in taken.items() if place and not LITTER & set(place)}
        names = {place[outer:]: name for place, name in extractor.full_names.items() if len(place) > outer}
        messages = {place[outer:]: where for place, where in extractor.messages.items()}
        said = [line for line in keeper.lines if not any(name in line for name in LITTER)]
        if not found:
            raise UsageError(f"{path}: nothing can be read in it. {' '.join(said[:3])}")
        yield Download(found, names, messages, _stem(path)), said


def _stem(path: Path) -> str:
    """What a folder around all that is in a download would be called."""
    name = path.resolve().name
    return name if path.is_dir() else without_suffix(Path(name)).name


class _Keeper(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


# --- Moodle's worksheet ---------------------------------------------------------------------------


def is_worksheet(table: Table) -> bool:
    """Whether a table is a grading worksheet of Moodle's, in whatever language."""
    return bool(table.rows) and all(re.fullmatch(r"\D*\d+", row[0]) for row in table) and len(table.header) > 3


def participants(sheet: Table, zone: ZoneInfo | None) -> dict[str, Owner]:
    """The participants of a grading worksheet by their numbers; `zone` is the time zone of its times (None: ours)."""
    found = {}
    for row in sheet:
        number = re.sub(r"\D", "", row[0])
        said = sheet.value(row, "Last modified (submission)")
        time = None if said in NO_TIME else _in_zone(time_of(said), zone)
        found[number] = Owner(
            sheet.value(row, "Full name"),
            next((cell.strip() for cell in row if layouts.ADDRESS.fullmatch(cell.strip())), ""),
            lms_id=sheet.value(row, "ID number"),
            participant=number,
            late="late" in sheet.value(row, "Status").casefold(),
            time=time,
        )
    return found


def _times_untold(sheet: Table, found: Mapping[str, Owner]) -> str:
    """What is to be said if times in a worksheet cannot be read, else ""."""
    if sheet.index("Last modified (submission)") is None:
        return f"{sheet.path} has no column 'Last modified (submission)'"
    said = [re.sub(r"\D", "", row[0]) for row in sheet if sheet.value(row, "Last modified (submission)") not in NO_TIME]
    unread = sum(found[number].time is None for number in said)
    return f"{sheet.path}: {unread} times cannot be read" if unread else ""


def _in_zone(time: datetime | None, zone: ZoneInfo | None) -> datetime | None:
    """The time in UTC that a time in a zone is; without a zone, in that of this machine."""
    if time is None:
        return None
    local = time.replace(tzinfo=zone) if zone else time.astimezone()
    return local.astimezone(UTC).replace(tzinfo=None)


# --- telling --------------------------------------------------------------------------------------


def shown(name: str) -> str:
    """A stranger's name on the instructor's terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)[-200:]


def quoted(name: str) -> str:
    return f"'{shown(name)}'"


def told(
    found: Collected,
    assignment: Assignment,
    systems: Sequence[str],
    missing: Sequence[Student],
    notes: Mapping[str, Any],
) -> Iterator[str]:
    """The lines that tell the instructor what came of collecting."""
    many = len(found.new) + len(found.changed) + len(found.same)
    kinds = [f"{len(them)} {kind}" for kind, them in zip(("new", "changed", "unchanged"), _kinds(found), strict=True)]
    yield f"{assignment.name}: {many} handed in ({', '.join(kinds)}), from {' and '.join(dict.fromkeys(systems))}"
    yield from (f"  {line}" for line in found.remarks)
    if found.late:
        timeless = [student for student in found.late if not notes.get(student, {}).get("time")]
        yield f"  late: {', '.join(map(shown, found.late))}"
        if timeless:
            yield "  The system does not say how late, so no penalty follows from it."
    if missing:
        yield f"  without a hand-in: {', '.join(shown(student.id) for student in missing)}"


def _kinds(found: Collected) -> tuple[list[str], list[str], list[str]]:
    return found.new, found.changed, found.same


def take_sheets(paths: Sequence[Path]) -> tuple[list[Path], Table | None]:
    """(the downloads, the worksheet) among paths. Raises UsageError."""
    sheets = [tables.read_table(path) for path in paths if path.suffix.lower() == ".csv"]
    if len(sheets) > 1 or any(not is_worksheet(sheet) for sheet in sheets):
        raise UsageError(
            "Of tables, `collect` takes one grading worksheet of Moodle's; `autograder roster FILE` takes a roster."
        )
    return [path for path in paths if path.suffix.lower() != ".csv"], (sheets[0] if sheets else None)
