"""How Moodle, Canvas and Gradescope lay out the hand-ins that an instructor downloads, and who owns each one.

The names are those that the systems' own code gives and reads back:

- Moodle: a folder `Ada Lovelace_4711_assignsubmission_file` for each student (with `_` at its end before 4.1), or flat
  files with that prefix. 4711 is the student's number in this one assignment. The name has no `_`: Moodle writes a
  space. Where a team hands in, versions before 4.1 write its name and a hyphen before each member's.
  mod/assign/classes/downloader.php writes them, mod/assign/feedback/file/importziplib.php reads them;
  https://docs.moodle.org/en/Using_Assignment.
- Canvas: flat files `lovelaceada_LATE_123_456_name.ipynb`: the sortable name in lower case, LATE if it is, the user's
  id, the file's id. lib/content_zipper.rb writes them. A name may hold numbers, too: Canvas takes the `_` beside them
  away before it removes all other characters, so "x_-22_-33" arrives as `x_22_33`. Then `x_22_33_900_work.ipynb` is a
  file 33 of the user 22 or a file 900 of the user 33. Anonymous ones begin with `anon_a1B2c` or `LATE_anon_a1B2c`, all
  of an assignment or none.
- Gradescope: folders `submission_123` beside a `submission_metadata.yml`, which says who handed each in, and when
  (https://guides.gradescope.com, "Export Submissions").
- Blackboard, Brightspace, Sakai, ILIAS, Google and GitHub Classroom: `shapes.py` has their patterns.
- Mail: a folder or file named after the student; or a message as mail programs save it, `x.eml`, of which the
  sender is the student, by the address: names and subjects are the sender's own choice.

Only the names that a system gave are read: the outermost ones. Those below were chosen by a student, and so was all in
an archive that one person handed in. Folders around them, such as those of sections, are passed over: names are read at
the depth at which most students of the roster are named (`depths.py`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..errors import Unreadable, UsageError
from ..submission import read
from ..submission.times import day_comes_first, in_utc, time_of
from . import messages, shapes
from .depths import Depths, Named
from .download import DEEPEST, Download
from .identity import Keys, keys_of
from .shapes import Place, Shape

METADATA = "submission_metadata.yml"
EXPORT = re.compile(r"assignment_\d+_export")  # the folder in Gradescope's archive
MAX_METADATA = 64 * 2**20  # bytes: it holds the results of Gradescope's own autograder, too
GROUPS = ("student_id", "name", "email", "lms_id", "participant", "late", "time")  # that a pattern may name

SAMPLE = 500  # names by which a system is recognised: those of a large class
STAMP = 200  # bytes of a file with a time

NUMBER = r"(?:0|[1-9][0-9]{0,17})"  # as databases count; a number that a person has typed may begin with 0
# how Moodle calls everybody whose name is hidden, by the language of whoever downloads (assign.php, "participant"); in
# a file's name, the mark between two forms of a word is another one, or none
HIDDEN = re.compile(
    r"(?:Participante?|Partecipante|Teilnehmer(?:[_/ *:]?in)?|Deelnemer|Deltagare|Deltaker|Deltager|Участник|Uczestnik"
    r"|Účastník|Osallistuja|Résztvevő|Katılımcı|参与者|參與者|参加者)(?: (?P<number>[0-9]+))?",
    re.IGNORECASE,
)
MOODLE = re.compile(
    rf"(?P<name>Teilnehmer_in|[^_]*)_(?P<participant>{NUMBER})_assignsubmission_(?P<kind>[a-z]+)(?:_|$)"
)
ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<name>anon_[0-9A-Za-z]+)(?=_\d+_.)")
TYPED = re.compile(rf"(?P<name>[^\W_]+)_(?P<late>LATE_)?(?P<id>{NUMBER})_(?:text|link)\.html")  # Canvas's own page
LABEL = r"(?:[^\W_]|-)+"  # of a host's name
AT = re.compile(rf"[^\s<>()\[\],;:\"\\/@]+@{LABEL}(?:\.(?!ipynb\b){LABEL})+", re.IGNORECASE)
COPY = re.compile(r"\s*\(\d+\)$|-\d+$")  # what browsers and Canvas add to a name that they have seen before


@dataclass(frozen=True)
class Owner:
    """What a system says about somebody who handed in; fields that it does not give are empty.

    `lms_id` is the person's id in the system, `participant` Moodle's number, which holds for one assignment. `given` is
    the name that the system has for the whole: a folder, or the prefix of a flat file. `in_team` is the name without
    that of a team before it. `is_hidden`: the system hides the name, and gives a number or a code. `unread` is the text
    of a time that cannot be read, `stated` that of any time in a name. `is_text`: all is read from a name that a person
    gave, and there may be more in it. `is_sender`: somebody sent a message, and chose the `name`. `others` are owners
    whom the same name may tell as well.
    """

    name: str = ""
    email: str = ""
    student_id: str = ""
    lms_id: str = ""
    participant: str = ""
    given: str = ""
    late: bool = False
    time: datetime | None = None
    is_text: bool = False
    is_sender: bool = False
    system: str = ""
    in_team: str = ""
    is_hidden: bool = False
    unread: str = ""
    stated: str = ""
    others: tuple[Owner, ...] = ()

    @property
    def keys(self) -> Keys:
        """What the system says about this person, and no student can type."""
        email = "" if self.is_text else self.email
        return keys_of(self.system, email, self.lms_id, self.participant)

    @property
    def shown(self) -> str:
        """How to name this person to the instructor."""
        who = " ".join(filter(None, (self.name, self.email)))
        if self.is_sender:
            return f"{self.given} (from {who or 'nobody'})"
        if self.system == "gradescope":
            return f"{who or self.lms_id} ({self.given})"
        return self.given or who or self.student_id


@dataclass
class HandIn:
    """The files that one person handed in: pairs of the place in the download and the path of the unpacked file.

    `names` are what the system calls the entries of the download that they were in, by place; `own` are the student's
    names of files, and `times` when they came, where the system says so of each. `left_out` are sentences on what could
    not be unpacked.
    """

    owner: Owner
    files: list[tuple[Place, Path]] = field(default_factory=list)
    names: dict[Place, str] = field(default_factory=dict)
    own: dict[Place, str] = field(default_factory=dict)
    times: dict[Place, datetime] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


Reader: TypeAlias = Callable[[str], Owner | None]  # from the name of an entry to its owner
UNDERSCORED = ("blackboard", "ilias")  # systems that part a login, which may have underscores, from the rest by one
Reading: TypeAlias = "tuple[Shape, dict[str, str], Owner]"  # of a name: the shape, what its pattern finds, whose it is
Knows: TypeAlias = Callable[[Owner], Named]  # which students of the roster somebody may be


class Found(NamedTuple):
    """What was handed in; the names of entries that belong to nobody; folders left out, with who is named inside."""

    hand_ins: list[HandIn]
    strays: list[str]
    around: dict[str, set[str]]


# --- the systems' names ---------------------------------------------------------------------------


def moodle(name: str) -> Owner | None:
    """The owner of a folder or flat file of Moodle's, or None."""
    found = MOODLE.match(name)
    if not found:
        return None
    hidden = HIDDEN.fullmatch(found["name"].strip())
    is_hidden = hidden is not None and hidden["number"] in (None, found["participant"])
    return Owner(found["name"].strip(), participant=found["participant"], given=found[0], is_hidden=is_hidden)


