"""Collects hand-ins into `submitted/`, from downloads of learning platforms, and from mail."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from .. import course
from ..errors import Unreadable, UsageError
from ..intake import layouts, tables
from ..intake.download import Download
from ..intake.identity import FORGOTTEN, HIDDEN, PARTICIPANT, Keys, Noted, difference, first_difference, keys_in
from ..intake.layouts import HandIn, Owner, Place
from ..intake.matching import KEY, NAME, NOBODY, Match, Matcher
from ..intake.people import joined, words
from ..intake.proposing import proposed
from ..intake.unpacking import is_archive, is_message
from ..intake.worksheet import Worksheet
from ..nbgrader.collecting import BoundedExtractor, without_suffix
from ..submission import files, read
from ..submission.assignments import assignment_of
from ..submission.times import time_of, times_of
from ..verdict import is_printable
from . import beside

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store
    from ..intake.people import Roster, Student
    from ..intake.tables import Table

NUMBER = re.compile(r"(?:\s*\((\d+)\)|-(\d+))$")  # of a copy: `x (1).ipynb` from a browser, `x-1.ipynb` from Canvas
# what programs put beside a notebook, and how such a file reads in a sentence about files that are left out
LITTER = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".github", ".gitignore", ".gitattributes"}
LITTER |= {".gitkeep", ".ipynb_checkpoints", "__pycache__", ".venv", ".vscode", ".idea"}
ON_LITTER = re.compile(rf"(?:/|, )(?:{'|'.join(map(re.escape, sorted(LITTER)))})(?:/|: )")
EMPTY = "nothing is in it"
MANY = 5  # names in a sentence
NEW, CHANGED, SAME = "new", "changed", "unchanged"
SUBJECTS = ("It ", "The file ")  # of what `read` and `kinds` say of a file


@dataclass(frozen=True)
class Taken:
    """A hand-in that was taken, or would be: whose, by which file, called how, and what was handed in beside it."""

    student: str
    name: str  # as the download calls whoever handed it in
    file: str
    time: datetime | None
    late: bool
    what: str  # NEW, CHANGED or SAME
    beside: list[str]


@dataclass
class Collected:
    """The result of collecting: everything that the instructor reads. Lists hold ids, or sentences."""

    taken: list[Taken] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what was done otherwise than one might think
    problems: list[str] = field(default_factory=list)  # what was not taken
    unusable: set[str] = field(default_factory=set)  # who has handed in something that was not taken
    by_name: list[str] = field(default_factory=list)  # whom only a name tells, though the system has keys
    untimed: list[str] = field(default_factory=list)  # of whom no hand-in time is known
    hidden: list[str] = field(default_factory=list)  # whose names the system hides

    def many(self, what: str) -> int:
        """How many hand-ins are NEW, CHANGED or SAME."""
        return sum(one.what == what for one in self.taken)


@dataclass
class Choice:
    """The notebook that counts of a hand-in: its place in the download, and the name that the student gave it."""

    hand_in: HandIn
    place: Place
    name: str
    data: bytes
    system: str
    kept: dict[Place, Path] = field(default_factory=dict)  # what was handed in beside it
    too_much: list[Place] = field(default_factory=list)
    apart: set[Place] = field(default_factory=set)  # notebooks of other assignments, and copies that are the same

    @property
    def owner(self) -> Owner:
        time = self.hand_in.times.get(self.place)
        return replace(self.hand_in.owner, time=time) if time else self.hand_in.owner

    @property
    def beside(self) -> list[tuple[Place, Path]]:
        """What was handed in with it, by the student's own paths: other notebooks, too, unless they are `apart`."""
        found = []
        for place, path in self.hand_in.files:
            entry = next((at for at in self.hand_in.names if place[: len(at)] == at), ())
            inner = place[len(entry) :] or (own_name(self.hand_in, place, entry),)
            if place in self.hand_in.own and len(inner) == 1:
                inner = (self.hand_in.own[place],)
            if place != self.place and place not in self.apart:
                found.append((inner, path))
        return found


def own_name(hand_in: HandIn, place: Place, entry: Place = ()) -> str:
    """The name that the student gave a file, without what the system has put before it."""
    name, given = place[-1], hand_in.owner.given
    if own := hand_in.own.get(place):
        return own
    if entry == place and (said := layouts.moodle(name)):
        given = said.given
    return re.sub(r"^_\d+_", "", name[len(given) :]) or name if given and name.startswith(given) else name


