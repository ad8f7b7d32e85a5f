"""The roster: who is in the class, by nbgrader's gradebook. Only who was dropped is kept beside it, in the store."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from nbgrader.api import Student as Row
from sqlalchemy import select

from ..errors import UsageError
from ..nbgrader.identity import ADDRESS, Noted, address
from ..submission import files
from ..verdict import printable
from . import tables, worksheet

if TYPE_CHECKING:
    from ..grading.store import Store
    from ..nbgrader.runs import NbgraderCourse
    from .layouts import Owner
    from .tables import Table

Key = TypeVar("Key", bound=Hashable)
LONGEST = 128  # characters in a column of the gradebook
YES = {"1", "yes", "y", "true", "x", "dropped"}
FIELDS = ("first_name", "last_name", "email", "lms_user_id")
# the columns of nbgrader's `db student import`, then those of Moodle's, Canvas's and Gradescope's exports; Moodle
# writes its own in the language of whoever exports (core's lang/*/moodle.php)
FIRST = ("Vorname", "Prénom", "Nombre", "Nom", "Nome", "Voornaam", "Имя", "Förnamn")
LAST = (
    "Nachname",
    "Nom de famille",
    "Apellido(s)",
    "Cognoms",
    "Cognome",
    "Achternaam",
    "Apelido",
    "Фамилия",
    "Efternamn",
    "Nom",  # beside "Prénom"; beside "Cognoms" it is the first name
)
COLUMNS = {
    "id": ("id", "student_id"),
    "first_name": ("first_name", "first name", "firstname", *FIRST),
    "last_name": ("last_name", "last name", "lastname", "surname", *LAST),
    "name": ("full name", "student", "name"),
    "email": ("email", "e-mail", *worksheet.texts("email")),
    "lms_user_id": ("lms_user_id", "sid", *worksheet.texts("id number")),
    "login": ("SIS Login ID", "username"),
    "dropped": ("dropped",),
}
TEST_STUDENT = re.compile(r"[0-9a-f]{40}")  # the login of Canvas's own test student: a hash, which no person has


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
        self._emails = _index(everybody, lambda s: [address(s.email)])
        self._numbers = _index(everybody, lambda s: [s.lms_user_id])
        self._ids = _index(everybody, lambda s: [s.id.casefold()])
        self._nameless = _index(everybody, lambda s: [] if s.name else [s.id.casefold()])
        self._names = _index(everybody, lambda s: [tuple(sorted(words(s.name))), *joined(s)])
        self._beginnings = _index(everybody, lambda s: [words(s.id), words(s.name), _last_name_first(s)])

    def __iter__(self) -> Iterator[Student]:
        return (student for student in self.all.values() if student.id not in self.dropped)

    def by_keys(self, owner: Owner) -> dict[str, set[str]]:
        """The students whom each key of an owner belongs to, or the id that the instructor's pattern found."""
        found = {
            f"id {owner.student_id}": self._ids.get(owner.student_id.casefold(), []),
            f"{ADDRESS} {address(owner.email)}": self._emails.get(address(owner.email), []),
            f"{owner.system} id {owner.lms_id}": self._numbers.get(owner.lms_id, []),
        }
        return {key: {student.id for student in students} for key, students in found.items() if students}

    def named(self, owner: Owner) -> list[str]:
        """The students with an owner's name, its words in any order, or as one word, last name first, as in Canvas.

        Ids are taken for names where the roster has no other, and where the instructor has named the folder or file.
        """
        ids = self._ids if owner.is_text else self._nameless
        for name in filter(None, (owner.name, owner.in_team)):
            said = words(name)
            found = [s for i in (name.casefold(), clean(name)) if i for s in ids.get(i, [])]
            found += [s for key in (tuple(sorted(said)), "".join(said)) if key for s in self._names.get(key, [])]
            if found:
                return _ids_of(found)
        return []

    def guess(self, owner: Owner) -> list[str]:
        """The students with whose id or name an owner's name begins, if there may be more in it, such as a file's."""
        said = words(owner.name) if owner.is_text else ()
        return _ids_of(s for n in range(1, len(said) + 1) for s in self._beginnings.get(said[:n], []))


