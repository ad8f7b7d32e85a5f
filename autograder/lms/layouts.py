"""How Moodle, Canvas and Gradescope lay out the hand-ins that they let an instructor download, and whose each one is.

The names are those that the systems' own code gives and reads back:

- Moodle: a folder `Ada Lovelace_4711_assignsubmission_file` for each student (with `_` at its end before 4.1), or flat
  files with that prefix. 4711 is the student's number in this one assignment. mod/assign/classes/downloader.php writes
  them, mod/assign/feedback/file/importziplib.php reads them; https://docs.moodle.org/en/Using_Assignment.
- Canvas: flat files `lovelaceada_LATE_123_456_name.ipynb`: the sortable name, LATE if it is, the user's id, the file's
  id. lib/content_zipper.rb writes them; `infer_comment_context_from_filename` in app/models/abstract_assignment.rb
  reads them, by the first two parts that are numbers. Anonymous ones begin with `anon_a1B2c` or `LATE_anon_a1B2c`.
- Gradescope: folders `submission_123` beside a `submission_metadata.yml`, which says who handed each in, and when
  (https://guides.gradescope.com, "Export Submissions").
- Mail: a folder, or a file, that is called after the student; or a message as mail programs save it, `x.eml`, whose
  sender is the student, by the address: names and subjects are the sender's own choice.

Only the names that a system gave are read: the outermost ones. Those below were chosen by a student.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import Unreadable, UsageError
from ..nbgrader import messages
from ..submission import read
from ..submission.times import time_of

Place: TypeAlias = tuple[str, ...]  # the parts of a path
METADATA = "submission_metadata.yml"
EXPORT = re.compile(r"assignment_\d+_export")  # the folder in Gradescope's archive
MAX_METADATA = 64 * 2**20  # bytes: it holds the results of Gradescope's own autograder, too
SYSTEMS = ("moodle", "canvas", "gradescope", "mail")
GROUPS = ("student_id", "name", "email", "lms_id", "participant", "late", "time")  # that a pattern may name

MOODLE = re.compile(r"(?P<name>[^_]*)_(?P<participant>\d{1,18})_assignsubmission_[a-z]+(?:_|$)")
ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<name>anon_[0-9A-Za-z]+)(?=_\d+_.)")
TYPED = re.compile(r"(?P<name>[^\W_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?:text|link)\.html")  # into Canvas's own page
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
COPY = re.compile(r"\s*\(\d+\)$|-\d+$")  # what browsers and Canvas add to a name that they have seen before


@dataclass(frozen=True)
class Owner:
    """What a system tells of somebody who handed in; what it does not tell is empty.

    `lms_id` is the person's id in the system, `participant` Moodle's number, which holds for one assignment. `given` is
    the name that the system has for the whole: a folder, or the prefix of a flat file. `is_text`: `name` may hold more
    than a name. `is_sender`: somebody sent a message, and chose the `name`.
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

    @property
    def shown(self) -> str:
        """How to name this person to the instructor."""
        if self.is_sender:
            return f"{self.given} (from {' '.join(filter(None, (self.name, self.email))) or 'nobody'})"
        return self.given or self.name or self.email or self.student_id


@dataclass
class HandIn:
    """The files that one person handed in: pairs of the place in the download and the path of the unpacked file.

    `names` are what the system calls the entries of the download that they were in, by place.
    """

    owner: Owner
    files: list[tuple[Place, Path]] = field(default_factory=list)
    names: dict[Place, str] = field(default_factory=dict)


@dataclass
class Download:
    """What was unpacked of one download: paths by place; the full names of the archives in it, and paths of messages.

    `name` is that of the download itself, without a suffix.
    """

    files: dict[Place, Path]
    archives: Mapping[Place, str] = field(default_factory=dict)
    messages: Mapping[Place, Path] = field(default_factory=dict)
    name: str = ""

    def entries(self, inside: Place = ()) -> list[Place]:
        """The places directly in a folder, in order."""
        depth = len(inside)
        return sorted({place[: depth + 1] for place in self.files if place[:depth] == inside and len(place) > depth})

    def is_folder(self, place: Place) -> bool:
        return place not in self.files

    def below(self, place: Place) -> list[tuple[Place, Path]]:
        """The files at or below a place, in order."""
        return sorted(item for item in self.files.items() if item[0][: len(place)] == place)

    def full_name(self, place: Place) -> str:
        """The name of an entry in the download: an archive's with its suffix, which its unpacked folder lacks."""
        return self.archives.get(place, place[-1])


Reader: TypeAlias = Callable[[str], Owner | None]  # from the name of an entry to its owner


# --- the systems' names ---------------------------------------------------------------------------


def moodle(name: str) -> Owner | None:
    """The owner of a folder or flat file of Moodle's, or None."""
    found = MOODLE.match(name)
    return Owner(found["name"].strip(), participant=found["participant"], given=found[0]) if found else None


def canvas(name: str) -> Owner | None:
    """The owner of a file of Canvas's, or None. `given` is its name up to the person's id."""
    if anonymous := ANONYMOUS.match(name):
        return Owner(anonymous["name"], given=anonymous[0], late=bool(anonymous["late"]))
    if text := TYPED.fullmatch(name):
        return Owner(text["name"], lms_id=text["id"], given=name, late=bool(text["late"]))
    parts = name.split("_")
    numbers = [i for i, part in enumerate(parts) if part.isascii() and part.isdigit()]
    if len(numbers) < 2 or numbers[1] != numbers[0] + 1 or numbers[0] == 0 or len(parts) == numbers[1] + 1:
        return None
    late = parts[numbers[0] - 1] == "LATE"
    person = "_".join(parts[: numbers[0] - late])
    if not person:
        return None
    return Owner(person, lms_id=parts[numbers[0]], given="_".join(parts[: numbers[0] + 1]), late=late)


