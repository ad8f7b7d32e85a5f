"""Moodle's grading worksheet: its columns by their headers, in the languages that are known here.

No cell says what a column is: a student writes the name and the online text. The headers are those of Moodle's language
packs (`assign.php`, `moodle.php`); mod/assign/gradingtable.php puts them in this order, and
mod/assign/feedback/offline/importgradeslib.php looks for those of the number, the grade and its time when it reads them
back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ..errors import UsageError
from ..submission.times import day_comes_first, in_utc, time_of
from .layouts import NUMBER, Owner

if TYPE_CHECKING:
    from .tables import Table

COLUMNS = (
    "number",
    "name",
    "email",
    "id number",
    "status",
    "grade",
    "highest",
    "changeable",
    "workflow",
    "handed in",
    "graded",
)
# by language, in the order of COLUMNS; a column of several headers, by version, has them in a tuple
LANGUAGES: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "English": (
        "Identifier",
        ("Full name", "User full name"),
        "Email address",
        "ID number",
        "Status",
        "Grade",
        "Maximum grade",
        "Grade can be changed",
        "Marking workflow state",
        "Last modified (submission)",
        "Last modified (grade)",
    ),
    "Catalan": (
        "Identificador",
        ("Nom complet", "Nom complet de l'usuari"),
        "Adreça electrònica",
        "Número ID",
        "Estat",
        "Qualificació",
        "Qualificació màxima",
        "Es pot canviar la qualificació",
        "Estat del flux d'avaluació",
        "Darrera modificació (tramesa)",
        "Darrera modificació (qualificació)",
    ),
    "Dutch": (
        "Identificatie",
        ("Volledige naam", "Volledige naam van de gebruiker"),
        "E-mailadres",
        "Nummer (ID)",
        "Status",
        "Cijfer",
        "Maximaal cijfer",
        "Het cijfer kan gewijzigd worden",
        "Status van de beoordelings-workflow",
        "Laatst gewijzigd (inzending)",
        "Laatst gewijzigd (beoordeling)",
    ),
    "French": (
        "Identifiant",
        ("Nom complet", "Nom complet de l’utilisateur"),
        "Adresse de courriel",
        "Numéro d’identification",
        "Statut",
        "Note",
        "Note maximale",
        "La note peut être modifiée",
        "Statut du flux d’évaluation",
        "Dernière modification (travail remis)",
        "Dernière modification (note)",
    ),
    "German": (
        "ID",
        "Vollständiger Name",
        "E-Mail-Adresse",
        "ID-Nummer",
        "Status",
        "Bewertung",
        "Bestwertung",
        "Bewertung kann geändert werden",
        "Status des Bewertungsworkflows",
        "Zuletzt geändert (Abgabe)",
        "Zuletzt geändert (Bewertung)",
    ),
    "Italian": (
        "Identificativo",
        ("Nome", "Nome completo dell'utente"),
        "Indirizzo email",
        "Codice identificativo",
        "Stato",
        "Valutazione",
        "Valutazione massima",
        "La valutazione può essere cambiata",
        "Stato del flusso di lavoro della valutazione",
        "Ultima modifica (consegna)",
        "Ultima modifica (valutazione)",
    ),
    "Portuguese": (
        "Identificador",
        ("Nome completo", "Nome completo do utilizador"),
        "E-mail",
        "Número de identificação (ID)",
        "Estado",
        "Avaliação",
        "Nota máxima",
        "A nota pode ser alterada.",
        "Estado do processo de avaliação",
        "Última atualização (submissão)",
        "Última atualização (avaliação)",
    ),
    "Russian": (
        "Идентификатор",
        ("Полное имя", "Полное имя пользователя"),
        "Адрес электронной почты",
        "Индивидуальный номер",
        "Статус",
        "Оценка",
        "Максимальная оценка",
        "Оценка может быть изменена",
        "Этап процесса оценивания",
        "Последнее изменение (ответ)",
        "Последнее изменение (оценка)",
    ),
    "Spanish": (
        "Identificador",
        ("Nombre completo", "Nombre completo del usuario"),
        "Dirección de correo",
        "Número de ID",
        "Estado",
        "Calificación",
        "Calificación máxima",
        "La calificación puede ser cambiada",
        "Estado del workflow (flujo de trabajo) de calificaciones",
        "Última modificación (entrega)",
        "Última modificación (calificación)",
    ),
    "Swedish": (
        "Identifierare",
        "Fullständigt namn",
        "E-postadress",
        "ID nummer",
        "Status",
        "Betyg",
        "Maxbetyg",
        "Betyg kan ändras",
        "Poängsättningsstatus",
        "Senast modifierat (inlämning)",
        "Senast modifierat (betyg)",
    ),
}
LONGEST = 60  # characters of a time that is shown
MANY = 5  # names in a sentence
NO_TIME = {"", "-"}  # what Moodle writes where there is no time


class Worksheet:
    """A grading worksheet of Moodle's: its columns by the names in COLUMNS. Raises UsageError."""

    def __init__(self, table: Table) -> None:
        found = _language(table)
        if found is None:
            raise UsageError(
                f"{table.path} is not a Moodle grading worksheet in a language that this kit knows"
                f" ({', '.join(LANGUAGES)}): choose one of them in Moodle, and download the worksheet again."
            )
        self.table, self.path = table, table.path
        self.headers: Mapping[str, tuple[str, ...]] = found
        self.rows: dict[str, list[str]] = {}
        for line, row in table.numbered():
            number = self.number(row)
            if not number:
                raise UsageError(f"{table.path}, row {line}: the column for the participant's number has none.")
            if number in self.rows:
                raise UsageError(f"{table.path}, row {line}: participant {number} appears twice.")
            self.rows[number] = row

    def index(self, column: str) -> int | None:
        """The index of a column, None if there is none."""
        return self.table.index(*self.headers[column])

    def value(self, row: list[str], column: str) -> str:
        return self.table.value(row, *self.headers[column])

    def number(self, row: list[str]) -> str:
        """The number of the participant of a row; Moodle writes a word before it."""
        found = re.fullmatch(rf"[^0-9]*({NUMBER})", self.value(row, "number"))
        return found[1] if found else ""

    def participants(self, zone: ZoneInfo | None) -> dict[str, Owner]:
        """The participants by their numbers; `zone` is the time zone of the times (None: this machine's)."""
        ids = Counter(self.value(row, "id number") for row in self.rows.values())
        day_first = day_comes_first(self.value(row, "handed in") for row in self.rows.values())
        return {
            number: Owner(
                self.value(row, "name"),
                self.value(row, "email"),
                lms_id=id if ids[id := self.value(row, "id number")] == 1 else "",  # some have typed another's
                participant=number,
                system="moodle",
                late="late" in self.value(row, "status").casefold(),
                time=self._time(row, zone, day_first),
            )
            for number, row in self.rows.items()
        }

    def _time(self, row: list[str], zone: ZoneInfo | None, day_first: bool | None) -> datetime | None:
        said = self.value(row, "handed in")
        return None if said in NO_TIME else _in_zone(time_of(said, day_first=day_first), zone)

    def handed_in(self) -> set[str]:
        """The numbers of those who have handed in, by the times."""
        return {number for number, row in self.rows.items() if self.value(row, "handed in") not in NO_TIME}

    def time_warning(self, found: Mapping[str, Owner]) -> str:
        """What to say of times that are not known, and of which students that is true, else ""."""
        if self.index("handed in") is None:
            return f"{self.path} has no column {self.headers['handed in'][0]!r}, so nobody counts as late by it"
        unread = [number for number in self.rows if number in self.handed_in() and found[number].time is None]
        if not unread:
            return ""
        example = self.value(self.rows[unread[0]], "handed in")[:LONGEST]
        of = ", ".join(found[number].name or f"participant {number}" for number in unread[:MANY])
        return (
            f"{self.path}: {len(unread)} of the times cannot be read, such as {example!r}, so these do not count as"
            f" late ({of}{', …' if len(unread) > MANY else ''})"
        )


def texts(column: str) -> list[str]:
    """The headers of a column in all languages."""
    found = [language[COLUMNS.index(column)] for language in LANGUAGES.values()]
    return [text for one in found for text in ((one,) if isinstance(one, str) else one)]


def is_worksheet(table: Table) -> bool:
    """Whether a table is a grading worksheet of Moodle's, in a language that is known here."""
    return _language(table) is not None


def _language(table: Table) -> dict[str, tuple[str, ...]] | None:
    """The headers of the language with the most columns of a table, by the names in COLUMNS, or None."""
    best, most = None, 0
    for texts in LANGUAGES.values():
        headers = {c: (text,) if isinstance(text, str) else text for c, text in zip(COLUMNS, texts, strict=True)}
        there = {column for column, names in headers.items() if any(table.has(name) for name in names)}
        if {"number", "grade"} <= there and len(there) > max(most, 2):
            best, most = headers, len(there)
    return best


def _in_zone(time: datetime | None, zone: ZoneInfo | None) -> datetime | None:
    """The time in UTC that a time in a zone is; without a zone, in that of this machine."""
    return None if time is None else in_utc(time.replace(tzinfo=zone))