def canvas(name: str, wanted: str = "") -> Owner | None:
    """The owner of a file of Canvas's, or None. `given` is its name up to the person's id.

    A file called `wanted` settles which of its numbers are Canvas's: nobody chooses a file's id.
    """
    if text := TYPED.fullmatch(name):
        return Owner(text["name"], lms_id=text["id"], given=name, late=bool(text["late"]))
    parts = name.split("_")
    found = [(at, owner) for at in range(1, len(parts) - 2) if (owner := _canvas_at(parts, at))]
    if not found:
        return None
    at, first = found[0]
    own, suffix = os.path.splitext("_".join(parts[at + 2 :]))
    settled = wanted and COPY.sub("", own) + suffix == wanted
    return first if settled else replace(first, others=tuple(owner for _, owner in found[1:]))


def _canvas_at(parts: list[str], at: int) -> Owner | None:
    """The owner of a file of Canvas's if the person's id is the part of its name at this index, or None."""
    late = parts[at - 1] == "LATE"
    person = "_".join(parts[: at - late])
    if not all(re.fullmatch(NUMBER, part) for part in parts[at : at + 2]):
        return None
    if not person or "LATE" in person.split("_"):  # which no name in lower case holds
        return None
    return Owner(person, lms_id=parts[at], given="_".join(parts[: at + 1]), late=late)