class Collector:
    """Collects one assignment's hand-ins from downloads, one after another: a later one counts.

    `sheet` is Moodle's grading worksheet, if there is one: it tells who a participant is, and when somebody handed in,
    in the time `zone`. `forget` holds students with a new address, id or number. Without `writes`, nothing is written:
    its result says what would be.
    """

    def __init__(
        self,
        root: Path,
        assignment: Assignment,
        students: Roster,
        results: Store,
        sheet: Table | None = None,
        zone: ZoneInfo | None = None,
        forget: Collection[str] = (),
        writes: bool = True,
    ) -> None:
        self.root, self.assignment, self.roster, self.results = root, assignment, students, results
        self.writes = writes
        self.notes: dict[str, Any] = {}  # of the hand-ins that lie in submitted/ afterwards
        self.forget, self.zone = set(forget), zone
        self.noted = Noted(results.all_handed_in(), assignment.name, forget)
        self.known = course.assignments(root)
        self.matcher = Matcher(students, self.noted, self.known)
        self.result = Collected()
        self.people: dict[str, list[Match]] = {}
        self.scratch = tempfile.TemporaryDirectory(prefix="autograder-beside-")
        self.nobody: list[str] = []  # the names in a download that match nobody
        self.chosen: dict[str, Choice] = {}
        self.foreign: dict[str, set[str]] = {}  # who has handed in notebooks of other assignments, by these
        self.worksheet = Worksheet(sheet) if sheet else None
        self.participants = self.worksheet.participants(zone) if self.worksheet else {}
        if self.worksheet:
            self.result.remarks += _worksheet_warnings(self.worksheet, self.participants)

    def add(self, download: Download, system: str | None = None, pattern: str | None = None) -> str:
        """Choose the notebooks of a download; returns the system that it is from. Raises UsageError."""
        system, found = self._hand_ins(download, system, pattern)
        owners: dict[str, list[HandIn]] = {}
        self.nobody = []
        for hand_in in found:
            match = self._match(hand_in)
            hand_in.owner = match.owner
            if match.student:
                owners.setdefault(match.student, []).append(hand_in)
                self.people.setdefault(match.student, []).append(match)
        self._say_who_is_nobody(self.nobody, NOBODY, pattern)
        for student, theirs in owners.items():
            if not self._two_people(student):
                self._choose_between(student, theirs, system)
        return system

    def write(self) -> Collected:
        """Write what was chosen into `submitted/`."""
        notes = self.notes = self.results.handed_in(self.assignment.name)
        for student, matches in sorted(self.people.items()):
            if why := self._two_people(student):
                self.chosen.pop(student, None)
                names = " and ".join(sorted({shown(match.owner.shown) for match in matches})[:2])
                self.result.problems.append(
                    f"{names} may be two people ({why}), and both would be {student}: neither is taken."
                    f" {self._what_helps()}"
                )
                self.result.unusable.add(student)
        self._remark_on_groups()
        if self.foreign:
            names = [f"{name} (from {len(students)})" for name, students in sorted(self.foreign.items())]
            self.result.remarks.append(f"notebooks of other assignments are left out: {listed(names)}")
        self.result.by_name = [student for student in dict.fromkeys(self.result.by_name) if student in self.chosen]
        for student, choice in sorted(self.chosen.items()):
            if not self._write(student, choice, notes.get(student, {})):
                continue
            if choice.owner.late:
                self.result.late.append(student)
            if choice.owner.is_hidden:
                self.result.hidden.append(student)
            elif number := choice.owner.participant:
                notes.pop(f"{PARTICIPANT}-{number}", None)  # the same person, when names were hidden
            notes[student] = _note(choice)
            if student in self.forget and self.writes:
                self._forget(student, choice.owner.keys)
        if self.writes:
            self.results.put_handed_in(self.assignment.name, notes)
        self.result.unusable |= self._handed_in_by_the_worksheet()
        return self.result

    def _forget(self, student: str, keys: Keys) -> None:
        """Forget, in the notes of other assignments, keys of a student that are others than now: they are nobody's."""
        for name, notes in self.results.all_handed_in().items():
            if name == self.assignment.name:
                continue  # is noted as a whole
            before = keys_in(notes.get(student, {}))
            before.pop(PARTICIPANT, None)  # holds for one assignment
            if difference(before, keys):
                notes[student][FORGOTTEN] = True
                self.results.put_handed_in(name, notes)

    # --- owners -----------------------------------------------------------------------------------

    def _hand_ins(self, download: Download, system: str | None, pattern: str | None) -> tuple[str, list[HandIn]]:
        """(the system that a download is from, what was handed in). Raises UsageError."""
        wanted, insists = f"{self.assignment.name}.ipynb", system is not None
        form = system or ("mail" if pattern else layouts.system_of(download, self._knows))
        whole = layouts.one_hand_in(download)
        if download.is_archive and not insists and not pattern and self._is_on_the_roster(whole.owner):
            if form == "mail" and not self._holds_anothers(download, whole.owner):
                return "mail", [whole]
            self.result.problems.append(
                f"{quoted(download.name)} is named after a student, but contains what looks like hand-ins of others,"
                f" so it is skipped: if it is a download, --from {form} takes it; if it is the student's, put it into a"
                " folder and collect that"
            )
            return form, []
        found, strays, around = layouts.hand_ins(download, form, pattern, insists, wanted, self._knows, self.zone)
        layouts.settle_dates(found, self.zone)
        self._say_which_times_are_unread(found)
        for hand_in in found:
            hand_in.owner = self._with_sheet(hand_in.owner)
        people = {(h.owner.name, h.owner.others, *h.owner.keys.items()) for h in found}
        if form != "mail" and not insists and len(people) == 1 and not self._in_the_worksheet(found[0].owner):
            self.result.problems.append(
                f"{quoted(download.name)} looks like a download from {form.capitalize()}, but contains a single"
                f" hand-in, so a student may have packed it: it is skipped; if it is {form.capitalize()}'s, --from"
                f" {form} takes it"
            )
            return form, []
        self._say_what_is_around(around)
        said = {"/".join((*place[:-1], download.full_name(place))) for place in download.left_out}
        strays = [name for name in strays if name not in said]
        self._say_who_is_nobody(strays, "its name matches nobody, so it is skipped", pattern)
        return form, found

    @property
    def _knows(self) -> layouts.Knows | None:
        """Whether an owner may be somebody on the roster; None without a roster."""
        return None if self.roster.is_empty else self.matcher.named

    def _say_what_is_around(self, folders: Mapping[str, set[str]]) -> None:
        """Problems with folders that may be one person's, or lie around the hand-ins of others."""
        for name, inside in sorted(folders.items()):
            self.result.problems.append(
                f"{quoted(name)} holds what is called after {listed(sorted(inside))}, so it is skipped: if it is the"
                " folder of a section, collect that folder by itself; if all in it is one student's, pack it into a zip"
                " called after that student"
            )
            self.result.unusable.update(inside)

    def _say_which_times_are_unread(self, found: Sequence[HandIn]) -> None:
        unread = [hand_in.owner.unread for hand_in in found if hand_in.owner.unread]
        if unread:
            self.result.problems.append(
                f"{len(unread)} of the hand-ins' times cannot be read, such as {quoted(unread[0])}, so these do not"
                " count as late: it is no time, or may be two, as 03-11-2026 may be in March or in November"
            )

    def _say_who_is_nobody(self, names: Sequence[str], why: str, pattern: str | None) -> None:
        """Problems with names that match nobody; where they hold a student of the roster, with a pattern that fits."""
        made, fitting, students = ("", [], []) if pattern else proposed(names, self.roster)
        if fitting:
            offer = f"`--pattern {shlex.quote(made)}`" if made else "`--pattern REGEX` (docs/lms.md)"
            who = ", ".join(dict.fromkeys(map(shown, students[:MANY])))
            self.result.problems.append(
                f"{listed([quoted(name) for name in fitting])}: these names"
                f" are in no layout that is known here, so they are skipped; {offer} says where the student is"
                f" (it finds {who})"
            )
            self.result.unusable.update(students)
        said = set(fitting)
        self.result.problems += [f"{shown(name)}: {why}" for name in names if name not in said]

    def _remark_on_groups(self) -> None:
        """Say that Canvas puts a group's hand-in under one member, if it calls hand-ins by other names than theirs."""
        others = []
        for student, choice in sorted(self.chosen.items()):
            known = self.roster.all.get(student)
            is_other = known is not None and known.name and "".join(words(choice.owner.name)) not in joined(known)
            if choice.system == "canvas" and choice.owner.lms_id and is_other:
                others.append(f"{shown(choice.owner.name)}: {shown(student)}")
        if others:
            self.result.remarks.append(
                f"Canvas calls {len(others)} of these by another name than the roster"
                f" ({listed(others)}): if these are groups, Canvas has put each"
                " group's hand-in under one member; copy that member's folder in submitted/ for the others"
            )

    def _is_on_the_roster(self, owner: Owner) -> bool:
        return bool(self.roster.named(owner) or self.roster.by_keys(owner) or self.roster.guess(owner))

    def _holds_anothers(self, download: Download, owner: Owner) -> bool:
        """Whether a notebook in an archive called after a student would be another one's, by the names inside."""
        found = layouts.hand_ins(download, "mail").hand_ins
        notebooks = [h.owner for h in found if any(place[-1].lower().endswith(".ipynb") for place, _ in h.files)]
        return bool({self.matcher.find(one).student for one in notebooks} - {"", self.matcher.find(owner).student})

    def _with_sheet(self, owner: Owner) -> Owner:
        """The owner, with what Moodle's worksheet says about this participant."""
        said = self.participants.get(owner.participant)
        if said is None:
            return owner
        name, is_hidden = said.name or owner.name, owner.is_hidden and not (said.name or said.email)
        return replace(said, name=name, given=owner.given, in_team=owner.in_team, is_hidden=is_hidden)

    def _in_the_worksheet(self, owner: Owner) -> bool:
        return owner.participant in self.participants

    def _match(self, hand_in: HandIn) -> Match:
        """The Match of the owner of a hand-in; without a student, it says why."""
        owner = hand_in.owner
        match = self._differs_from_sheet(owner) or self.matcher.find(owner)
        student = match.student
        if student in self.roster.dropped:
            match = replace(match, student="", why=f"{student} was dropped, so it is skipped")
        elif student and match.by != KEY and owner.keys and (before := self.noted.here.get(student)):
            said = " and ".join(f"{kind} {value}" for kind, value in before.items())
            why = (
                f"it is {student}'s by a name or number that students may choose, but the hand-in before came with"
                f" {said}: it is left out; if both are {student}'s, `--forget {student}` takes it"
            )
            match = replace(match, student="", why=why, may_be=(student,))
        if not match.student:
            if not hand_in.files and not match.may_be:
                return match  # why nothing of it could be unpacked is said
            if match.why == NOBODY and not owner.is_sender:
                self.nobody.append(owner.shown)  # said together
                return match
            help = f": {self._what_helps()}" if match.why.startswith("it may be") else ""
            self.result.problems.append(f"{shown(owner.shown)}: {shown(match.why, len(match.why))}{help}")
            self.result.unusable.update(match.may_be)
        elif match.by != KEY and (owner.in_team or match.by != NAME):
            self._remark(student, f"{quoted(owner.shown)} is taken for theirs by the beginning or end of its name")
        elif match.by == NAME and owner.keys and not self.roster.is_empty:
            self.result.by_name.append(student)
        return match

    def _differs_from_sheet(self, owner: Owner) -> Match | None:
        """The Match of nobody if the worksheet has another name for this participant than the file, else None."""
        said = self.participants.get(owner.participant)
        own = layouts.moodle(owner.given)
        if said is None or own is None or not said.name or own.is_hidden:
            return None
        if "".join(words(own.name)).endswith("".join(words(said.name))):
            return None
        why = f"participant {owner.participant} is {said.name} in the worksheet: is it from another assignment?"
        return Match(owner, why=why)

    def _two_people(self, student: str) -> str:
        """Why those who came out as one student may be two people, or "": by keys, and without a roster by name."""
        matches = self.people.get(student, [])
        owners = [match.owner for match in matches]
        if differs := first_difference(owner.keys for owner in owners):
            return differs
        keys = [set(owner.keys.items()) for owner in owners if owner.keys]
        by_name = [set(match.owner.keys.items()) for match in matches if match.owner.keys and match.by != KEY]
        if any(not mine & others for mine in by_name for others in keys):
            return "one of them by a name alone"
        names = {owner.name for owner in owners if not owner.keys and not owner.student_id}
        return "two names" if len(names) > 1 and student not in self.roster.all else ""

    def _what_helps(self) -> str:
        if self.participants:
            return "Give them different e-mail addresses or numbers with `autograder roster`."
        return "A roster with e-mail addresses, and Moodle's grading worksheet beside the download, tell them apart."

    def _handed_in_by_the_worksheet(self) -> set[str]:
        """The students who have handed in by the worksheet's times."""
        numbers = self.worksheet.handed_in() if self.worksheet else ()
        return {self.matcher.find(self.participants[number]).student for number in numbers} - {""}

    def _problem(self, student: str, owner: Owner, why: str) -> None:
        self.result.problems.append(f"{shown(owner.shown)}: {why}")
        self.result.unusable.add(student)

    # --- which notebook ---------------------------------------------------------------------------

    def _choose_between(self, student: str, theirs: list[HandIn], system: str) -> None:
        """Choose between the hand-ins of one student in one download: the latest, if the system tells when."""
        certain = [hand_in for hand_in in theirs if not hand_in.owner.others]
        for hand_in in theirs if certain else ():
            if hand_in.owner.others:
                self._problem(student, hand_in.owner, "by its name it may be another student's, so it is left out")
        choices = [choice for hand_in in certain or theirs if (choice := self._choice(student, hand_in, system))]
        if not choices:
            return
        choices.sort(key=lambda c: (c.owner.time or datetime.min, _number(c.owner.given), c.owner.given))
        spans = [self._span(choice) for choice in choices]
        has_times = any(spans) or any(choice.owner.unread for choice in choices)
        by_time = has_times and len({choice.data for choice in choices}) > 1
        latest = _latest_of(spans) if by_time else len(choices) - 1
        if latest is None:
            self._leave_open(student, choices)
            return
        best = choices[latest]
        others = [other for other in choices if other.data != best.data]
        is_later = by_time and any(span != spans[latest] for span in spans)
        why = "{} counts, the latest," if is_later else "{} counts, the last by its name,"
        self._say_which_counts(student, best, others, why)
        before = self.chosen.get(student)
        if before and before.owner.time and best.owner.time and before.owner.time > best.owner.time:
            self._remark(student, "is in two downloads: the later hand-in counts, which is in the earlier download")
            return
        if before and before.data != best.data:
            self._remark(student, "is in two downloads: the last one given counts")
        self._keep(best)
        self.chosen[student] = best

    def _span(self, choice: Choice) -> tuple[datetime, datetime] | None:
        """The first and the last time at which it may have been handed in; None if nothing tells."""
        owner = choice.owner
        times = [owner.time] if owner.time else times_of(owner.stated, self.zone)
        return (times[0], times[-1]) if times else None

    def _leave_open(self, student: str, choices: Sequence[Choice]) -> None:
        """Say that no hand-in of a student is taken, since nobody knows which is the latest."""
        *others, last = choices
        names = [quoted(_names_of(last, other)[1]) for other in others] + [quoted(_names_of(last, others[0])[0])]
        unread = [quoted(choice.owner.unread) for choice in choices if choice.owner.unread]
        why = f"the time {unread[0]} may be two, or cannot be read" if unread else "not all of them have a time"
        self.result.problems.append(
            f"{shown(student)}: {listed(names)}: nothing tells which is the latest ({why}), so none of them is taken:"
            " collect the one that counts by itself"
        )
        self.result.unusable.add(student)

    def _say_which_counts(self, student: str, best: Choice, others: Sequence[Choice], counts: str) -> None:
        """Remark on the notebooks that do not count, in one line however many there are."""
        if others:
            pairs = [_names_of(best, other) for other in others[:MANY]]
            names = ", ".join(quoted(two) for _, two in pairs)
            many = f"the {len(others):,} others, such as " if len(others) > MANY else ""
            self._remark(student, counts.format(quoted(pairs[0][0])) + f" and not {many}{names}")

    def _keep(self, choice: Choice) -> None:
        """Copy what was handed in beside a notebook: the download is unpacked only while it is looked at."""
        kept, choice.too_much = beside.chosen(choice.beside, self.root / "release", self.assignment.name)
        for number, (place, path) in enumerate(kept.items()):
            target = Path(tempfile.mkdtemp(dir=self.scratch.name), str(number))
            shutil.copyfile(path, target)
            choice.kept[place] = target

    def _choice(self, student: str, hand_in: HandIn, system: str) -> Choice | None:
        """The notebook that counts of one hand-in; None if it holds none of this assignment, and says so."""
        wanted = f"{self.assignment.name}.ipynb"
        named, fitting, others, foreign = [], [], [], dict[Place, str]()
        for place, path in hand_in.files:
            own = own_name(hand_in, place)
            try:
                data = read.read_if_one(path)
                found = assignment_of(read.read_notebook(data), known=self.known)
                what = f" is {found.name if found else 'of no assignment of this course'}"
            except Unreadable as problem:
                data, found, what = _bytes_of(path), None, _clause(str(problem))
            if data is not None and found == self.assignment:
                fitting.append(Choice(hand_in, place, own, data, system))
            elif data is not None and own == wanted and found is None:
                named.append(Choice(hand_in, place, own, data, system))  # grading tells the student what is wrong
            else:
                others.append(f"{shown(own)}{what}")
                foreign |= {place: found.name} if found else {}
        if not (fitting or named):
            what = "; ".join([*others, *map(shown, hand_in.left_out)][:3])
            self._problem(
                student, hand_in.owner, f"no notebook of {self.assignment.name} is in it{what and f' ({what})'}"
            )
            return None
        best = self._latest(student, fitting or named, wanted)
        best.apart = {*foreign, *(choice.place for choice in (*fitting, *named) if choice.data == best.data)}
        for name in dict.fromkeys(foreign.values()):
            self.foreign.setdefault(name, set()).add(student)
        return best

    def _latest(self, student: str, choices: list[Choice], wanted: str) -> Choice:
        """Of several notebooks of one assignment, the one that a browser or system has numbered highest."""
        best = max(choices, key=lambda c: (c.owner.time or datetime.min, _number(c.name), c.name == wanted, c.name))
        others = [other for other in choices if other.data != best.data]
        self._say_which_counts(student, best, others, "has several: {} counts,")
        if best.name != wanted:
            self._remark(student, f"{quoted(best.name)} is taken, since its cells are this assignment's")
        return best

    def _remark(self, student: str, text: str) -> None:
        self.result.remarks.append(f"{shown(student)}: {text}")

    # --- into submitted/ --------------------------------------------------------------------------

    def _write(self, student: str, choice: Choice, note: Mapping[str, Any]) -> bool:
        """Write one student's notebook; returns whether it is what lies there now. `note` is of what lay there."""
        folder = self.root / "submitted" / student / self.assignment.name
        notebook, stamp = folder / f"{self.assignment.name}.ipynb", folder / "timestamp.txt"
        if problem := files.problem_of(student):
            self._problem(student, choice.owner, problem)
            return False
        if any(part.is_symlink() for part in (folder.parent, folder, notebook)):
            self._problem(
                student, choice.owner, f"submitted/{student} is or contains a link, so nothing is written there"
            )
            return False
        before = _bytes_of(notebook)
        time = choice.owner.time
        known = time_of((_bytes_of(stamp) or b"").decode("utf-8", "replace"))
        if before is not None and before != choice.data and known and time and known > time:
            self._remark(student, f"the hand-in in submitted/ is from {known} UTC, later than this one, so it stays")
            return False
        is_another = before is not None and before != choice.data
        if is_another and choice.owner.others:
            self._problem(student, choice.owner, "its name can be read in several ways, so it replaces nothing")
            return False
        is_the_same_name = note.get("name") == choice.owner.name and not keys_in(note)
        if is_another and note and not choice.owner.keys and not is_the_same_name:
            self._remark(
                student, f"{quoted(choice.owner.shown)}, theirs by its name, replaces {shown(str(note['given']))!r}"
            )
        try:
            _require_place([folder.parent.parent, folder.parent, folder], [notebook, stamp])
            if self.writes:
                self._put(folder, choice, before)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self._problem(student, choice.owner, f"something else is in the place of submitted/{student}")
            return False
        if is_another and known and not time:
            self._remark(
                student,
                f"nothing tells when this was handed in, so the time of what was there before stays, {known} UTC:"
                " it was not earlier",
            )
        if not (time or known):
            self.result.untimed.append(student)
        self._say_what_is_beside(student, choice)
        names, owner = ["/".join(place) for place in choice.kept], choice.owner
        what = what_of(before, choice.data)
        self.result.taken.append(
            Taken(student, owner.name or owner.shown, choice.name, time or known, owner.late, what, names)
        )
        return True

    def _put(self, folder: Path, choice: Choice, before: bytes | None) -> None:
        """Put a notebook, its time, and what was handed in beside it into a folder where `before` lies now."""
        folder.mkdir(parents=True, exist_ok=True)
        if before != choice.data:
            replace_bytes(folder / f"{self.assignment.name}.ipynb", choice.data)
        if time := choice.owner.time:
            replace_bytes(folder / "timestamp.txt", f"{time:%Y-%m-%d %H:%M:%S} UTC\n".encode())
        beside.write(folder, choice.kept)

    def _say_what_is_beside(self, student: str, choice: Choice) -> None:
        """Say what was handed in beside the notebook, which has a folder of its own."""
        kept, too_much = choice.kept, choice.too_much
        where = f"submitted/{student}/{self.assignment.name}/{files.BESIDE}/"
        if kept:
            names = listed([shown("/".join(place)) for place in kept])
            many = f" {len(kept)} files," if len(kept) > MANY else ""
            self._remark(student, f"beside the notebook:{many} {names} (in {where}; `report --by-hand` shows it)")
        if too_much:
            names = listed([shown("/".join(place)) for place in too_much])
            self.result.problems.append(
                f"{shown(student)}: {len(too_much)} files beside the notebook are too much: {names}"
            )