def mail(name: str) -> Owner:
    """The owner of a folder or file of e-mailed hand-ins: it is called after them, perhaps with more behind."""
    address = ADDRESS.search(name)
    shown = COPY.sub("", ADDRESS.sub("", name).replace("<>", "").strip())
    return Owner(shown, address[0] if address else "", given=name, is_text=True)


def sender(name: str, path: Path, reader: Reader) -> Owner | None:
    """The owner of a saved message: its sender, unless the `reader` of an instructor's pattern says who it is.

    A pattern is held against the name of its file, and then against its subject.
    """
    said = messages.sender(path)
    if reader is mail:
        return Owner(said.name, said.address, given=name, time=said.time, is_sender=True)
    owner = reader(name) or reader(said.subject)
    return owner and replace(owner, given=name, time=owner.time or said.time)


def by_pattern(pattern: str) -> Reader:
    """A Reader for names that match the instructor's pattern as a whole. Raises UsageError."""
    try:
        expression = re.compile(pattern)
    except re.error as problem:
        raise UsageError(f"--pattern is no regular expression ({problem}).") from None
    known = set(GROUPS) & expression.groupindex.keys()
    if not known - {"late", "time"}:
        raise UsageError(
            "--pattern must name whose a file is by one of the groups student_id, name, email, lms_id or participant,"
            " such as (?P<name>.+)-hw2.*"
        )

    def owner(name: str) -> Owner | None:
        found = expression.fullmatch(name)
        said: dict[str, Any] = {key: found[key] for key in known if found[key]} if found else {}
        if not said.keys() - {"late", "time"}:
            return None
        if "time" in said:
            said["time"] = time_of(said["time"])
        return Owner(**{**said, "late": bool(said.get("late"))}, given=name)

    return owner


# --- whose is what --------------------------------------------------------------------------------


def system_of(download: Download) -> str:
    """The system that a download comes from, by the names of its entries."""
    if _metadata_in(download):
        return "gradescope"
    for name, reader in (("moodle", moodle), ("canvas", canvas)):
        entries = [entry for entry in download.entries(_top(download)) if entry not in download.messages]
        if sum(reader(download.full_name(entry)) is not None for entry in entries) * 2 >= max(1, len(entries)):
            return name
    return "mail"


def hand_ins(
    download: Download, system: str, pattern: str | None = None, insists: bool = False
) -> tuple[list[HandIn], list[str]]:
    """(what was handed in, the names of the entries that belong to nobody). Raises UsageError.

    `insists`: the instructor has said which system it is.
    """
    if pattern is None and system == "gradescope":
        return _from_gradescope(download)
    reader = by_pattern(pattern) if pattern else {"moodle": moodle, "canvas": canvas, "mail": mail}[system]
    found: dict[Owner, HandIn] = {}
    strays = []
    for entry in download.entries(_top(download, reader if pattern or (insists and reader is not mail) else None)):
        name = entry[-1] if reader is mail else download.full_name(entry)
        message = download.messages.get(entry) if pattern or reader is mail else None
        owner = sender(name, message, reader) if message else reader(name)
        if owner is None:
            strays.append(name)
            continue
        # a person's flat files and folders are one hand-in
        same = found.setdefault(replace(owner, given=owner.given if reader is mail else ""), HandIn(owner))
        same.files += download.below(entry)
        same.names[entry] = name
    return list(found.values()), strays


def _top(download: Download, reader: Reader | None = None) -> Place:
    """The folder whose entries the system has named.

    An archiver may have put a folder around it, which is then called as the download is. Any other folder that is alone
    may be that of the only student in the download; it is passed over only with a `reader` that the instructor insists
    on, and that does not know it.
    """
    place: Place = ()
    while len(entries := download.entries(place)) == 1 and download.is_folder(entries[0]):
        name = download.full_name(entries[0])
        if entries[0] in download.messages:
            break  # what is in it was named by a student
        if name != download.name and (reader is None or reader(name) is not None):
            break
        place = entries[0]
    return place


def _metadata_in(download: Download) -> Place:
    """The place of Gradescope's metadata, or () if there is none where Gradescope puts it."""
    place: Place = ()
    while (*place, METADATA) not in download.files:
        entries = download.entries(place)
        if len(entries) != 1 or not (entries[0][-1] == download.name or EXPORT.fullmatch(entries[0][-1])):
            return ()
        place = entries[0]
    return (*place, METADATA)


def _from_gradescope(download: Download) -> tuple[list[HandIn], list[str]]:
    place = _metadata_in(download)
    if not place:
        raise UsageError(f"This is no export of Gradescope's: it has no {METADATA}.")
    people = _people(download.files[place])
    found, strays = [], []
    for entry in download.entries(place[:-1]):
        if entry == place:
            continue
        owners = people.get(entry[-1], [])
        # a group hands in once for all of its members
        found += [HandIn(owner, download.below(entry), {entry: entry[-1]}) for owner in owners]
        if not owners:
            strays.append(download.full_name(entry))
    return found, strays


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
                owner = Owner(said["name"], said["email"], lms_id=said["sid"], given=str(folder), time=time)
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
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return time_of(value)