def canvas_anonymous(name: str) -> Owner | None:
    """The owner of a file of an anonymous assignment of Canvas's, or None."""
    found = ANONYMOUS.match(name)
    return Owner(found["name"], given=found[0], late=bool(found["late"]), is_hidden=True) if found else None


def mail(name: str) -> Owner:
    """The owner of a folder or file of e-mailed hand-ins: it is called after them, perhaps with more behind."""
    address = AT.search(name)
    shown = COPY.sub("", AT.sub("", name).replace("<>", "").strip())
    return Owner(shown, address[0] if address else "", given=name, is_text=True)


def sender(name: str, path: Path, reader: Reader) -> Owner | None:
    """The owner of a saved message: its sender, unless the `reader` of an instructor's pattern says who it is.

    A pattern is matched against the name of its file, and then against its subject.
    """
    said = messages.sender(path)
    if reader is mail:
        return Owner(said.name, said.address, given=name, time=said.time, is_sender=True)
    owner = reader(name) or reader(said.subject)
    return owner and replace(owner, given=name, time=owner.time or said.time)


def by_pattern(pattern: str, zone: tzinfo | None = UTC) -> Reader:
    """A Reader for names that match the instructor's pattern as a whole, with times in `zone`. Raises UsageError."""
    try:
        expression = re.compile(pattern)
    except re.error as problem:
        raise UsageError(f"--pattern is not a regular expression ({problem}).") from None
    known = set(GROUPS) & expression.groupindex.keys()
    if not known - {"late", "time"}:
        raise UsageError(
            "--pattern must find the owner of a file by one of the groups student_id, name, email, lms_id or"
            " participant, such as (?P<name>.+)-hw2.*"
        )

    def owner(name: str) -> Owner | None:
        found = expression.fullmatch(name)
        said: dict[str, Any] = {key: found[key] for key in known if found[key]} if found else {}
        if not said.keys() - {"late", "time"}:
            return None
        if "time" in said:
            said |= _timed(said["time"], zone)
        return Owner(**{**said, "late": bool(said.get("late"))}, given=name)

    return owner


def _timed(text: str, zone: tzinfo | None) -> dict[str, Any]:
    """The fields of an Owner that a text of a time gives."""
    time = time_of(text, zone)
    return {"time": time, "stated": text} if time else {"time": None, "unread": text, "stated": text}


def settle_dates(found: Sequence[HandIn], zone: tzinfo | None) -> None:
    """Read the times that may be two, as 03-11-2026, if others of the same download prove which number is the day."""
    day_first = day_comes_first(hand_in.owner.stated for hand_in in found)
    for hand_in in found:
        if hand_in.owner.unread and (time := time_of(hand_in.owner.stated, zone, day_first)):
            hand_in.owner = replace(hand_in.owner, time=time, unread="")


@dataclass(frozen=True)
class Layout:
    """How a system lays out a download: its `reader` or its `shapes`; neither where a file says who owns what.

    `has_ids`: the ids that it reads are those of the roster's `lms_user_id`; else people are known by their addresses.
    """

    reader: Reader | None
    has_ids: bool = False
    shapes: tuple[Shape, ...] = ()


LAYOUTS: Mapping[str, Layout] = {
    "moodle": Layout(moodle, has_ids=True),
    "canvas": Layout(canvas, has_ids=True),
    "gradescope": Layout(None),
    **{system: Layout(None, shapes=of) for system, of in shapes.SHAPES.items()},
    "mail": Layout(mail),
}
# those that only a system's names have, whatever is on the roster or beside them
OWN_SHAPES = [shape for of in shapes.SHAPES.values() for shape in of if not (shape.of_roster or shape.stamp)]
WITH_IDS = [system for system, layout in LAYOUTS.items() if layout.has_ids]


# --- owners ---------------------------------------------------------------------------------------


