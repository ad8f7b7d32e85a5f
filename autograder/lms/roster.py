"""The roster: who is in the class, by nbgrader's gradebook. Only who was dropped is kept beside it, in the store."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from nbgrader.api import Student as Row
from sqlalchemy import select

from ..errors import UsageError
from ..intake import tables, worksheet
from ..intake.identity import ADDRESS, Noted, address
from ..intake.people import FIELDS, Roster, Student, clean, last_name_first, words
from ..submission import files
from ..verdict import printable
from . import about_the_class
from .columns import KEYS, NAMES, Columns, columns_of, whole_numbers, with_header
from .headers import CANVAS_NAME, COLUMNS, SECTION, cleaned, plain

if TYPE_CHECKING:
    from ..course import Assignment
    from ..grading.store import Store
    from ..intake.tables import Table
    from ..nbgrader.runs import NbgraderCourse

LONGEST = 128  # characters in a column of the gradebook
YES, NO = {"1", "yes", "y", "true", "x", "dropped"}, {"", "0", "no", "n", "false"}
NO_ADDRESS = re.compile(r"[\s,;<>]|@.*@|^mailto:", re.IGNORECASE)  # in what should be one
# the login of Canvas's own test student: a hash, which no person has; and its name, and the beginning of that hash
TEST_STUDENT = re.compile(r"[0-9a-f]{40}")
TEST_NAMES, TEST_LOGIN = ("student, test", "test student"), re.compile(r"[0-9a-f]{6,40}|")
PREVIEW = "_previewuser"  # how the logins end of what Blackboard makes for an instructor who looks as a student does
# a number that a spreadsheet has shortened, as 1.23457E+11, or has no room for
SHORTENED = re.compile(r"[+-]?\d+(?:[.,]\d+)?e\+\d+|#{2,}|#(?:REF!|N/A|NAME\?|VALUE!|NULL!|DIV/0!|NUM!)", re.IGNORECASE)
IDS = tuple(key for key in KEYS if key != "email")
CALLED = {"email": "addresses", "number": "numbers", "name": "names", "first_name": "names", "last_name": "names"}
MANY = 5  # names in a sentence
Said: TypeAlias = dict[str, str]  # what a row says, by the keys of COLUMNS


def read(runs: NbgraderCourse, results: Store) -> Roster:
    """The roster of a course."""
    table = Row.__table__
    columns = [table.c.id, *(table.c[name] for name in FIELDS)]
    with runs.gradebook() as gradebook:
        rows = gradebook.db.execute(select(*columns).order_by(table.c.id)).all()
    return Roster((Student(*(value or "" for value in row)) for row in rows), results.dropped(), results.has_roster())


def _remark_on_names(taken: Mapping[str, Student], roster: Roster, remarks: list[str]) -> None:
    """Say of whom no name is known."""
    nameless = [id for id, one in taken.items() if not one.name and not (id in roster.all and roster.all[id].name)]
    if len(nameless) == len(taken):
        remarks.append("no student has a name in it, so hand-ins are found by id, address and number alone")
    elif nameless:
        more = ", …" if len(nameless) > MANY else ""
        remarks.append(f"without a name: {len(nameless)} ({', '.join(map(printable, nameless[:MANY]))}{more})")


# --- taking a roster in ---------------------------------------------------------------------------


def take(
    table: Table,
    runs: NbgraderCourse,
    results: Store,
    left_out: list[str] | None = None,
    remarks: list[str] | None = None,
    are_people: bool = False,
) -> tuple[list[Student], list[Student]]:
    """Write the students of a table into the gradebook; returns (those of the table, others of the gradebook).

    What is said of rows that are no students is added to `left_out`, other sentences to `remarks`; `are_people`: all
    rows are, as their source knows. Raises UsageError, before anything is written.
    """
    left_out, remarks = [] if left_out is None else left_out, [] if remarks is None else remarks
    roster, people = read(runs, results), _people(table, left_out, remarks, are_people)
    known = _Known(roster, results, [said for _, said in people])
    wanted: dict[str, Student] = {}
    rows: dict[str, int] = {}  # by the ids, numbers or logins in them
    alike: dict[str, str] = {}
    dropped = set(roster.dropped)
    for number, said in people:
        where = f"{table.path}, row {number}"
        key = said["id"] or said["number"] or said["login"]
        if key and (other := rows.setdefault(key, number)) != number:
            raise UsageError(
                f"{where}: {key!r} is the id in row {other}, too: keep one of the rows, or correct its id."
            )
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
        elif table.has("dropped"):
            dropped.discard(student.id)
    if not wanted:
        raise UsageError(f"{table.path}: it contains no students.")
    with runs.gradebook() as gradebook:
        for student in wanted.values():
            new: dict[str, Any] = {name: getattr(student, name) for name in FIELDS if getattr(student, name)}
            gradebook.update_or_create_student(student.id, **new)
    results.put_dropped(dropped, taken=True)
    _remark_on_names(wanted, roster, remarks)
    return list(wanted.values()), [student for student in roster if student.id not in wanted]


def _people(table: Table, left_out: list[str], remarks: list[str], are_people: bool) -> list[tuple[int, Said]]:
    """(the number of a row, what it says by the keys of COLUMNS and `system`) of each student.

    What is said of the other rows is added to `left_out`, of columns to `remarks`. Raises UsageError.
    """
    table = with_header(table)
    is_canvas, columns = _columns(table)
    system = "canvas" if is_canvas else "gradescope" if table.has("sid") else "moodle"
    rows = list(table.numbered())
    _remark_on_columns(columns, table, remarks)
    all_said = [{key: columns.value(row, key) for key in COLUMNS} for _, row in rows]
    for key in IDS:
        if is_canvas and key == "lms_user_id":
            continue  # one that a spreadsheet has changed is refused
        for said, value in zip(all_said, whole_numbers([said[key] for said in all_said]), strict=True):
            said[key] = value
    reasons = [
        _no_student(row, said, is_canvas, f"{table.path}, row {number}")
        for (number, row), said in zip(rows, all_said, strict=True)
    ]
    if not is_canvas and not are_people:
        about_the_class.find(all_said, reasons)
    people = []
    for (number, _), said, reason in zip(rows, all_said, reasons, strict=True):
        where = f"{table.path}, row {number}"
        if reason and not are_people:
            left_out.append(f"row {number} ({reason})")
            continue
        _refuse_shortened(said, columns, where)
        _complete(said, columns)
        people.append((number, {key: printable(value)[:LONGEST] for key, value in {**said, "system": system}.items()}))
    return people


def _columns(table: Table) -> tuple[bool, Columns]:
    """(whether it is Canvas's table, its columns). Raises UsageError."""
    headers = set(map(plain, table.header))
    is_named = not headers.isdisjoint(CANVAS_NAME) or table.has("LastName", "FirstName")
    if table.has("ID") and is_named and not headers.isdisjoint(SECTION):
        given = {"name": next((i for i, name in enumerate(table.header) if plain(name) in CANVAS_NAME), None)}
        return True, columns_of(table, {"id"}, {**given, "lms_user_id": table.index("ID")})
    if worksheet.is_worksheet(table):
        name = table.index(*worksheet.Worksheet(table).headers["name"])
        return False, columns_of(table, {"id", "first_name", "last_name", "number"}, {"name": name})
    return False, columns_of(table)


def _remark_on_columns(columns: Columns, table: Table, remarks: list[str]) -> None:
    """Say which columns are known by their content alone, and which are not used."""
    guessed = [f"{columns.shown(columns.at[key])} ({CALLED[key]})" for key in columns.guessed]
    if guessed:
        remarks.append(f"columns that are known by their content alone: {', '.join(guessed)}")
    unused = [] if worksheet.is_worksheet(table) else columns.unused(table.rows)
    if unused:
        more = f" and {len(unused) - MANY} more" if len(unused) > MANY else ""
        remarks.append(f"columns that are not used: {', '.join(map(printable, unused[:MANY]))}{more}")


def _complete(said: Said, columns: Columns) -> None:
    """Put what a row says into the fields where it belongs."""
    first, last = columns.at.get("first_name"), columns.at.get("last_name")
    if first is not None and last in (None, first) and not said["name"]:  # "Nom" alone is all of the name
        said["name"], said["first_name"], said["last_name"] = said["first_name"], "", ""
    if said["name"] and said["first_name"] and not said["last_name"]:  # "Name" beside "Vorname"
        said["last_name"] = said["name"]
    elif said["name"] and said["last_name"] and not said["first_name"]:
        said["first_name"] = said["name"]
    elif said["name"] and not said["last_name"]:
        said["first_name"], said["last_name"] = _split(said["name"])
    said["number"] = "" if said["login"] else said["number"].removeprefix("#")  # which Brightspace puts before it
    if "@" in said["number"]:
        said["email"], said["number"] = said["email"] or said["number"], ""


def _no_student(row: Sequence[str], said: Said, is_canvas: bool, where: str) -> str:
    """What a row says itself that is not about a student, or ""."""
    shown = next((cell for cell in map(cleaned, row) if cell), "")[:LONGEST]
    name = said["name"] or " ".join(filter(None, (said["first_name"], said["last_name"]))) or shown
    if is_canvas and not tables.is_canvas_student(said["lms_user_id"], where):
        return shown  # the rows of points and of posting
    is_nobodys = not said["number"] and not said["email"] and TEST_LOGIN.fullmatch(said["login"])
    is_test = name.casefold() in TEST_NAMES and is_nobodys and (is_canvas or not said["id"])
    if is_test or TEST_STUDENT.fullmatch(said["login"]):
        return f"{name}: Canvas's own"
    if said["login"].casefold().endswith(PREVIEW):
        return f"{name}: Blackboard's own, to look at the course as a student"
    if said["role"].casefold() not in ("", "student"):
        return f"{name}: {said['role']}"
    return "" if any(said[key] for key in (*KEYS, *NAMES)) else f"{shown}: no id, name or address"


def _refuse_shortened(said: Said, columns: Columns, where: str) -> None:
    """Raises UsageError if a spreadsheet has shortened a number that says who a student is."""
    for key in IDS:
        if SHORTENED.fullmatch(said[key]):
            raise UsageError(
                f"{where}: {said[key]!r} in the column {columns.shown(columns.at[key])} is a number that a spreadsheet"
                " has shortened, so the right one is lost: download the table again, and format that column as text"
                " before you save it."
            )


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
        known = said["number"] if said["number"] in self.roster.all else ""
        if id := self._by_key(said, email, where) or known or self._nameless(said, email, where):
            return Student(id, **fields)
        if id := said["number"] or self._by_login(said, email):
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

    def _by_login(self, said: dict[str, str], email: str) -> str:
        """The id that was made from this login before, of a student without an address, or ""."""
        for id in _made_of(said["login"]) if not email else ():
            if (student := self.roster.all.get(id)) and not student.email:
                return id
        return ""

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


def without_hand_in(roster: Roster, handed_in: Iterable[str], results: Store, assignment: Assignment) -> list[Student]:
    """The students of the roster, without those who were dropped or are excused, who have not handed in."""
    there = {*handed_in, *results.excused(assignment.name)}
    return [student for student in roster if student.id not in there]
