"""The roster: who is in the class, by nbgrader's gradebook. Only who was dropped is kept beside it, in the store."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from nbgrader.api import Student as Row
from sqlalchemy import select

from ..errors import UsageError
from ..submission import files
from ..verdict import printable

if TYPE_CHECKING:
    from ..grading.store import Store
    from ..nbgrader.runs import NbgraderCourse
    from .layouts import Owner
    from .tables import Table

Key = TypeVar("Key", bound=Hashable)
LONGEST = 128  # characters in a column of the gradebook
YES = {"1", "yes", "y", "true", "x", "dropped"}
FIELDS = ("first_name", "last_name", "email", "lms_user_id")
# the columns of nbgrader's `db student import`, then those of Moodle's, Canvas's and Gradescope's exports
COLUMNS = {
    "id": ("id", "student_id"),
    "first_name": ("first_name", "first name"),
    "last_name": ("last_name", "last name", "surname"),
    "name": ("full name", "student", "name"),
    "email": ("email", "email address", "e-mail"),
    "lms_user_id": ("lms_user_id", "ID number", "sid"),
    "login": ("SIS Login ID", "username"),
    "dropped": ("dropped",),
}


@dataclass(frozen=True)
class Student:
    """A student of the gradebook; what is not known is empty. `lms_user_id` is the id in the course's system."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name)))

    @property
    def is_known(self) -> bool:
        """Whether more than the id is known."""
        return any(getattr(self, field) for field in FIELDS)


class Roster:
    """The students of the gradebook, without those who were dropped; `dropped` holds their ids."""

    def __init__(self, students: Iterable[Student], dropped: Iterable[str] = ()) -> None:
        self.dropped = set(dropped)
        self.all = {student.id: student for student in students}
        self.is_empty = not any(student.is_known for student in self.all.values())
        everybody = self.all.values()
        self._emails = _index(everybody, lambda s: [s.email.casefold()])
        self._numbers = _index(everybody, lambda s: [s.lms_user_id])
        self._ids = _index(everybody, lambda s: [s.id.casefold()])
        self._names = _index(everybody, lambda s: [tuple(sorted(words(s.name))), *_joined(s)])
        self._beginnings = _index(everybody, lambda s: [words(s.id), words(s.name), _last_name_first(s)])

    def __iter__(self) -> Iterator[Student]:
        return (student for student in self.all.values() if student.id not in self.dropped)

    def find(self, owner: Owner) -> list[Student]:
        """The students that an owner may be, by the best of what is known of both: one, if it is certain."""
        if owner.is_sender and self._emails:
            return self._emails.get(owner.email.casefold(), [])
        local = "" if owner.name else owner.email.partition("@")[0].casefold()
        ways = (
            self._ids.get(owner.student_id.casefold(), []),
            self._emails.get(owner.email.casefold(), []),
            self._numbers.get(owner.lms_id, []),
            self._named(owner.name),
            self._ids.get(local, []),
        )
        return next(filter(None, ways), [])

    def guess(self, owner: Owner) -> list[Student]:
        """The students with whose id or name an owner's name begins, if there may be more in it, such as a file's."""
        said = words(owner.name) if owner.is_text else ()
        return _each_once(s for n in range(1, len(said) + 1) for s in self._beginnings.get(said[:n], []))

    def _named(self, name: str) -> list[Student]:
        """The students with this id or name, its words in any order, or as one word, last name first, as in Canvas.

        Older versions of Moodle write a group's name and a hyphen before it.
        """
        parts = name.split("-")
        said = [words("-".join(parts[n:])) for n in range(len(parts))]
        keys = [key for spoken in said for key in (tuple(sorted(spoken)), "".join(spoken))]
        ids = [i for i in (name.casefold(), clean(name)) if i]
        return _each_once(
            [*(s for i in ids for s in self._ids.get(i, [])), *(s for key in keys for s in self._names.get(key, []))]
        )


def _index(students: Iterable[Student], keys: Callable[[Student], Iterable[Key]]) -> dict[Key, list[Student]]:
    """The students by each of their keys; an empty key is none."""
    found: dict[Key, list[Student]] = {}
    for student in students:
        for key in filter(None, dict.fromkeys(keys(student))):
            found.setdefault(key, []).append(student)
    return found


def _each_once(students: Iterable[Student]) -> list[Student]:
    return list(dict.fromkeys(students))


def read(runs: NbgraderCourse, results: Store) -> Roster:
    """The roster of a course."""
    table = Row.__table__
    columns = [table.c.id, *(table.c[name] for name in FIELDS)]
    with runs.gradebook() as gradebook:
        rows = gradebook.db.execute(select(*columns).order_by(table.c.id)).all()
    return Roster((Student(*(value or "" for value in row)) for row in rows), results.dropped())


# --- names ----------------------------------------------------------------------------------------


def words(name: str) -> tuple[str, ...]:
    """The words of a name, without case and accents."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return tuple(re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c))))


def clean(name: str) -> str:
    """A student's id made from a name: `ada-lovelace` from "Ada Lovelace"; "" if nothing of it can be one."""
    made = "-".join(re.findall(r"[\w.@+]+", unicodedata.normalize("NFC", name).casefold())).strip(".-")
    return "" if files.problem_of(made) else made


