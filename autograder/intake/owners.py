"""Finds the owner of a collected file: the student in the outermost name that matches the instructor's pattern.

The course's system names what lies in the `archive_directory`, and what lies in an archive of a whole class: these are
the items. The names inside an item were chosen by a student, who may have used another student's name. So a file is
assigned to a student

1. by the item's name, if the pattern finds the student there;
2. or by a name inside the item, if the item's name begins with the student's name: then nothing in it belongs to
   anybody else. A student's name later in the item's name is a weaker reason;
3. or by a name inside the item alone, if only one item holds something of the student.

Only the best of these reasons counts for a student. If several items have an equally good claim, neither is taken,
unless the course's system says when each was handed in. An archive of a whole class is one that the instructor declares
as such, or the only one there is, if its name is no student's. Only files that surely belong to a student (by 1 or 2,
and not from a class archive that the instructor did not declare) replace what was collected before. If the pattern
finds a key of the person, too (`identity.py`: an address, an id, a participant's number), nothing is taken that differs
in it from what else there is of the student, now or before.
"""

from __future__ import annotations

import functools
import math
import os
import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

from ..submission.times import time_of
from ..verdict import is_printable
from .identity import Keys, Noted, first_difference, keys_of

MAX_NAME = 255  # bytes in a name: the limit of common file systems
K = TypeVar("K", bound=Hashable)
Place: TypeAlias = tuple[str, ...]  # the parts of a path
Info: TypeAlias = dict[str, Any]  # what a Pattern finds, by the names of its groups
EARLIER = "earlier"  # key in an Info: another student whom the same name names earlier
SYSTEM = "zip_collect"  # the system of the ids in `lms_id`
KEYS = ("email", "lms_id", "participant")  # groups of a Pattern that tell people apart
GROUPS = ("student_id", "first_name", "last_name", "timestamp", *KEYS)


def is_plain(name: str) -> bool:
    """Whether the name stays within its folder and can be printed."""
    return 0 < len(name.encode("utf-8", "replace")) <= MAX_NAME and is_printable(name) and not re.search(r"^\.|/", name)


class Pattern:
    """The instructor's pattern for the paths of notebooks; `notebook` is the name that they should have."""

    def __init__(self, named_regexp: str, notebook: str) -> None:
        self.expression = re.compile(named_regexp)
        self.notebook = f"{notebook}.ipynb"
        self.names_students = {"student_id", "file_id"} <= self.expression.groupindex.keys()

    def of_file(self, root: str, parts: Place) -> Info | None:
        """What the pattern finds in the path of a file below `root`, or None."""
        path = "/".join((root, *parts))
        return self._found(path, root, path)

    def of_folder(self, root: str, parts: Place) -> Info | None:
        """What the pattern finds in the path of a folder or archive, as if that were the notebook or contained it."""
        path = "/".join((root, *parts))
        return self._found(f"{path}/{self.notebook}", root, path) or self._found(f"{path}.ipynb", root, path)

    def file_id(self, root: str, parts: Place, name: str) -> str:
        """The name that the pattern finds for the notebook `name` in a student's folder."""
        path = "/".join((root, *parts))
        match = self.expression.match(f"{path}/{name}")
        if match and match["file_id"] and 0 <= match.end("student_id") <= len(path) <= match.start("file_id"):
            return match["file_id"]
        return name

    def _found(self, text: str, root: str, path: str) -> Info | None:
        """What the pattern finds in a text, if the student's name lies within `path` and below `root`."""
        match = self.expression.match(text)
        if not match or not match["student_id"] or not match["file_id"] or "/" in match["student_id"]:
            return None
        if not len(root) < match.start("student_id") <= match.end("student_id") <= len(path):
            return None
        said = [key for key in GROUPS if key in self.expression.groupindex and match.end(key) <= len(path)]
        return {**{key: match[key] for key in said}, "file_id": match["file_id"], EARLIER: self._earlier(match)}

    def _earlier(self, match: re.Match[str]) -> str | None:
        """A student whom the same name names before the one found, and who may have written the rest of the name."""
        before = match.string[: match.start("student_id")]
        earlier = self.expression.match(before + self.notebook)
        if earlier and earlier["student_id"] and before.rfind("/") < earlier.start("student_id") < len(before):
            return earlier["student_id"]
        return None