def system_of(download: Download, knows: Knows | None = None) -> str:
    """The system whose reader knows most names of a download's entries, and at least half: else it is mail.

    A student can give a file a name in another system's layout. `knows` tells who is on the roster, if there is one.
    Raises UsageError where two systems know as many.
    """
    if _metadata_in(download):
        return "gradescope"
    names = [download.full_name(entry) for entry in download.entries(_top(download)) if entry not in download.messages]
    named = {system: layout.reader for system, layout in LAYOUTS.items() if layout.reader not in (None, mail)}
    readers = {system: _reader(system, reader, names) for system, reader in named.items()}
    known = {system: sum(reader(name) is not None for name in names) for system, reader in readers.items()}
    if max(known.values()) * 2 >= max(1, len(names)):
        return _the_one(known)
    return _shaped_system(download, knows) or "mail"


def _shaped_system(download: Download, knows: Knows | None) -> str:
    """The system of `shapes.py` that names more students than mail does, at the outermost depth; "" if none does.

    Names that are the system's own end the search whoever is on the roster: those inside are students'. Raises
    UsageError where two systems name as many.
    """
    depths = _depths(download, mail, (), knows) if knows is not None else None
    by_mail, needed, best = 0, 0, (0, dict[str, tuple[int, float]]())
    for number, whole in enumerate(download.levels()):
        level = (depths.open(whole, for_shapes=True) if depths else whole)[:SAMPLE]
        mails = depths.counts[number] if depths else 0
        every = {system: _Shaped(download, system, level, knows) for system in shapes.SHAPES}
        fitting = {
            system: (shaped.students, shaped.share)
            for system, shaped in every.items()
            if shaped.share >= 0.5 and shaped.students >= mails + (depths is not None and _is_of_roster(system))
        }
        many = max((students for students, _ in fitting.values()), default=0)
        if fitting and many >= needed and (many > best[0] or not best[1]):
            best = many, fitting
        if any(depths is None or not _is_of_roster(system) for system in fitting):
            break
        by_mail = max(by_mail, mails)
        # deeper, as many as are named here by a beginning, or more than by a whole name
        needed = max(needed, by_mail, depths.wholes[number] + 1 if depths and depths.wholes[number] else 0)
    return _the_one(best[1]) if best[1] and best[0] >= by_mail else ""


def _is_of_roster(system: str) -> bool:
    return all(shape.of_roster for shape in LAYOUTS[system].shapes)


def _the_one(known: Mapping[str, Any]) -> str:
    """The system that knows most. Raises UsageError if two do."""
    first, *others = [system for system, count in known.items() if count == max(known.values())]
    if others:
        raise UsageError(f"This may be a download of {first} or of {' or '.join(others)}: say which with --from.")
    return first


def _reader(system: str, reader: Reader, names: list[str], wanted: str = "") -> Reader:
    """The Reader of a system for a download with entries of these names."""
    if system == "canvas":
        named = any(canvas(name) and not canvas_anonymous(name) for name in names)
        return (lambda name: canvas(name, wanted)) if named else lambda name: canvas_anonymous(name) or canvas(name)
    return reader


def _share(download: Download, level: Sequence[Place], fits: Callable[[Place], bool]) -> float:
    """The share of what may be hand-ins at a level that fit."""
    all_of = [entry for entry in level if download.may_be_handed_in(entry) and entry not in download.messages]
    return sum(map(fits, all_of)) / len(all_of) if all_of else 0.0