def _index(students: Iterable[Student], keys: Callable[[Student], Iterable[Key]]) -> dict[Key, list[Student]]:
    """The students by each of their keys; an empty key is none."""
    found: dict[Key, list[Student]] = {}
    for student in students:
        for key in filter(None, dict.fromkeys(keys(student))):
            found.setdefault(key, []).append(student)
    return found


def _ids_of(students: Iterable[Student]) -> list[str]:
    return list(dict.fromkeys(student.id for student in students))


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


def joined(student: Student) -> list[str]:
    """A student's name as one word, last name first and first name first."""
    return ["".join(_last_name_first(student)), "".join(words(student.name))]


# --- taking a roster in ---------------------------------------------------------------------------


def take(table: Table, runs: NbgraderCourse, results: Store) -> tuple[list[Student], list[Student]]:
    """Write the students of a table into the gradebook; returns (those of the table, others of the gradebook).

    Raises UsageError, before anything is written.
    """
    roster, people = read(runs, results), list(_people(table))
    known = _Known(roster, results, [said for _, said in people])
    wanted: dict[str, Student] = {}
    alike: dict[str, str] = {}
    dropped = set(roster.dropped)
    for number, said in people:
        where = f"{table.path}, row {number}"
        student = known.student(said, where, wanted)
        if problem := files.problem_of(student.id):
            raise UsageError(f"{where}: nothing in it can be a student's id; {problem}.")
        if student.id in wanted:
            raise UsageError(f"{where}: {student.id!r} is the id of two students: give the table a column `id`.")
        if other := alike.get(plain := unicodedata.normalize("NFKC", student.id).casefold()):
            raise UsageError(f"{where}: the ids {other!r} and {student.id!r} differ in case or form alone: change one.")
        wanted[student.id], alike[plain] = student, student.id
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


def _people(table: Table) -> Iterator[tuple[int, dict[str, str]]]:
    """(the number of a row, what it says by the keys of COLUMNS and `system`) of each student. Raises UsageError."""
    is_canvas = table.has("ID", "Section") and (table.has("Student") or table.has("LastName", "FirstName"))
    columns, system = COLUMNS, "canvas" if is_canvas else "moodle"
    if worksheet.is_worksheet(table):
        columns = {**COLUMNS, "id": (), "name": worksheet.Worksheet(table).headers["name"], "first_name": ()}
    elif table.has("sid"):
        system = "gradescope"
    if not any(table.index(*columns[key]) is not None for key in ("id", "name", "last_name", "email")):
        raise UsageError(
            f"{table.path} is no roster: it has none of the columns id, first_name and last_name, email, nor those of"
            " Moodle's, Canvas's or Gradescope's exports."
        )
    first_column, last_column = table.index(*columns["first_name"]), table.index(*columns["last_name"])
    for number, row in enumerate(table, start=2):
        said = {key: table.value(row, *names) for key, names in columns.items()}
        if is_canvas:
            said["lms_user_id"], said["id"] = table.value(row, "ID"), ""
            is_student = tables.is_canvas_student(said["lms_user_id"], f"{table.path}, row {number}")
            if not is_student or TEST_STUDENT.fullmatch(said["login"]):
                continue  # the rows of points and of posting, and Canvas's own test student
        if table.value(row, "role").casefold() not in ("", "student"):
            continue
        if first_column is not None and first_column == last_column:  # "Nom" alone is all of the name
            said["name"], said["first_name"], said["last_name"] = said["first_name"], "", ""
        if said["name"] and said["first_name"] and not said["last_name"]:  # "Name" beside "Vorname"
            said["last_name"] = said["name"]
        elif said["name"] and not said["last_name"]:
            said["first_name"], said["last_name"] = _split(said["name"])
        if any(said.values()):
            yield number, {key: printable(value)[:LONGEST] for key, value in {**said, "system": system}.items()}


def _split(name: str) -> tuple[str, str]:
    """(first names, last name) of "Ada Lovelace" or "Lovelace, Ada"."""
    if "," in name:
        last, _, first = name.partition(",")
        return first.strip(), last.strip()
    first, _, last = name.strip().rpartition(" ")
    return first, last