def _require_place(folders: Sequence[Path], written: Sequence[Path]) -> None:
    """Raises what writing these files would: before any of them is written, and where none is to be."""
    if any(folder.exists() and not folder.is_dir() for folder in folders):
        raise NotADirectoryError
    if any(file.is_dir() for file in written):
        raise IsADirectoryError


def _names_of(one: Choice, other: Choice) -> tuple[str, str]:
    """What to call two notebooks of one student: by as much of their paths as tells them apart."""
    if one.owner.shown != other.owner.shown and (one.owner.is_sender or one.system == "gradescope"):
        return one.owner.shown, other.owner.shown
    entries = [next((n for at, n in c.hand_in.names.items() if c.place[: len(at)] == at), "") for c in (one, other)]
    if entries[0] != entries[1]:
        return entries[0], entries[1]
    names = one.name, other.name
    return names if names[0] != names[1] else ("/".join(one.place), "/".join(other.place))


def _latest_of(spans: Sequence[tuple[datetime, datetime] | None]) -> int | None:
    """The index of the last of the times that are surely not before any of the others; None if there is none."""
    known = [span for span in spans if span]
    surely = [at for at in range(len(known)) if _is_after(known, at)]
    return surely[-1] if surely and len(known) == len(spans) else None


def _is_after(spans: Sequence[tuple[datetime, datetime]], at: int) -> bool:
    return all(spans[at][0] >= end for number, (_, end) in enumerate(spans) if number != at)


