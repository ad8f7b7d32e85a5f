"""Whose a collected file is: found in the outermost name by which the instructor's pattern names a student.

The outermost names are those of the course's system; what lies in an archive or a folder of a student's is named by
that student, who may name it after another.
"""

import functools
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .times import time_of

MAX_NAME = 200
GROUPS = ("student_id", "first_name", "last_name", "email", "timestamp")


def is_plain(name):
    """Whether it is the name of something within a folder, and can be shown."""
    return 0 < len(name.encode("utf-8", "replace")) <= MAX_NAME and name.isprintable() and not re.search(r"^\.|/", name)


class Pattern:
    """The instructor's pattern for paths of notebooks; `notebook` is the name that they should have."""

    def __init__(self, named_regexp, notebook):
        self.expression = re.compile(named_regexp)
        self.notebook = f"{notebook}.ipynb"
        self.names_students = {"student_id", "file_id"} <= self.expression.groupindex.keys()

    def of_file(self, root, parts):
        """What the pattern finds in the path of a file below `root`, or None."""
        path = "/".join((root, *parts))
        return self._found(path, root, path)

    def of_folder(self, root, parts):
        """What the pattern finds in the path of a folder or an archive: as if it held the notebook, or were it."""
        path = "/".join((root, *parts))
        return self._found(f"{path}/{self.notebook}", root, path) or self._found(f"{path}.ipynb", root, path)

    def file_id(self, root, parts, name):
        """What the pattern takes for the name of the notebook `name` in a folder of a student's."""
        path = "/".join((root, *parts))
        match = self.expression.match(f"{path}/{name}")
        if match and match["file_id"] and 0 <= match.end("student_id") <= len(path) <= match.start("file_id"):
            return match["file_id"]
        return name

    def _found(self, text, root, path):
        """What the pattern finds in a text, if it names a student within `path` and below `root`."""
        match = self.expression.match(text)
        if not match or not match["student_id"] or not match["file_id"] or "/" in match["student_id"]:
            return None
        if not len(root) < match.start("student_id") <= match.end("student_id") <= len(path):
            return None
        said = [key for key in GROUPS if key in self.expression.groupindex and match.end(key) <= len(path)]
        return {**{key: match[key] for key in said}, "file_id": match["file_id"]}


@dataclass(frozen=True)
class Origin:
    """Where a file comes from: parts of a path, and how many of them name what lies in the `archive_directory`."""

    parts: tuple
    outermost: int

    def below(self, path):
        """The Origin of what lies there by this path."""
        return Origin(self.parts + path.parts, self.outermost)


@dataclass
class Claim:
    """A student to whom a file is said to belong; `sure` if what lies in the `archive_directory` says so itself."""

    path: str
    origin: Origin
    info: dict
    sure: bool

    @property
    def student(self):
        return self.info["student_id"]

    @property
    def outermost(self):
        return self.origin.parts[: self.origin.outermost]


class Owners:
    """Decides on the files `found`, {path: Origin}: by path, `infos` for nbgrader and `problems` of what is left out.

    `remarks` are sentences for the instructor. `class_archives` are patterns for names of archives that hold a whole
    class.
    """

    def __init__(self, pattern, root, found, class_archives=()):
        self.pattern, self.root, self.class_archives = pattern, root, class_archives
        self.infos, self.problems, self.remarks = {}, {}, []
        self.children = {}
        for origin in found.values():
            for length in range(len(origin.parts)):
                self.children.setdefault(origin.parts[:length], set()).add(origin.parts[length])
        claims = [claim for path, origin in sorted(found.items()) if (claim := self._claim(path, origin))]
        claims = self._without_others_names(claims)
        claims = self._from_one_place(claims)
        self._choose(claims)

    # --- by which name ----------------------------------------------------------------------------

    def _claim(self, path, origin):
        """The Claim on a file by the outermost name that names a student, or None."""
        for length in range(1, len(origin.parts) + 1):
            place = origin.parts[:length]
            info = self._named(place)
            if info and not self._is_passed_over(place):
                if length < len(origin.parts):
                    info = {**info, "file_id": self.pattern.file_id(self.root, place, origin.parts[-1])}
                return Claim(path, origin, info, sure=length <= origin.outermost)
        return None

    @functools.cache  # noqa: B019  as long as this object, which is used once
    def _named(self, place):
        if place in self.children:
            return self.pattern.of_folder(self.root, place)
        return self.pattern.of_file(self.root, place)

    @functools.cache  # noqa: B019
    def _is_passed_over(self, place):
        """Whether what would be a student's by its name is a whole class's: all lies in it, and of several students."""
        if len(place) == 1 and any(fnmatchcase(place[0], name) for name in self.class_archives):
            return True
        inside = {info["student_id"] for name in self.children.get(place, ()) if (info := self._named((*place, name)))}
        if len(inside) < 2:
            return False
        if len(self.children[place[:-1]]) == 1:
            return True
        owner = self._named(place)["student_id"]
        if owner not in inside:
            self.remarks.append(
                f"{'/'.join(place)} is taken for what the student {owner} handed in: if it holds a whole class, name it"
                " in SafeCollector.class_archives"
            )
        return False

    # --- between several that name one student ----------------------------------------------------

    def _without_others_names(self, claims):
        """Without what lies in an archive that is named after one student, and is named after another."""
        places = {claim.outermost for claim in claims}
        named = {place: {c.student for c in claims if c.outermost == place} for place in places}
        kept = []
        for claim in claims:
            own = {s for s in named[claim.outermost] if _is_word(s, claim.outermost[-1])} if len(places) > 1 else set()
            if own and not claim.sure and claim.student not in own:
                self._leave_out(claim, f"it is named after {claim.student}, and lies in what is {min(own)}'s")
            else:
                claim.sure = claim.sure or claim.student in own
                kept.append(claim)
        return kept

    def _from_one_place(self, claims):
        """A student's files come from what is surely the student's, or else from one place alone."""
        by_student = {}
        for claim in claims:
            by_student.setdefault(claim.student, []).append(claim)
        kept = []
        for student, mine in by_student.items():
            sure = [claim for claim in mine if claim.sure]
            if sure:
                others = f"{student}'s own is in {'/'.join(sure[0].outermost)}"
            else:
                places = sorted({"/".join(claim.outermost) for claim in mine})
                sure = mine if len(places) == 1 else []
                others = (
                    f"{' and '.join(places[:2])} both hold something of {student}, and nothing tells which is"
                    f" {student}'s: collect one without the other"
                )
            kept += sure
            for claim in mine:
                if claim not in sure:
                    self._leave_out(claim, others)
        return kept

    def _choose(self, claims):
        """One file for each place in a student's folder: the latest or, where there are no times, the outermost."""
        by_place = {}
        for claim in claims:
            place = claim.student, os.path.splitext(claim.info["file_id"])[0], os.path.splitext(claim.path)[1]
            by_place.setdefault(place, []).append(claim)
        for rivals in by_place.values():
            rivals.sort(key=lambda claim: (len(claim.origin.parts), claim.origin.parts))
            times = [time_of(claim.info.get("timestamp")) for claim in rivals]
            chosen = rivals[0] if None in times else rivals[times.index(max(times))]
            self.infos[chosen.path] = chosen.info
            for claim in rivals:
                if claim is not chosen:
                    self._leave_out(claim, f"{claim.student} has another of that name, which is taken: {chosen.path}")

    def _leave_out(self, claim, problem):
        self.problems[claim.path] = problem


def _is_word(student, name):
    return re.search(rf"(?<![^\W_]){re.escape(student)}(?![^\W_])", name) is not None