class _Shaped:
    """The entries of a download at one level, as a system of `shapes.py` names them."""

    def __init__(
        self,
        download: Download,
        system: str,
        level: Sequence[Place],
        knows: Knows | None,
        zone: tzinfo | None = UTC,
        insists: bool = False,
    ) -> None:
        self.download, self.system, self.knows, self.zone = download, system, knows, zone
        self.insists = insists
        self.prefix = self._prefix(level) if system == shapes.GITHUB else ""
        self.common = self._beginning(level) if system == "blackboard" else ""
        self.found = {entry: said for entry in level if (said := self._read(entry))}
        self.share = _share(download, level, lambda entry: entry in self.found)
        self.students = (
            len({knows(owner).students for _, _, owner in self.found.values()} - {frozenset()}) if knows else 0
        )

    def _beginning(self, level: Sequence[Place]) -> str:
        """What the names of several people begin with alike, up to an underscore; "" if there are not several."""
        full = [self.download.full_name(entry) for entry in level]
        names = {name.partition("_attempt_")[0] for name in full if "_attempt_" in name}
        if len(names) < 2:
            return ""
        same = os.path.commonprefix([f"{name}_" for name in names])
        return same[: same.rfind("_") + 1]

    def _prefix(self, level: Sequence[Place]) -> str:
        """What is before the login in each name."""
        names = [entry[-1] for entry in level if entry not in self.download.files]
        arounds = {entry[-2] if len(entry) > 1 else self.download.name for entry in level}
        may_be = shapes.prefixes(names, arounds.pop()) if len(arounds) == 1 else []
        if self.knows is None or not may_be:
            return may_be[0] if may_be and self._is_around(level) else ""

        def known(before: str) -> int:
            owners = (Owner(student_id=n[len(before) :], lms_id=n[len(before) :]) for n in names[:SAMPLE])
            return sum(bool(self.knows(owner)) for owner in owners) if self.knows else 0

        best = max(may_be[:DEEPEST], key=known)
        return best if known(best) else ""

    def _is_around(self, level: Sequence[Place]) -> bool:
        """Whether the folder around is called as GitHub Classroom calls it."""
        if self.system != shapes.GITHUB:
            return False
        around = level[0][-2] if len(level[0]) > 1 else self.download.name
        return around.endswith(shapes.AROUND)

    def _read(self, entry: Place) -> Reading | None:
        """The reading of an entry's name that counts, or None."""
        name = self.download.full_name(entry)
        if self.system == shapes.GITHUB:
            if not self.prefix or entry in self.download.files or not name.startswith(self.prefix):
                return None
            name = entry[-1][len(self.prefix) :]
        readings = [
            (shape, said, self._owner(shape, said, entry))
            for shape in LAYOUTS[self.system].shapes
            if (said := shape.match(name)) and (self.insists or self._has_mark(shape, entry))
        ]
        if self.system in UNDERSCORED:
            readings = self._possible(name, readings)
        if self.knows is not None and (known := next((r for r in readings if self.knows(r[2])), None)):
            return known
        return next((r for r in readings if self.insists or not r[0].of_roster or self._is_around([entry])), None)

    def _possible(self, name: str, readings: list[Reading]) -> list[Reading]:
        """Of the readings of a name, in which underscores part the login from the rest, those that may be right.

        The shortest login is nobody's if the true one ends with it. What is before the login is the same in all names
        of Blackboard, and a name of two parts in ILIAS's; if that leaves more than one, the longest login counts.
        """
        readings = sorted(readings, key=lambda reading: -len(reading[1]["login"]))
        if self.system == "ilias":
            return [r for r in readings if r[1]["name"].count("_") == 1] or readings[-1:]
        fitting = [r for r in readings if name.index(f"_{r[1]['login']}_attempt_") < len(self.common)]
        if not fitting:
            return readings[:1]
        return fitting if self.knows is not None else fitting[-1:]

    def _has_mark(self, shape: Shape, entry: Place) -> bool:
        return not shape.mark or any(re.fullmatch(shape.mark, e[-1]) for e in self.download.entries(entry))

    def _owner(self, shape: Shape, said: Mapping[str, str], entry: Place) -> Owner:
        login = said.get("login", "")
        timed = _timed(said["time"], self.zone) if "time" in said else {}
        name = said.get("name", "").replace("_", " ").strip()
        if shape.stamp and (path := self.download.files.get((*entry, shape.stamp))):
            timed = _stamped(path)
        return Owner(
            name, student_id=login, lms_id=login, given=self.download.full_name(entry), system=self.system, **timed
        )

    def hand_ins(self) -> list[HandIn]:
        """What each person handed in: one hand-in for each of their times."""
        found: dict[Owner, HandIn] = {}
        for entry, (shape, said, owner) in self.found.items():
            same = found.setdefault(replace(owner, given=""), HandIn(owner))
            same.names[entry] = self.download.full_name(entry)
            same.left_out += self.download.left_out_below(entry)
            for place, path in self.download.below(entry):
                if "page" in said and not _says_something(path):
                    continue
                beside = place[len(entry) :]
                if shape.own and beside and re.fullmatch(shape.own, beside[0]):
                    continue
                same.files.append((place, path))
                if place == entry and "file" in said:
                    end = os.path.splitext(place[-1])[1]
                    same.own[place] = said["file"] if said["file"].endswith(end) else said["file"] + end
                inside = re.fullmatch(shape.inside, beside[0]) if shape.inside and beside else None
                if inside:
                    if len(beside) == 1:
                        same.own[place] = inside["file"]
                    if time := time_of(inside["time"], self.zone):
                        same.times[place] = time
        return [hand_in for hand_in in found.values() if hand_in.files or hand_in.left_out]

    def is_own(self, name: str) -> bool:
        """Whether a file beside the hand-ins is the system's own."""
        return any(shape.own and re.fullmatch(shape.own, name) for shape in LAYOUTS[self.system].shapes)