def what_of(before: bytes | None, data: bytes) -> str:
    """What a hand-in is beside the one of `before`: NEW, CHANGED or SAME."""
    return NEW if before is None else SAME if before == data else CHANGED


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
    """The data for giving grades and feedback back, as JSON."""
    owner = choice.owner
    entry = next(name for at, name in choice.hand_in.names.items() if choice.place[: len(at)] == at)
    said = {key: getattr(owner, key) for key in ("name", "email", "lms_id", "participant", "given")}
    time = f"{owner.time:%Y-%m-%d %H:%M:%S}" if owner.time else ""
    hidden = {HIDDEN: True} if owner.is_hidden else {}
    return {"system": choice.system, "entry": entry, "late": owner.late, "time": time, **said, **hidden}


def _number(name: str) -> int:
    """The number of a copy, 0 if it has none."""
    found = NUMBER.search(os.path.splitext(name)[0] if name.lower().endswith(".ipynb") else name)
    return int((found[1] or found[2])[:9]) if found else 0


def _clause(sentence: str) -> str:
    """What is said of a file, "It is a PDF, …" or "The file is empty: …", behind its name."""
    said = sentence.rstrip(".")
    return next((f" {said.removeprefix(it)}" for it in SUBJECTS if said.startswith(it)), f": {said}")


