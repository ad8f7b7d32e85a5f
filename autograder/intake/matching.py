"""Finds the student who handed something in: by keys first, and by a name only where no key says otherwise.

A key is what a system says of a person (`intake/identity.py`): on the roster, or noted of an earlier hand-in. A name
is what people call themselves. So a name decides only for somebody without known keys, and never for the
sender of a message.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import people
from .depths import Named
from .identity import ADDRESS, PARTICIPANT, Noted, address
from .layouts import WITH_IDS

if TYPE_CHECKING:
    from .layouts import Owner
    from .people import Roster, Student

TYPED = ("moodle id", "gradescope id")  # unlike Canvas's, students may type these into their profile
KEY, NAME, BEGINNING = "key", "name", "beginning"


@dataclass(frozen=True)
class Match:
    """The student who handed in, found `by` KEY, NAME or BEGINNING; or "" and `why` there is none.

    `may_be` are the students it may be. `owner` is what was read of the name, if that can be read in several ways.
    """

    owner: Owner
    student: str = ""
    by: str = ""
    why: str = ""
    may_be: tuple[str, ...] = ()


class Matcher:
    """Finds students on the roster, and among those of whom something was noted.

    `titles` are names of assignments: what begins with one is not called after a student with the id `01`.
    """

    def __init__(self, roster: Roster, noted: Noted, titles: Iterable[str] = ()) -> None:
        self.roster, self.noted = roster, noted
        self.titles = {people.words(title) for title in titles}

    @functools.cache  # noqa: B019  this object is used for one run of the command
    def named(self, owner: Owner) -> Named:
        """The students whom an owner's name may name."""
        match = self.find(owner)
        students = frozenset(match.may_be) | ({match.student} - {""})
        is_weak = match.by == BEGINNING or any(self.roster.is_first_name(student, owner) for student in students)
        return Named(students, bool(students) and not is_weak)

    def find(self, owner: Owner) -> Match:
        """The Match of an owner."""
        if not owner.others:
            return self._find(owner)
        readings = [replace(owner, others=()), *owner.others]
        known = [reading for reading in readings if self._by_keys(reading)]
        if len({reading.lms_id for reading in known}) == 1 and self._fits(known[0]):
            others = () if known[0] is readings[-1] else owner.others
            return replace(self._find(known[0]), owner=replace(known[0], others=others))
        numbers = " or ".join(f"{reading.lms_id}'s" for reading in readings)
        return Match(
            owner,
            why=f"its name can be read as {numbers}, so it is left out: read in Canvas's ids with `autograder roster`, "
            "or ask the student for a file name that does not begin with a number",
        )

    def _find(self, owner: Owner) -> Match:
        if owner.is_hidden:  # nobody's name or id, but what the system gives back the grade by
            return Match(owner, hidden, KEY) if (hidden := self._made_id(owner)) else Match(owner, why=NOBODY)
        if by_key := self._by_keys(owner):
            return self._by_key(owner, by_key)
        if owner.is_sender and not self.roster.is_empty:
            return Match(
                owner, why=NOBODY + "; a message belongs to the sender's address, unless --pattern finds another owner"
            )
        named = [] if owner.is_sender else self.roster.named(owner)
        by = NAME
        if not named:
            named, by = self._begun(owner), BEGINNING
            if others := [student for student in named if self.roster.is_another(student, owner)]:
                named = [student for student in named if student not in others]
                if not named:
                    return Match(owner, why=_goes_on(self.roster.all[others[0]]))
        if not named and not self.roster.is_empty:
            return Match(owner, why=NOBODY)
        if not named:
            return self._without_a_roster(owner)
        differences = {student: self._difference(student, owner) for student in named}
        same = [student for student, differs in differences.items() if not differs]
        if len(same) == 1:
            return Match(owner, same[0], by)
        if same:
            return Match(owner, by=by, why=f"it may be {' or '.join(same)}", may_be=tuple(same))
        student, why = next(iter(differences.items()))
        return Match(owner, by=by, why=why, may_be=(student,))

    def _begun(self, owner: Owner) -> list[str]:
        """The students whom the beginning of a name may name."""
        said = people.words(owner.name)
        return [] if any(said[: len(title)] == title for title in self.titles) else self.roster.guess(owner)

    def _by_key(self, owner: Owner, by_key: Mapping[str, set[str]]) -> Match:
        """The Match of somebody with known keys, by key."""
        everybody = sorted(set.union(*by_key.values()))
        same = sorted(set.intersection(*by_key.values()))
        if not same:
            said = " and its ".join(f"{key} is {' or '.join(sorted(them))}'s" for key, them in by_key.items())
            return Match(owner, why=f"its {said}, so it is left out", may_be=tuple(everybody))
        if len(same) > 1:
            return Match(owner, why=f"it may be {' or '.join(same)}", may_be=tuple(same))
        if why := self._difference(same[0], owner):
            return Match(owner, why=why, may_be=(same[0],))
        return Match(owner, same[0], NAME if _is_typed(by_key) else KEY)

    def _by_keys(self, owner: Owner) -> dict[str, set[str]]:
        """The students whom each key of an owner belongs to, by the roster and by what was noted."""
        known = set(self.roster.all) - self.roster.dropped
        found = self.roster.by_keys(owner)
        for kind, value in owner.keys.items():
            students = self.noted.students(kind, value)
            if students := students - self.roster.dropped if self.roster.is_empty else students & known:
                found[f"{kind} {value}"] = found.get(f"{kind} {value}", set()) | students
        may_be_typed = owner.is_text or _is_typed(found) or bool(owner.student_id and owner.name)
        if found and may_be_typed and (named := self.roster.named(owner)):
            found[f"name {owner.name}"] = set(named)  # whoever typed the one typed the other, too
        return found

    def _difference(self, student: str, owner: Owner) -> str:
        """Why an owner is not the student with the same name or one of the same keys, or ""."""
        known, differs = self.roster.all.get(student), ""
        if known is not None and known.email and owner.email:
            if address(known.email) != address(owner.email):
                differs = f"{ADDRESS} {owner.email}, but on the roster it is {known.email}"
        elif known is not None and known.lms_user_id and owner.lms_id and owner.system in WITH_IDS:
            if known.lms_user_id != owner.lms_id:
                differs = f"{owner.system} id {owner.lms_id}, but on the roster it is {known.lms_user_id}"
        if differs:
            return f"it would be {student}'s, but it has {differs}: it is left out, unless you correct the roster"
        if differs := self.noted.difference(student, owner.keys):
            return (
                f"it would be {student}'s, but it has {differs}: it is left out, and if both are {student}'s,"
                f" `--forget {student}` takes it"
            )
        return ""

    def _without_a_roster(self, owner: Owner) -> Match:
        """The Match of somebody in a class without a roster, with an id made from what is known."""
        made = owner.student_id or self._made_id(owner)
        if not made:
            return Match(
                owner,
                why="its name contains no student's id: give a roster, or put the file into a folder with the"
                " student's id",
            )
        if differs := self._difference(made, owner):
            return Match(owner, why=differs, may_be=(made,))
        return Match(owner, made, NAME if owner.student_id or ADDRESS not in owner.keys else KEY)

    def _made_id(self, owner: Owner) -> str:
        """An id made from an address as a whole, or a name; of somebody whose name is hidden, from the number."""
        if owner.is_text and owner.name.lower().endswith(".ipynb"):
            return ""  # nobody knows where the student's name in it ends
        if owner.email or owner.is_sender:
            return people.clean(owner.email)
        if owner.is_hidden and owner.participant:
            return people.clean(f"{PARTICIPANT}-{owner.participant}")
        return people.clean(owner.name)

    def _fits(self, owner: Owner) -> bool:
        """Whether the name in a file's name of Canvas's is that of the student with this id."""
        students = [self.roster.all[s] for them in self._by_keys(owner).values() for s in them if s in self.roster.all]
        said = "".join(people.words(owner.name))
        return bool(students) and all(said in people.joined(student) for student in students)


def _goes_on(student: Student) -> str:
    return (
        f"it begins with the id {student.id}, but goes on with another name than that of {student.name}, so it is left"
        " out: if it is theirs, call it by the id alone, or the whole name"
    )


def _is_typed(keys: Iterable[str]) -> bool:
    """Whether students may have typed all of these keys into a profile."""
    return all(key.startswith((*TYPED, "name")) for key in keys)


NOBODY = "it matches nobody on the roster: `autograder roster FILE` adds students"