@dataclass(frozen=True)
class Origin:
    """Where a file comes from: the parts of its path, and how many of them name an entry of the `archive_directory`."""

    parts: Place
    outermost: int

    def below(self, path: PurePath) -> Origin:
        """The Origin of what lies below this one at the relative path."""
        return Origin(self.parts + path.parts, self.outermost)


@dataclass
class Claim:
    """The claim that a file in an item belongs to a student; the smaller the rank, the better the reason.

    `sure`: the file may replace what was collected before.
    """

    path: str
    origin: Origin
    info: Info
    item: Place
    rank: float
    sure: bool

    @property
    def student(self) -> str:
        return self.info["student_id"]

    @property
    def keys(self) -> Keys:
        """What the course's system says of the person, if the pattern finds it."""
        return keys_of(SYSTEM, **{key: self.info.get(key) or "" for key in KEYS})


BY_ITEM, BY_FIRST_WORD, BY_NOTHING = 0, 1, math.inf


class Owners:
    """Decides on the files `found`, {path: Origin}: by path, `infos` for nbgrader or `problems` of files left out.

    `remarks` are sentences for the instructor. `class_archives` are patterns for the names of archives that hold a
    whole class. `has_submitted` tells whether something of a student was collected before, `is_student` whether
    somebody is known to be one. `noted` are the keys noted of earlier hand-ins.
    """

    def __init__(
        self,
        pattern: Pattern,
        root: str,
        found: dict[str, Origin],
        class_archives: Sequence[str] = (),
        has_submitted: Callable[[str], bool] = lambda student: False,
        is_student: Callable[[str], bool] = lambda student: False,
        noted: Noted | None = None,
    ) -> None:
        self.pattern, self.root, self.class_archives = pattern, root, class_archives
        self.has_submitted, self.is_student = has_submitted, is_student
        self.noted = noted or Noted({}, "")
        self.infos: dict[str, Info] = {}
        self.problems: dict[str, str] = {}
        self.remarks: list[str] = []
        self.children: dict[Place, set[str]] = {}
        for origin in found.values():
            for length in range(len(origin.parts)):
                self.children.setdefault(origin.parts[:length], set()).add(origin.parts[length])
        self.origins = list(found.values())
        claims = [claim for path, origin in sorted(found.items()) if (claim := self._claim(path, origin))]
        claims = self._of_one_person(claims)
        claims = self._without_others_names(claims)
        claims = self._with_the_best_reason(claims)
        claims = self._beside_what_was_collected(claims)
        self._choose(claims)

    # --- by which name ----------------------------------------------------------------------------

    def _claim(self, path: str, origin: Origin) -> Claim | None:
        """The Claim on a file by the outermost name that names a student, or None."""
        archive = self._class_archive(origin.parts[0])
        outside = len(archive)
        place, info = self._outermost_named(origin, outside)
        if info is None:
            return None
        self._remark_on(place, info["student_id"])
        if info[EARLIER] is not None:
            self.problems[path] = (
                f"its name names two students, {info[EARLIER]} and {info['student_id']}: rename it in the"
                " archive directory, or make the pattern more precise about where a student's name is"
            )
            return None
        info = {key: value for key, value in info.items() if key != EARLIER}
        if len(place) < len(origin.parts):
            info["file_id"] = self.pattern.file_id(self.root, place, origin.parts[-1])
        item = origin.parts[: max(origin.outermost, outside + 1)]
        by_item = len(place) <= len(item)
        declared = self._is_declared(origin.parts[0]) and not any(
            self._named(archive[: n + 1]) for n in range(1, outside)
        )
        sure = by_item and (len(place) <= origin.outermost or declared)
        return Claim(path, origin, info, item, BY_ITEM if by_item else BY_NOTHING, sure)

    def _outermost_named(self, origin: Origin, outside: int) -> tuple[Place, Info | None]:
        """(the outermost place that names a student, its Info) on a file's path, after the first `outside` parts."""
        for length in range(outside + 1, len(origin.parts) + 1):
            if info := self._named(origin.parts[:length]):
                return origin.parts[:length], info
        return (), None

    @functools.cache  # noqa: B019  this object is used once, so the cache may keep it
    def _named(self, place: Place) -> Info | None:
        if place in self.children:
            return self.pattern.of_folder(self.root, place)
        return self.pattern.of_file(self.root, place)

    def _is_declared(self, top: str) -> bool:
        """Whether the instructor declares it a whole class's archive; `top` is an archive's name without its suffix."""
        names = {name for declared in self.class_archives for name in (declared, ARCHIVE_SUFFIX.sub("", declared))}
        return (top,) in self.children and any(fnmatchcase(top, name) for name in names)

    @functools.cache  # noqa: B019
    def _class_archive(self, top: str) -> Place:
        """The place that holds the items of a whole class; () if `top` is an item itself."""
        place = (top,)
        if place not in self.children:
            return ()
        if not self._is_declared(top) and (len(self.children[()]) > 1 or self._is_somebodys(place)):
            return ()
        while len(self.children[place]) == 1:
            inner = (*place, *self.children[place])
            if inner not in self.children or self._is_somebodys(inner):
                break
            place = inner
        return place

    def _is_somebodys(self, place: Place) -> bool:
        """Whether `place`, the only one there is, belongs to one student."""
        named = self._named(place)
        if not named:
            return self._begins_with_one_of_its_students(place)
        owner, inside = named["student_id"], self._inside(place)
        # a loose pattern finds a student in any name, but a time or an address only where a system has named a hand-in
        tells_more = any(key in named for key in GROUPS if key != "student_id")
        if owner in inside or len(inside) < 2 or tells_more or self.is_student(owner):
            return True
        self.remarks.append(
            f"{'/'.join(place)} is taken for a whole class's, not for the hand-in of the student {owner}: there is"
            " nothing else, and it holds folders or files of several students"
        )
        return False

    def _inside(self, place: Place) -> set[str]:
        """The students named by the entries directly in a place."""
        return {info["student_id"] for name in self.children.get(place, ()) if (info := self._named((*place, name)))}

    def _begins_with_one_of_its_students(self, place: Place) -> bool:
        named = [self._outermost_named(o, len(place))[1] for o in self.origins if o.parts[: len(place)] == place]
        return _first_of({info["student_id"] for info in named if info}, place[-1])[0] == 0

    @functools.cache  # noqa: B019
    def _remark_on(self, place: Place, owner: str) -> None:
        """Remark that a place that is taken as the student `owner`'s may be a whole class's."""
        inside = self._inside(place)
        if len(inside) > 1 and owner not in inside:
            self.remarks.append(
                f"{'/'.join(place)} is taken for the hand-in of the student {owner}: if it holds a whole class, name it"
                " in SafeCollector.class_archives"
            )

    # --- between several that name one student ----------------------------------------------------

    def _of_one_person(self, claims: list[Claim]) -> list[Claim]:
        """The claims, without those with keys that differ from the student's noted ones, or from each other.

        Without a key that can be compared with those of the hand-in before, a name does not replace it.
        """
        kept = []
        for claim in claims:
            if differs := self.noted.difference(claim.student, claim.keys):
                self._leave_out(claim, f"it would be {claim.student}'s, but it has {differs}")
            elif (before := self.noted.here.get(claim.student)) and not before.keys() & claim.keys.keys():
                said = " and ".join(f"{kind} {value}" for kind, value in before.items())
                self._leave_out(
                    claim,
                    f"it is {claim.student}'s by its name alone, and what was handed in before came with {said}: let"
                    " the pattern find that, too, or use `autograder collect`",
                )
            else:
                kept.append(claim)
        for student, mine in _grouped(kept, lambda claim: claim.student).items():
            if differs := first_difference(claim.keys for claim in mine):
                items = sorted({"/".join(claim.item) for claim in mine})
                for claim in mine:
                    both = f"{' and '.join(items[:2])} may be of two people ({differs})"
                    self._leave_out(claim, f"{both}, and both would be {student}: neither is taken")
                kept = [claim for claim in kept if claim.student != student]
        return kept

    def _without_others_names(self, claims: list[Claim]) -> list[Claim]:
        """The claims, without files named after one student in an item named after another."""
        kept = [claim for claim in claims if claim.rank == BY_ITEM]
        for item, inside in _grouped((c for c in claims if c.rank != BY_ITEM), lambda claim: claim.item).items():
            at, own = _first_of({claim.student for claim in inside}, item[-1])
            for claim in inside:
                if own and _words(claim.student) != own:
                    self._leave_out(claim, f"it is named after {claim.student}, and lies in what is {' '.join(own)}'s")
                    continue
                if own:
                    claim.rank, claim.sure = BY_FIRST_WORD + at, at == 0
                kept.append(claim)
        return kept

    def _with_the_best_reason(self, claims: list[Claim]) -> list[Claim]:
        """The claims with the best reason for each student; without a real reason, only if all are from one item."""
        kept = []
        for student, mine in _grouped(claims, lambda claim: claim.student).items():
            best = min(claim.rank for claim in mine)
            chosen = [claim for claim in mine if claim.rank == best]
            if best == BY_NOTHING and len({claim.item for claim in chosen}) > 1:
                chosen = []  # the items may be a class's and a student's, or two students'
            if chosen:
                others = f"{student}'s own is in {'/'.join(chosen[0].item)}"
            else:
                others = (
                    self._both(mine, "something", lambda claim: claim.item)
                    + ", or name that of a whole class in SafeCollector.class_archives"
                )
            kept += chosen
            taken = {claim.path for claim in chosen}
            for claim in mine:
                if claim.path not in taken:
                    self._leave_out(claim, others)
        return kept

    def _beside_what_was_collected(self, claims: list[Claim]) -> list[Claim]:
        """The claims, without unsure ones for students of whom something was collected before."""
        before = {student for student in {c.student for c in claims if not c.sure} if self.has_submitted(student)}
        kept = []
        for claim in claims:
            if claim.sure or claim.student not in before:
                kept.append(claim)
                continue
            self._leave_out(
                claim,
                f"something of {claim.student} was collected before, and only what is surely {claim.student}'s replaces"
                f" it: if {claim.origin.parts[0]} holds a whole class, name it in SafeCollector.class_archives",
            )
        return kept

    def _choose(self, claims: list[Claim]) -> None:
        """Choose one file per place in a student's folder: the latest or, in one item without times, the outermost."""

        def place(claim: Claim) -> tuple[str, str, str]:
            return claim.student, os.path.splitext(claim.info["file_id"])[0], os.path.splitext(claim.path)[1]

        for rivals in _grouped(claims, place).values():
            rivals.sort(key=lambda claim: (len(claim.origin.parts), claim.origin.parts))
            best = _right_in_the_item(rivals) if rivals[0].rank == BY_NOTHING else rivals
            times = [time_of(claim.info.get("timestamp")) for claim in best]
            known = [time for time in times if time is not None]
            from_several = len({_author(claim) for claim in best}) > 1
            if from_several and (len(known) < len(times) or best[0].rank != BY_ITEM):
                both = self._both(rivals, rivals[0].info["file_id"], _author)
                for claim in rivals:
                    self._leave_out(claim, both)
                continue
            chosen = best[0] if len(known) < len(times) else best[times.index(max(known))]
            self.infos[chosen.path] = chosen.info
            for claim in rivals:
                if claim is not chosen:
                    self._leave_out(claim, f"{claim.student} has another of that name, which is taken: {chosen.path}")

    def _both(self, claims: list[Claim], what: str, place: Callable[[Claim], Place]) -> str:
        items = sorted({"/".join(place(claim)) for claim in claims})
        student = claims[0].student
        return (
            f"{' and '.join(items[:2])} both hold {what} of {student}, and nothing shows which is {student}'s: collect"
            " one without the other"
        )

    def _leave_out(self, claim: Claim, problem: str) -> None:
        self.problems[claim.path] = problem