class _Known:
    """Finds the students of the gradebook among the `people` of a table.

    By id, address or login; nobody gets by name an id that has grades or hand-ins already.
    """

    def __init__(self, roster: Roster, results: Store, people: Sequence[dict[str, str]]) -> None:
        root = results.root.parent
        there = [path.name for path in (root / "submitted").glob("*/")]
        self.roster = roster
        self.noted = Noted(results.all_handed_in(), "")
        self.taken = {*roster.all, *self.noted.keys, *there}
        nameless = sorted(id for id in self.taken if id not in roster.all or not roster.all[id].is_known)
        self.nameless = {id: frozenset(words(id)) for id in nameless}
        self.meanings = [_Meaning.of(said) for said in people]

    def student(self, said: dict[str, str], where: str, others: Container[str]) -> Student:
        """The student of a row; `others` are the ids of the rows before. Raises UsageError."""
        fields = {name: said[name] for name in FIELDS}
        if said["id"]:
            return Student(said["id"], **fields)
        fields["email"] = email = said["email"] or (said["login"] if "@" in said["login"] else "")
        if id := self._by_key(said, email, where) or self._nameless(said, email, where):
            return Student(id, **fields)
        made = [*_made_of(said["login"]), *_made_of(email), *_made_of_name(said), clean(email)]
        return Student(next((i for i in made if i and i not in self.taken and i not in others), ""), **fields)

    def _by_key(self, said: dict[str, str], email: str, where: str) -> str:
        """The id of the student with this address or this id in the system, or ""."""
        everybody, number, lower = self.roster.all.values(), said["lms_user_id"], address(email)
        by_number = {s.id for s in everybody if number and s.lms_user_id == number}
        by_number |= self.noted.students(f"{said['system']} id", number) if number else set()
        by_email = {s.id for s in everybody if email and address(s.email) == lower}
        by_email |= self.noted.students(ADDRESS, lower) if email else set()
        addresses = {address(self.roster.all[id].email) for id in by_number if id in self.roster.all} - {"", lower}
        # other systems' ids are what students may type into their profile
        is_doubtful = bool(by_email) or (said["system"] != "canvas" and bool(email and addresses))
        if by_number and is_doubtful and not by_number & by_email:
            raise UsageError(
                f"{where}: the id {number} is that of {' or '.join(sorted(by_number))}, and the address {email} is not:"
                " give the table a column `id`."
            )
        found = by_number & by_email or by_email or by_number
        if len(found) > 1:
            raise UsageError(f"{where}: it may be {' or '.join(sorted(found))}: give the table a column `id`.")
        return next(iter(found), "")

    def _nameless(self, said: dict[str, str], email: str, where: str) -> str:
        """The id of which no more is known, and which only this row of the table can mean, or "". Raises UsageError."""
        mine = _Meaning.of(said)
        for id, parts in self.nameless.items():
            if not mine.may_be(id, parts):
                continue
            if id not in mine.sure or sum(other.may_be(id, parts) for other in self.meanings) > 1:
                raise UsageError(
                    f"{where}: {' '.join(filter(None, (said['first_name'], said['last_name'], email)))} may be {id!r},"
                    " and nothing but the name tells: give the table a column `id`."
                )
            return id
        return ""


@dataclass(frozen=True)
class _Meaning:
    """The ids that the row of a table may mean: `sure` by address or login, `made` from the name, or parts of it."""

    sure: frozenset[str]
    made: frozenset[str]
    name: frozenset[str]

    @classmethod
    def of(cls, said: dict[str, str]) -> _Meaning:
        accounts = (said["email"], said["login"])
        sure = [made for account in accounts for made in (clean(account), *_made_of(account)) if made]
        name = words(f"{said['first_name']} {said['last_name']}")
        return cls(frozenset(sure), frozenset(_made_of_name(said)), frozenset(name))

    def may_be(self, id: str, parts: frozenset[str]) -> bool:
        """Whether it may mean an id, whose words are `parts`."""
        return id in self.sure or id in self.made or bool(parts) and parts <= self.name


def _made_of(account: str) -> list[str]:
    """The id made from an address or a login, if any."""
    return [made for made in (clean(account.partition("@")[0]),) if made]


def _made_of_name(said: dict[str, str]) -> list[str]:
    """The ids made from a name: in words, or as Canvas writes it."""
    student = Student("", said["first_name"], said["last_name"])
    return [made for made in (clean(student.name), "".join(_last_name_first(student))) if made]


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
