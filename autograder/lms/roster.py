"""The roster: who is in the class, by nbgrader's gradebook. Only who was dropped is kept beside it, in the store."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbgrader.api import Student as Row
from sqlalchemy import select

from ..errors import UsageError
from ..intake import tables, worksheet
from ..intake.identity import ADDRESS, Noted, address
from ..intake.people import FIELDS, Roster, Student, clean, last_name_first, words
from ..submission import files
from ..verdict import printable

if TYPE_CHECKING:
    from ..grading.store import Store
    from ..intake.tables import Table
    from ..nbgrader.runs import NbgraderCourse

LONGEST = 128  # characters in a column of the gradebook
YES, NO = {"1", "yes", "y", "true", "x", "dropped"}, {"", "0", "no", "n", "false"}
NO_ADDRESS = re.compile(r"[\s,;<>]|@.*@|^mailto:", re.IGNORECASE)  # in what should be one
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


def read(runs: NbgraderCourse, results: Store) -> Roster:
    """The roster of a course."""
    table = Row.__table__
    columns = [table.c.id, *(table.c[name] for name in FIELDS)]
    with runs.gradebook() as gradebook:
        rows = gradebook.db.execute(select(*columns).order_by(table.c.id)).all()
    return Roster((Student(*(value or "" for value in row)) for row in rows), results.dropped())


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
            raise UsageError(f"{where}: {student.id!r} is the id of two students: add a column `id` to the table.")
        if other := alike.get(plain := _plain(student.id)) or known.alike(student.id):
            raise UsageError(f"{where}: the ids {other!r} and {student.id!r} differ only in case or form: change one.")
        wanted[student.id], alike[plain] = student, student.id
        if said["dropped"].casefold() not in YES | NO:
            raise UsageError(f"{where}: {said['dropped']!r} in the column dropped: write yes or no.")
        if NO_ADDRESS.search(student.email):
            raise UsageError(f"{where}: {student.email!r} is not an e-mail address: give one that messages come from.")
        if said["dropped"].casefold() in YES:
            dropped.add(student.id)
        elif table.index(*COLUMNS["dropped"]) is not None:
            dropped.discard(student.id)
    if not wanted:
        raise UsageError(f"{table.path}: it contains no students.")
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
            f"{table.path} is not a roster: it has none of the columns id, first_name and last_name, email, nor those"
            " of Moodle's, Canvas's or Gradescope's exports."
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


def _plain(id: str) -> str:
    """An id without case, and in one form: two students may not share it."""
    return unicodedata.normalize("NFKC", id).casefold()


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
        self.plain = {_plain(id): id for id in self.taken}
        self.nameless = {id: frozenset(words(id)) for id in nameless}
        self.addresses = Counter(address(said["email"]) for said in people)
        self.meanings = [_Meaning.of(said) for said in people]

    def student(self, said: dict[str, str], where: str, others: Container[str]) -> Student:
        """The student of a row; `others` are the ids of the rows before. Raises UsageError."""
        fields = {name: said[name] for name in FIELDS}
        if said["id"]:
            return Student(said["id"], **fields)
        fields["email"] = email = said["email"] or (said["login"] if "@" in said["login"] else "")
        if id := self._by_key(said, email, where) or self._nameless(said, email, where):
            return Student(id, **fields)
        if email and self.addresses[address(email)] > 1:
            raise UsageError(
                f"{where}: the address {email} is that of another row, too: keep one of them, or add a column `id`."
            )
        made = [*_made_of(said["login"]), *_made_of(email), *_made_of_name(said), clean(email)]
        free = (id for id in made if id and _plain(id) not in self.plain and id not in others)
        return Student(next(free, ""), **fields)

    def alike(self, id: str) -> str:
        """The id that is taken already and differs from a new one only in case or form, or ""."""
        return "" if id in self.taken else self.plain.get(_plain(id), "")

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
                " add a column `id` to the table."
            )
        found = by_number & by_email or by_email or by_number
        if len(found) > 1:
            raise UsageError(f"{where}: it may be {' or '.join(sorted(found))}: add a column `id` to the table.")
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
                    " and only the name says so: add a column `id` to the table."
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
        """Whether it may mean the id that consists of the words `parts`."""
        return id in self.sure or id in self.made or bool(parts) and parts <= self.name


def _made_of(account: str) -> list[str]:
    """The id made from an address or a login, if any."""
    return [made for made in (clean(account.partition("@")[0]),) if made]


def _made_of_name(said: dict[str, str]) -> list[str]:
    """The ids made from a name: in words, or as Canvas writes it."""
    student = Student("", said["first_name"], said["last_name"])
    return [made for made in (clean(student.name), "".join(last_name_first(student))) if made]


def change(results: Store, roster: Roster, drop: Iterable[str], take_back: Iterable[str]) -> None:
    """Drop students, and take others back. Raises UsageError for ids that nobody has."""
    drop, take_back = set(drop), set(take_back)
    strangers = sorted((drop - roster.all.keys()) | (take_back - roster.dropped))
    if strangers:
        raise UsageError(f"No student has the id {', '.join(strangers)}: `autograder roster` lists all ids.")
    roster.dropped = (roster.dropped | drop) - take_back
    results.put_dropped(roster.dropped)


def without_hand_in(roster: Roster, handed_in: Iterable[str]) -> list[Student]:
    """The students of the roster, without those who were dropped, who have not handed in."""
    there = set(handed_in)
    return [student for student in roster if student.id not in there]