def _stamped(path: Path) -> dict[str, Any]:
    """The fields of an Owner that a file with a time (UTC) gives."""
    try:
        text = read.read_bytes(path, most=STAMP).decode("utf-8", "replace").strip()
    except Unreadable:
        return {}
    return {**_timed(text, UTC), "stated": ""} if text else {}


NO_TEXT = re.compile(r"There (?:is no student submission text data|are no student comments) for this assignment\.")
FIELDS = re.compile(
    r"^(?:Submission Field|Comments):\s*\n(.*?)(?=^(?:Submission Field|Comments|Files):|\Z)", re.M | re.S
)


def _says_something(page: Path) -> bool:
    """Whether a page that Blackboard writes of each attempt has a text or a comment of the student's."""
    try:
        text = read.read_bytes(page).decode("utf-8", "replace").replace("\r", "")
    except Unreadable:
        return True
    return any(NO_TEXT.sub("", said).strip() for said in FIELDS.findall(text))


def hand_ins(
    download: Download,
    system: str,
    pattern: str | None = None,
    insists: bool = False,
    wanted: str = "",
    knows: Knows | None = None,
    zone: tzinfo | None = UTC,
) -> Found:
    """What was handed in. Raises UsageError.

    `insists`: the instructor has said which system it is. `wanted` is the name that the notebook should have. `knows`
    tells who may be on the roster, None without one; `zone` is the time zone of times in names.
    """
    if LAYOUTS[system].shapes and not pattern:
        return _by_shape(download, system, insists, knows, zone)
    any_reader = by_pattern(pattern, zone) if pattern else LAYOUTS[system].reader
    if any_reader is None:
        return _from_gradescope(download)
    entries = download.entries(_top(download, any_reader if pattern or (insists and any_reader is not mail) else None))
    around: dict[Place, set[str]] = {}
    if pattern or any_reader is mail:
        if knows is None:
            entries = _level_without_a_roster(download, entries, any_reader, bool(pattern))
        else:
            entries, around = _depths(download, any_reader, entries, knows, bool(pattern)).entries(entries)
    names = [download.full_name(entry) for entry in entries]
    reader = any_reader if pattern else _reader(system, any_reader, names, wanted)
    found: dict[Owner, HandIn] = {}
    strays = []
    for entry in entries:
        name = entry[-1] if reader is mail else download.full_name(entry)
        message = download.messages.get(entry) if pattern or reader is mail else None
        owner = sender(name, message, reader) if message else reader(name)
        if owner is None:
            strays.append("/".join((*entry[:-1], name)))
            continue
        owner = replace(owner, system=system, others=tuple(replace(other, system=system) for other in owner.others))
        # a person's flat files and folders are one hand-in
        same = found.setdefault(replace(owner, given=owner.given if reader is mail else ""), HandIn(owner))
        same.files += download.below(entry)
        same.left_out += download.left_out_below(entry)
        same.names[entry] = name
    if reader is moodle:
        _find_teams(list(found.values()))
        _find_hidden(list(found.values()), knows)
    return Found(list(found.values()), strays, {"/".join(entry): inside for entry, inside in around.items()})