ARCHIVE_SUFFIX = re.compile(r"(\.tar)?\.\w+$")


def _right_in_the_item(claims: list[Claim]) -> list[Claim]:
    """The claims on files directly in their item, which may be a class's; all of the claims if there are none."""
    return [claim for claim in claims if len(claim.origin.parts) == len(claim.item) + 1] or claims


def _author(claim: Claim) -> Place:
    """The place in which one student has chosen the names: the item, or a folder or archive in a class's."""
    inner = claim.origin.parts[: len(claim.item) + 1]
    return inner if claim.rank == BY_NOTHING and len(inner) < len(claim.origin.parts) else claim.item


def _grouped(claims: Iterable[Claim], key: Callable[[Claim], K]) -> dict[K, list[Claim]]:
    groups: dict[K, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(key(claim), []).append(claim)
    return groups


def _words(name: str) -> Place:
    """The words of a name, ignoring case, separators and Unicode form: archive names are often typed by other hands."""
    return tuple(re.findall(r"[^\W_]+", unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())))


def _first_of(students: Iterable[str], name: str) -> tuple[int, Place]:
    """(index of the word at which a name first names one of these students, the words of the longest such name).

    (-1, ()) if it names none of them.
    """
    known, words = {_words(student) for student in students}, _words(name)
    longest = max(map(len, known), default=0)
    for at in range(len(words)):
        for end in range(min(len(words), at + longest), at, -1):
            if words[at:end] in known:
                return at, words[at:end]
    return -1, ()
