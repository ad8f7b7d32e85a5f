"""The roster: who is in the class, by nbgrader's gradebook. Only who was dropped is kept beside it, in the store."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
LOGIN = (
    *("user name", "user id", "userid", "login", "login id", "login name", "netid", "net id", "uni login"),
    *("benutzername", "anmeldename", "nutzername", "kennung", "unikennung", "uni-kennung", "nom d’utilisateur"),
    *("nom d'utilisateur", "nombre de usuario", "nome utente", "nome de usuário", "nome de utilizador"),
    *("nom d’usuari", "gebruikersnaam", "användarnamn", "brugernavn", "brukernavn", "nazwa użytkownika", "логин"),
)
# the number or name by which the university knows a student: the id, where there is no login
NUMBER = (
    *("student id", "studentid", "student number", "studentnumber", "student no", "student no.", "student #"),
    *("student code", "sis user id", "orgdefinedid", "org defined id", "identifier", "matriculation number"),
    *("matriculation no", "matriculation no.", "registration number", "registration no.", "roll number", "roll no"),
    *("roll no.", "university id", "campus id", "candidate number", "matrikelnummer", "matrikel-nummer"),
    *("matrikel-nr.", "matrikel-nr", "matrikel nr.", "matrikelnr.", "matrikelnr", "matrikel", "matr.-nr.", "matr.nr."),
    *("matr. nr.", "matr-nr", "matrnr", "matrnr.", "immatrikulationsnummer", "studierendennummer"),
    *("numéro étudiant", "numéro d’étudiant", "numéro d'étudiant", "n° étudiant", "no étudiant", "matricule"),
    *("numéro de matricule", "matricola", "numero di matricola", "n. matricola", "matrícula", "número de matrícula"),
    *("número de estudiante", "número de alumno", "carné", "legajo", "número de aluno", "número mecanográfico"),
    *("studentnummer", "studentennummer", "stamnummer", "studienummer", "opiskelijanumero", "numer albumu"),
    *(
        "nr albumu",
        "numer indeksu",
        "nr indeksu",
        "osobní číslo",
        "studentské číslo",
        "učo",
        "neptun kód",
        "neptun-kód",
    ),
    *("neptun", "öğrenci no", "öğrenci numarası", "номер студенческого билета", "студенческий билет", "学号", "學號"),
    *("学籍番号", "학번"),
)
# The names of rows that are about the class: the whole name of nobody who has no address, login or number either.
SUMMARIES = frozenset(
    """
    total|totals|overall total|points|points possible|possible points|max points|maximum points|maximum|minimum|average
    overall average|class average|averages|mean|class mean|median|standard deviation|std dev|std. dev.|std|stdev|sum
    count|date|due date|weight|weights|number of students|summary|course average|group average
    summe|gesamt|gesamtsumme|insgesamt|durchschnitt|gesamtdurchschnitt|klassendurchschnitt|mittelwert|mittel|punkte
    maximalpunkte|maximale punkte|max. punkte|höchstpunktzahl|standardabweichung|anzahl|datum
    somme|moyenne|moyenne générale|moyenne de la classe|médiane|écart type|écart-type|note maximale
    suma|promedio|promedio general|promedio de la clase|media|media general|media de la clase|mediana|puntos|fecha
    somma|totale|media complessiva|media generale|punti|data|média|média geral|média da turma|pontos|soma
    totaal|gemiddelde|algemeen gemiddelde|punten|mitjana|mitjana general|punts
    summa|medelvärde|genomsnitt|poäng|gennemsnit|gjennomsnitt|keskiarvo|yhteensä|średnia|razem|suma punktów|průměr
    celkem|átlag|összesen|ortalama|toplam|среднее|средний балл|общее среднее|итого|всего|баллы|медиана|сумма
    """.replace("\n", "|")
    .replace("    ", "")
    .strip("|")
    .split("|")
)
COLUMNS = {
    "id": ("id", "student_id"),
    "first_name": ("first_name", "first name", "firstname", *FIRST),
    "last_name": ("last_name", "last name", "lastname", "surname", *LAST),
    "name": ("full name", "student", "name"),
    "email": ("email", "e-mail", *worksheet.texts("email")),
    "lms_user_id": ("lms_user_id", "sid", *worksheet.texts("id number")),
    "login": ("SIS Login ID", "username", *LOGIN),
    "number": NUMBER,
    "dropped": ("dropped",),
}
# the login of Canvas's own test student: a hash, which no person has; and its name, and the beginning of that hash
TEST_STUDENT = re.compile(r"[0-9a-f]{40}")
TEST_NAME, TEST_LOGIN = "student, test", re.compile(r"[0-9a-f]{6,40}|")
NO_NAME = re.compile(r"[\d.,:/%+\-\s]*")  # points or a date
# a number that a spreadsheet has shortened, as 1.23457E+11, or has no room for
SHORTENED = re.compile(r"[+-]?\d+(?:[.,]\d+)?e\+\d+|#{2,}|#(?:REF!|N/A|NAME\?|VALUE!|NULL!|DIV/0!|NUM!)", re.IGNORECASE)
IDS = ("id", "lms_user_id", "login", "number")  # the columns that say who a student is, beside the address


def read(runs: NbgraderCourse, results: Store) -> Roster:
    """The roster of a course."""
    table = Row.__table__
    columns = [table.c.id, *(table.c[name] for name in FIELDS)]
    with runs.gradebook() as gradebook:
        rows = gradebook.db.execute(select(*columns).order_by(table.c.id)).all()
    return Roster((Student(*(value or "" for value in row)) for row in rows), results.dropped())


# --- taking a roster in ---------------------------------------------------------------------------


def take(
    table: Table, runs: NbgraderCourse, results: Store, left_out: list[str] | None = None
) -> tuple[list[Student], list[Student]]:
    """Write the students of a table into the gradebook; returns (those of the table, others of the gradebook).

    What is said of rows that are no students is added to `left_out`. Raises UsageError, before anything is written.
    """
    roster, people = read(runs, results), list(_people(table, [] if left_out is None else left_out))
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


def _people(table: Table, left_out: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """(the number of a row, what it says by the keys of COLUMNS and `system`) of each student.

    What is said of the other rows is added to `left_out`. Raises UsageError.
    """
    is_canvas = table.has("ID", "Section") and (table.has("Student") or table.has("LastName", "FirstName"))
    columns, system = COLUMNS, "canvas" if is_canvas else "moodle"
    if worksheet.is_worksheet(table):
        names = worksheet.Worksheet(table).headers["name"]
        columns = {**COLUMNS, "id": (), "name": names, "first_name": (), "number": ()}
    elif table.has("sid"):
        system = "gradescope"
    if not any(
        table.index(*columns[key]) is not None for key in ("id", "number", "login", "name", "last_name", "email")
    ):
        raise UsageError(
            f"{table.path} is not a roster: it has none of the columns id, first_name and last_name, email, nor those"
            " of Moodle's, Canvas's or Gradescope's exports."
        )
    first_column, last_column = table.index(*columns["first_name"]), table.index(*columns["last_name"])
    for number, row in table.numbered():
        where = f"{table.path}, row {number}"
        said = {key: table.value(row, *names) for key, names in columns.items()}
        if is_canvas:
            said["lms_user_id"], said["id"] = table.value(row, "ID"), ""
        if reason := _no_student(table, row, said, is_canvas, where):
            left_out.append(f"row {number} ({reason})")
            continue
        _refuse_shortened(table, said, columns, where)
        if first_column is not None and first_column == last_column:  # "Nom" alone is all of the name
            said["name"], said["first_name"], said["last_name"] = said["first_name"], "", ""
        if said["name"] and said["first_name"] and not said["last_name"]:  # "Name" beside "Vorname"
            said["last_name"] = said["name"]
        elif said["name"] and not said["last_name"]:
            said["first_name"], said["last_name"] = _split(said["name"])
        said["number"] = "" if said["login"] else said["number"].removeprefix("#")  # which Brightspace puts before it
        if "@" in said["number"]:
            said["email"], said["number"] = said["email"] or said["number"], ""
        yield number, {key: printable(value)[:LONGEST] for key, value in {**said, "system": system}.items()}


def _no_student(table: Table, row: list[str], said: dict[str, str], is_canvas: bool, where: str) -> str:
    """What a row is that is not about a student, or ""."""
    shown = next((cell for cell in map(str.strip, row) if cell), "")[:LONGEST]
    if is_canvas:
        if not tables.is_canvas_student(said["lms_user_id"], where):
            return shown  # the rows of points and of posting
        is_test = said["name"].casefold() == TEST_NAME and not said["number"] and TEST_LOGIN.fullmatch(said["login"])
        return f"{shown}: Canvas's own" if is_test or TEST_STUDENT.fullmatch(said["login"]) else ""
    role = table.value(row, "role")
    if role.casefold() not in ("", "student"):
        return f"{said['name'] or ' '.join(filter(None, (said['first_name'], said['last_name']))) or shown}: {role}"
    about = [said[key] for key in COLUMNS if key != "dropped" and said[key]]
    if not about:
        return f"{shown}: no id, name or address"
    names = [cell for cell in about if not NO_NAME.fullmatch(cell)]
    has_names = any(table.index(*COLUMNS[key]) is not None for key in ("name", "first_name", "last_name", "email"))
    has_number = any(said[key] and NO_NAME.fullmatch(said[key]) for key in IDS)
    is_summary = len(names) == 1 and not has_number and names[0].casefold().strip(" :*()[]") in SUMMARIES
    return names[0] if has_names and is_summary else ""


def _refuse_shortened(table: Table, said: dict[str, str], columns: Mapping[str, tuple[str, ...]], where: str) -> None:
    """Raises UsageError if a spreadsheet has shortened a number that says who a student is."""
    for key in IDS:
        if SHORTENED.fullmatch(said[key]):
            index = table.index(*columns[key])
            header = "ID" if index is None else table.header[index]
            raise UsageError(
                f"{where}: {said[key]!r} in the column {header!r} is a number that a spreadsheet has shortened, so the"
                " right one is lost: download the table again, and format that column as text before you save it."
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
        if id := self._by_key(said, email, where) or self._nameless(said, email, where):
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


def without_hand_in(roster: Roster, handed_in: Iterable[str]) -> list[Student]:
    """The students of the roster, without those who were dropped, who have not handed in."""
    there = set(handed_in)
    return [student for student in roster if student.id not in there]