def _by_shape(download: Download, system: str, insists: bool, knows: Knows | None, zone: tzinfo | None) -> Found:
    """As `hand_ins`, for a system of `shapes.py`. Raises UsageError."""
    depths = None if insists or knows is None else _depths(download, mail, (), knows)
    opened = [depths.open(level, for_shapes=True) if depths else level for level in download.levels()]
    levels = [(level, _Shaped(download, system, level, knows, zone, insists)) for level in opened]
    if not (fitting := [shaped.share for _, shaped in levels if shaped.found]):
        examples = " or ".join(shape.example for shape in LAYOUTS[system].shapes)
        raise UsageError(f"No name in it is as {system} writes it, such as {examples}: --pattern says what is in them.")
    most = max((s.students for _, s in levels if s.share >= 0.5), default=0) if _is_of_roster(system) else 0
    level, shaped = next(
        (level, s)
        for level, s in levels
        if s.found and (s.share == max(fitting) < 0.5 or (s.share >= 0.5 and s.students >= most))
    )
    deep = len(level[0])
    around_them = {entry[:length] for entry in shaped.found for length in range(1, deep)}
    # a student's folder that lies outside, such as beside those of sections
    aside = sorted(e for e in (depths.items if depths else ()) if len(e) < deep and e not in around_them)
    taken = around_them | set(aside)
    outer = [e for e in download.files if len(e) < deep and not any(e[:n] in taken for n in range(1, len(e) + 1))]
    strays = ["/".join(e) for e in (*outer, *level) if e not in shaped.found and not shaped.is_own(e[-1])]
    others = [_hand_in_of(replace(mail(e[-1]), system="mail"), download, e) for e in aside]
    refused = {e: depths.others(e) for e in depths.refused if len(e) <= deep} if depths else {}
    around = {"/".join(entry): inside for entry, inside in refused.items()}
    return Found([*shaped.hand_ins(), *others], strays, around)


def _hand_in_of(owner: Owner, download: Download, entry: Place) -> HandIn:
    names, left_out = {entry: download.full_name(entry)}, download.left_out_below(entry)
    return HandIn(owner, download.below(entry), names, left_out=left_out)


def _depths(download: Download, reader: Reader, top: Sequence[Place], knows: Knows, is_pattern: bool = False) -> Depths:
    """At which depths entries are called after students on the roster."""

    def read(entry: Place) -> Named:
        owner = reader(entry[-1] if reader is mail else download.full_name(entry))
        return knows(owner) if owner else Named()

    def by_system(entry: Place) -> Named:
        found = (shape.match(download.full_name(entry)) for shape in OWN_SHAPES)
        owners = (Owner(f.get("name", "").replace("_", " "), student_id=f.get("login", "")) for f in found if f)
        return next((named for owner in owners if (named := knows(owner))), Named())

    return Depths(download, read, len(top[0]) - 1 if top else 0, is_pattern, by_system if reader is mail else read)


def _level_without_a_roster(download: Download, top: list[Place], reader: Reader, is_pattern: bool) -> list[Place]:
    """The entries at the first depth at which one fits a pattern; without one, or if none does, those at the `top`.

    A folder around those of students is known by its being the only one, and none of a pattern's.
    """

    def fits(entry: Place) -> bool:
        name = entry[-1] if reader is mail else download.full_name(entry)
        return entry in download.messages or reader(name) is not None

    if any(map(fits, top)) and not _is_around_several(download, top, reader, is_pattern):
        return top
    depth = len(top[0]) if top else 1
    for level in download.levels():
        if level and len(level[0]) > depth and any(map(fits, level)):
            several = len({entry[-1] for entry in level if fits(entry)}) > 1
            return level if several or is_pattern else top
    return top


def _is_around_several(download: Download, top: Sequence[Place], reader: Reader, is_pattern: bool) -> bool:
    """Whether the only folder there is fits a pattern and holds several entries that fit it, too."""
    if not is_pattern or len(top) != 1 or not download.is_folder(top[0]):
        return False
    inner = [entry for entry in download.entries(top[0]) if download.may_be_handed_in(entry)]
    return len(inner) > 1 and all(reader(download.full_name(entry)) for entry in inner)


def _find_hidden(found: Collection[HandIn], knows: Knows | None) -> None:
    """Set `is_hidden` where all names are one word that nobody on the roster is called: a language not known here."""
    numbers = {hand_in.owner.participant for hand_in in found}
    if len({hand_in.owner.name for hand_in in found}) == 1 and len(numbers) > 1 and knows is not None:
        if not knows(replace(next(iter(found)).owner, participant="")):
            for hand_in in found:
                hand_in.owner = replace(hand_in.owner, is_hidden=True)