# --- downloads ------------------------------------------------------------------------------------


@contextlib.contextmanager
def unpacked(path: Path, known: Collection[str] = ()) -> Iterator[tuple[Download, list[str]]]:
    """Unpack a folder or an archive, within limits: yields (the Download, sentences on files that were left out).

    `known` are words beyond ASCII that names in it may have. Raises UsageError.
    """
    if not path.exists():
        raise UsageError(f"There is no {path}.")
    if not path.is_dir() and not is_archive(path.name):
        raise UsageError(f"{path} is neither a folder nor a .zip, .tar.gz or .eml.")
    with tempfile.TemporaryDirectory(prefix="autograder-collect-") as made:
        extractor = BoundedExtractor()
        extractor.known = known
        extractor.log = logging.Logger("autograder.collect", logging.WARNING)
        extractor.log.addHandler(logging.NullHandler())
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
        skipped = [(p[outer:], why, line) for p, why, line in extractor.left_out if not ON_LITTER.search(line)]
        left_out = {place: why for place, why, _ in reversed(skipped) if place and not LITTER & set(place)}
        holding = {place[:length] for place in (*found, *left_out) for length in range(1, len(place) + 1)}
        left_out |= dict.fromkeys(names.keys() - holding, EMPTY)
        said = _bounded([(place, line) for place, _, line in skipped], names)
        if not (found or left_out):
            raise UsageError(f"{path}: nothing in it can be read. {' '.join(said[:3])}")
        is_one = not path.is_dir() and not is_message(path.name)
        yield Download(found, names, messages, _stem(path), is_one, left_out), said