def _last_name_first(student: Student) -> tuple[str, ...]:
    return words(f"{student.last_name} {student.first_name}")


def _joined(student: Student) -> list[str]:
    return ["".join(_last_name_first(student)), "".join(words(student.name))]


# --- taking a roster in ---------------------------------------------------------------------------


def take(table: Table, runs: NbgraderCourse, results: Store) -> tuple[list[Student], list[Student]]:
    """Write the students of a table into the gradebook; returns (those of the table, others of the gradebook).

    Raises UsageError, before anything is written.
    """
    roster = read(runs, results)
    wanted: dict[str, Student] = {}
    dropped = set(roster.dropped)
    for number, said in enumerate(_people(table), start=2):
        student = _student(said, roster, wanted)
        if problem := files.problem_of(student.id):
            raise UsageError(f"{table.path}, row {number}: nothing in it can be a student's id; {problem}.")
        if student.id in wanted:
            raise UsageError(
                f"{table.path}, row {number}: {student.id!r} is the id of two students: give the table a column `id`."
            )
        wanted[student.id] = student
        if said["dropped"].casefold() in YES:
            dropped.add(student.id)
        elif table.index(*COLUMNS["dropped"]) is not None:
            dropped.discard(student.id)
    if not wanted:
        raise UsageError(f"{table.path}: there is no student in it.")
    with runs.gradebook() as gradebook:
        for student in wanted.values():
            new: dict[str, Any] = {name: getattr(student, name) for name in FIELDS if getattr(student, name)}
            gradebook.update_or_create_student(student.id, **new)
    results.put_dropped(dropped)
    return list(wanted.values()), [student for student in roster if student.id not in wanted]


def _people(table: Table) -> Iterator[dict[str, str]]:
    """What each row says, by the keys of COLUMNS. Raises UsageError."""
    if not any(table.index(*COLUMNS[key]) is not None for key in ("id", "name", "last_name", "email")):
        raise UsageError(
            f"{table.path} is no roster: it has none of the columns id, first_name and last_name, email, nor those of"
            " Moodle's, Canvas's or Gradescope's exports."
        )
    is_canvas = table.has("Student", "ID", "Section")
    for row in table:
        said = {key: table.value(row, *names) for key, names in COLUMNS.items()}
        if is_canvas:
            said["lms_user_id"], said["id"] = table.value(row, "ID"), ""
            if not said["lms_user_id"].isdigit() or said["name"] == "Student, Test":
                continue  # the rows of points and of posting, and Canvas's own test student
        if table.value(row, "role").casefold() not in ("", "student"):
            continue
        if said["name"] and not said["last_name"]:
            said["first_name"], said["last_name"] = _split(said["name"])
        if any(said.values()):
            yield {key: printable(value)[:LONGEST] for key, value in said.items()}


def _split(name: str) -> tuple[str, str]:
    """(first names, last name) of "Ada Lovelace" or "Lovelace, Ada"."""
    if "," in name:
        last, _, first = name.partition(",")
        return first.strip(), last.strip()
    first, _, last = name.strip().rpartition(" ")
    return first, last


def _student(said: dict[str, str], roster: Roster, others: Container[str]) -> Student:
    """The student of a row. An id is taken from the table, else from the gradebook, else made from what is known.

    `others` are the ids of the rows before.
    """
    known = {name: said[name] for name in FIELDS}
    about = Student("", **known)
    email = said["email"] or (said["login"] if "@" in said["login"] else "")
    if said["id"]:
        return Student(said["id"], **known)
    likely, lower = _ids(about, email), email.casefold()
    for student in roster.all.values():
        same_email = email and student.email.casefold() == lower
        same_id = about.lms_user_id and student.lms_user_id == about.lms_user_id
        if same_email or same_id or (student.id in likely and not student.is_known):
            return Student(student.id, **{**known, "email": email})
    ids = [made for made in (clean(said["login"].partition("@")[0]), *likely, email) if made]
    return Student(
        next((made for made in ids if made not in roster.all and made not in others), ""), **{**known, "email": email}
    )


def _ids(student: Student, email: str) -> list[str]:
    """The ids that a student without one may have got, or may get: from the e-mail address, or from the name."""
    joined = "".join(_last_name_first(student))  # as Canvas writes it
    return [i for i in (clean(email.partition("@")[0]), clean(student.name), joined) if i]


def change(results: Store, roster: Roster, drop: Iterable[str], take_back: Iterable[str]) -> None:
    """Drop students, and take others back. Raises UsageError for ids that nobody has."""
    drop, take_back = set(drop), set(take_back)
    strangers = sorted((drop - roster.all.keys()) | (take_back - roster.dropped))
    if strangers:
        raise UsageError(f"Nobody is called {', '.join(strangers)}: `autograder roster` lists all ids.")
    roster.dropped = (roster.dropped | drop) - take_back
    results.put_dropped(roster.dropped)


def without_hand_in(roster: Roster, handed_in: Iterable[str]) -> list[Student]:
    """The students of the roster, without those who were dropped, who have not handed in."""
    there = set(handed_in)
    return [student for student in roster if student.id not in there]