def _find_teams(found: list[HandIn]) -> None:
    """Set `in_team` where the part of a name before a hyphen is a team's: another member's name then begins with it."""
    prefixes = Counter(p for name, _ in {(h.owner.name, h.owner.participant) for h in found} for p in _prefixes(name))
    for hand_in in found:
        shared = [prefix for prefix in _prefixes(hand_in.owner.name) if prefixes[prefix] > 1]
        if shared:
            hand_in.owner = replace(hand_in.owner, in_team=hand_in.owner.name[len(max(shared, key=len)) :])


def _prefixes(name: str) -> list[str]:
    """The beginnings of a name, up to each of its hyphens."""
    return [name[: at + 1] for at, letter in enumerate(name) if letter == "-"]


def one_hand_in(download: Download) -> HandIn:
    """A whole archive as one person's hand-in, by its name."""
    owner = replace(mail(download.name), system="mail")
    return HandIn(owner, sorted(download.files.items()), {(): download.name})


def _top(download: Download, reader: Reader | None = None) -> Place:
    """The folder with the entries that the system has named.

    An archiver may have put a folder around it, which is then called as the download is. Any other folder that is alone
    may be that of the only student in the download; it is passed over only with a `reader` that the instructor insists
    on, and that does not know it.
    """
    place: Place = ()
    while len(entries := download.entries(place)) == 1 and download.is_folder(entries[0]):
        name = download.full_name(entries[0])
        if name != download.name and (reader is None or reader(name) is not None):
            break
        place = entries[0]
    return place


def _metadata_in(download: Download) -> Place:
    """The place of Gradescope's metadata, or () if there is none where Gradescope puts it."""
    place: Place = ()
    while (*place, METADATA) not in download.files:
        entries = download.entries(place)
        if len(entries) != 1 or not download.is_folder(entries[0]):
            return ()
        if entries[0][-1] != download.name and not EXPORT.fullmatch(entries[0][-1]):
            return ()
        place = entries[0]
    return (*place, METADATA)


def _from_gradescope(download: Download) -> Found:
    place = _metadata_in(download)
    if not place:
        raise UsageError(f"This is not an export from Gradescope: it has no {METADATA}.")
    people = _people(download.files[place])
    found, strays = [], []
    for entry in download.entries(place[:-1]):
        if entry == place:
            continue
        owners = people.get(entry[-1], [])
        # a group hands in once for all of its members
        found += [_hand_in_of(owner, download, entry) for owner in owners]
        if not owners:
            strays.append(download.full_name(entry))
    return Found(found, strays, {})


def _people(path: Path) -> dict[str, list[Owner]]:
    """The owners of each of Gradescope's folders, by its metadata. Raises UsageError."""
    try:
        data = _plain_yaml(read.read_bytes(path, most=MAX_METADATA).decode("utf-8", "replace"))
    except Unreadable as problem:
        raise UsageError(f"{METADATA}: {problem}") from None
    if not isinstance(data, dict):
        raise UsageError(f"{METADATA} is not as Gradescope writes it: export the submissions again.")
    people: dict[str, list[Owner]] = {}
    for folder, about in data.items():
        submitters = about.get(":submitters") if isinstance(about, dict) else None
        for who in submitters if isinstance(submitters, list) else ():
            if isinstance(who, dict):
                said = {key: str(who.get(f":{key}") or "").strip() for key in ("name", "email", "sid")}
                time = _utc(about.get(":created_at"))
                owner = Owner(
                    said["name"], said["email"], lms_id=said["sid"], given=str(folder), time=time, system="gradescope"
                )
                people.setdefault(str(folder), []).append(owner)
    return people


def _plain_yaml(text: str) -> object:
    """The data in a YAML file as Ruby writes it: tags that name Ruby's classes are passed over. Raises UsageError."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is fast, and not in every build
    Loader = type("Loader", (base,), {})  # with a table of tags of its own

    def plain(loader: Any, suffix: str, node: Any) -> object:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        return loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else node.value

    Loader.add_multi_constructor("", plain)
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        kind = type(problem).__name__
        raise UsageError(f"{METADATA} cannot be read ({kind}): export the submissions again.") from None


def _utc(value: object) -> datetime | None:
    """A time (UTC, without saying so, as nbgrader has it) in Gradescope's metadata, or None."""
    if isinstance(value, datetime):
        return in_utc(value) if value.tzinfo else value
    return time_of(value)