def _stem(path: Path) -> str:
    """The name of a possible folder around all of a download."""
    name = path.resolve().name
    return name if path.is_dir() else without_suffix(Path(name)).name


def _bounded(skipped: Sequence[tuple[Place, str]], archives: Collection[Place]) -> list[str]:
    """The sentences on what was skipped, a few of each person's archive or outermost folder."""
    groups: dict[Place, list[str]] = {}
    for place, line in skipped:
        inside = [place[:length] for length in range(1, len(place)) if place[:length] in archives]
        groups.setdefault(inside[0] if inside else place[:1], []).append(line)
    said = []
    for place, lines in groups.items():
        said += lines[:MANY]
        if len(lines) > MANY:
            said.append(f"Skipped {len(lines) - MANY:,} more in {shown('/'.join(place))}")
    return said


def _worksheet_warnings(sheet: Worksheet, found: Mapping[str, Owner]) -> Iterator[str]:
    """What a worksheet does not say."""
    if warning := sheet.time_warning(found):
        yield f"{shown(warning, len(warning))}: export the worksheet in English"
    if sheet.index("email") is None:
        yield f"{sheet.path} has no column {sheet.headers['email'][0]!r}, so students are found by name"


# --- telling --------------------------------------------------------------------------------------


def shown(name: str, most: int = 200) -> str:
    """A stranger's name on the instructor's terminal."""
    return "".join(c if is_printable(c) else "\N{REPLACEMENT CHARACTER}" for c in name)[-most:]


