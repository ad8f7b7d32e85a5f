"""The keys that identify people: what a system says about a person and no student can type.

A name says who somebody claims to be. A key says who they are: the e-mail address of an account, the id of a person in
a system, Moodle's number of a participant in one assignment. One rule holds for everything that is collected, whatever
system it comes from and whatever the roster says: two hand-ins of one student have the same keys, now and later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

ADDRESS, PARTICIPANT = "address", "participant"
HIDDEN = "hidden"  # set in a note of a hand-in by a person whose name the system hides
FORGOTTEN = "forgotten"  # set in a note of a hand-in that the instructor has forgotten with `--forget`
Keys: TypeAlias = dict[str, str]  # by kind: ADDRESS, PARTICIPANT, or that of a person's id, such as "canvas id"


def address(text: str) -> str:
    """An e-mail address to compare: without case, except beyond ASCII, where other letters become ASCII ones."""
    return text.lower() if text.isascii() else text


def keys_of(system: str, email: str = "", lms_id: str = "", participant: str = "") -> Keys:
    """The known keys of a person in a system."""
    said = {ADDRESS: address(email), f"{system} id": lms_id, PARTICIPANT: participant}
    return {kind: value for kind, value in said.items() if value}


def difference(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """The first key that two people have both and differ in, in words; "" if they may be one person."""
    for kind in one.keys() & other.keys():
        if one[kind] != other[kind]:
            return f"{kind} {one[kind]} and {kind} {other[kind]}"
    return ""


class Noted:
    """The keys noted of everybody's earlier hand-ins.

    `notes` are what `collect` noted, by assignment and student. A participant's number holds for `assignment` alone,
    of which `here` has the keys of each student.
    `forget` holds students with changed keys, as the instructor says.
    """

    def __init__(
        self,
        notes: Mapping[str, Mapping[str, Mapping[str, Any]]],
        assignment: str,
        forget: Collection[str] = (),
    ) -> None:
        mine = notes.get(assignment, {}).items()
        self.here = {student: keys for student, note in mine if student not in forget and (keys := keys_in(note))}
        self.keys: dict[str, dict[str, set[str]]] = {}
        for name, of_students in notes.items():
            for student, note in of_students.items():
                for kind, value in keys_in(note).items():
                    if student not in forget and (kind != PARTICIPANT or name == assignment):
                        self.keys.setdefault(student, {}).setdefault(kind, set()).add(value)
        self._students: dict[tuple[str, str], set[str]] = {}
        for student, kinds in self.keys.items():
            for kind, values in kinds.items():
                for value in values:
                    self._students.setdefault((kind, value), set()).add(student)

    def students(self, kind: str, value: str) -> set[str]:
        """The students of whom this key was noted."""
        return self._students.get((kind, value), set())

    def difference(self, student: str, keys: Mapping[str, str]) -> str:
        """The key in which somebody differs from a student's noted keys, in words; "" if in none."""
        for kind, value in keys.items():
            before = self.keys.get(student, {}).get(kind)
            if before and value not in before:
                return f"{kind} {value}, and before it was {kind} {' or '.join(sorted(before))}"
        return ""


def keys_in(note: Mapping[str, Any]) -> Keys:
    """The keys in what `collect` noted of a hand-in; none if the instructor has said since that they are others'.

    None either if the name was hidden: the number is somebody else's as soon as the names are shown.
    """
    if note.get(FORGOTTEN) or note.get(HIDDEN):
        return {}
    said = {name: text for name in ("email", "lms_id", "participant") if isinstance(text := note.get(name), str)}
    return keys_of(str(note.get("system", "")), **said)


def first_difference(people: Iterable[Mapping[str, str]]) -> str:
    """In which key two of these people differ, in words; "" if all may be one person."""
    seen: Keys = {}
    for keys in people:
        if found := difference(seen, keys):
            return found
        seen.update(keys)
    return ""