def listed(names: Sequence[str]) -> str:
    """The first of some strangers' names, on the instructor's terminal."""
    return ", ".join(map(shown, names[:MANY])) + (", …" if len(names) > MANY else "")


def quoted(name: str) -> str:
    return f"'{shown(name)}'"


def told(
    found: Collected,
    assignment: Assignment,
    systems: Sequence[str],
    missing: Sequence[Student],
    notes: Mapping[str, Any],
) -> Iterator[str]:
    """The lines that report the result of collecting to the instructor."""
    many, kinds = len(found.taken), [f"{found.many(what)} {what}" for what in (NEW, CHANGED, SAME)]
    yield f"{assignment.name}: {many} handed in ({', '.join(kinds)}), from {' and '.join(dict.fromkeys(systems))}"
    yield from (f"  {line}" for line in found.remarks)
    if found.late:
        timeless = [student for student in found.late if not notes.get(student, {}).get("time")]
        yield f"  late: {', '.join(map(shown, found.late))}"
        if timeless:
            yield "  The system does not say how late, so there is no penalty."
    if many and len(found.untimed) == many and not found.late:
        yield f"  no hand-in times are known, so nobody counts as late: {_what_gives_times(systems)}"
    elif found.untimed and not found.late:
        yield f"  no hand-in time is known of {len(found.untimed)} ({listed(found.untimed)}): they do not count as late"
    if found.hidden:
        yield (
            f"  anonymous: the system hides these names, so each hand-in is graded by its number or code"
            f" ({listed(found.hidden)}); {_what_gives_grades_back(systems, assignment)}. To grade by name, show the"
            " names there, download again, and collect"
        )
    if found.by_name:
        names = listed(found.by_name)
        yield f"  matched by name alone, or by a number that students may choose: {len(found.by_name)} ({names})"
    unusable = [student.id for student in missing if student.id in found.unusable]
    if unusable:
        yield f"  handed in, but nothing usable: {', '.join(map(shown, unusable))}"
    by_number = {id for id, note in notes.items() if note.get(HIDDEN)}
    absent = [student.id for student in missing if student.id not in found.unusable]
    if absent and not found.hidden and not any(id in by_number for id in absent):
        yield f"  without a hand-in: {', '.join(map(shown, absent))}"


def _what_gives_times(systems: Sequence[str]) -> str:
    if "moodle" in systems:
        return "give Moodle's grading worksheet beside the download"
    return "a group `time` in --pattern, or timestamp.txt in the students' folders, gives them"


def _what_gives_grades_back(systems: Sequence[str], assignment: Assignment) -> str:
    if "moodle" in systems:
        number = assignment.name.split("_")[0]
        return f"`autograder export {number} moodle --fill WORKSHEET` gives grades back by the number"
    return "grades go back by hand, since the gradebook has no such code"


def take_sheets(paths: Sequence[Path]) -> tuple[list[Path], Table | None]:
    """(the downloads, the worksheet) among paths. Raises UsageError."""
    sheets = [tables.read_table(path) for path in paths if path.suffix.lower() == ".csv"]
    if len(sheets) > 1:
        raise UsageError(
            "The only table that `collect` takes is one grading worksheet of Moodle; `autograder roster FILE` takes a"
            " roster."
        )
    return [path for path in paths if path.suffix.lower() != ".csv"], (sheets[0] if sheets else None)
