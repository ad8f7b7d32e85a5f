"""The people of a class, as hand-ins are matched with them: by keys, by names, by ids made from names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..submission import files, letters
from .identity import ADDRESS, address

if TYPE_CHECKING:
    from .layouts import Owner

Key = TypeVar("Key", bound=Hashable)
TOKEN = re.compile(r"[^\W_]+")
LONGEST = 6  # words of a name
# what people call a file behind a name, without numbers: `kim homework 2.ipynb` is not the work of a Kim Homework
FILE_WORDS = frozenset(
    "hw homework homeworks assignment assignments ex exercise exercises exam lab lesson week task project problem pset"
    " sheet part question questions solution solutions answer answers submission submitted handin final finished done"
    " draft new old copy of version ver rev v notebook nb work my late update updated fixed corrected result results"
    " code python torch pytorch jupyter colab ipynb attempt test backup attention abgabe aufgabe aufgaben blatt losung"
    " ubung hausaufgabe tarea practica entrega devoir rendu tp td compito esercizi kopie copie copia".split()
)
FIELDS = ("first_name", "last_name", "email", "lms_user_id")


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
    """The students of the gradebook, without those who were dropped; `dropped` holds their ids.

    It is empty if none of them is from a roster: `is_taken` says that one was, even if it has ids alone.
    """

    def __init__(self, students: Iterable[Student], dropped: Iterable[str] = (), is_taken: bool = False) -> None:
        self.dropped = set(dropped)
        self.all = {student.id: student for student in students}
        self.is_empty = not is_taken and not any(student.is_known for student in self.all.values())
        everybody = self.all.values()
        self._emails = _index(everybody, lambda s: [address(s.email)])
        self._numbers = _index(everybody, lambda s: [s.lms_user_id])
        self._ids = _index(everybody, lambda s: [s.id.casefold()])
        self._nameless = _index(everybody, lambda s: [] if s.name else [s.id.casefold()])
        self._names = _index(everybody, lambda s: [tuple(sorted(words(s.name))), *joined(s)])
        self._beginnings = _index(everybody, lambda s: [words(s.id), words(s.name), last_name_first(s)])

    def __iter__(self) -> Iterator[Student]:
        return (student for student in self.all.values() if student.id not in self.dropped)

    @property
    def odd_words(self) -> set[str]:
        """The words of names and ids that have letters beyond ASCII."""
        text = " ".join(f"{student.name} {student.id}" for student in self.all.values())
        return {word for word in TOKEN.findall(unicodedata.normalize("NFC", text).casefold()) if not word.isascii()}

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

    def mentioned(self, text: str) -> tuple[int, int, str] | None:
        """(start, end, id) of the first and longest name or id on the roster in a text; None if it has none."""
        tokens = [(found.start(), found.end(), words(found[0])) for found in TOKEN.finditer(text)]
        for at in range(len(tokens)):
            for end in range(min(len(tokens), at + LONGEST), at, -1):
                said = tuple(word for _, _, some in tokens[at:end] for word in some)
                if students := self._beginnings.get(said):
                    return tokens[at][0], tokens[end - 1][1], students[0].id
        return None

    def guess(self, owner: Owner) -> list[str]:
        """The students with an id or name that an owner's name begins with, if more may follow, such as a file's."""
        said = words(owner.name) if owner.is_text else ()
        return _ids_of(s for n in range(1, len(said) + 1) for s in self._beginnings.get(said[:n], []))

    def is_another(self, student: str, owner: Owner) -> bool:
        """Whether a name that begins with a student's id, one word of that student's name, goes on as somebody else's.

        So Tom Hanks is not the student `tom`, Tom O'Neil.
        """
        known = self.all[student]
        own, said = words(known.name), words(owner.name)
        if len(said) < 2 or words(known.id) != said[:1] or said[0] not in own or said[: len(own)] == own:
            return False
        word = said[1]
        return word.isalpha() and len(word) > 1 and word not in own and word not in FILE_WORDS

    def is_first_name(self, student: str, owner: Owner) -> bool:
        """Whether an owner is named by a word of a student's name alone, which the student's id is, but for case."""
        said, known = words(owner.name), self.all.get(student)
        if known is None or not owner.is_text or len(said) != 1 or owner.name == known.id:
            return False
        return said != words(known.name) and said[0] in words(known.name)


def _index(students: Iterable[Student], keys: Callable[[Student], Iterable[Key]]) -> dict[Key, list[Student]]:
    """The students by each of their keys; an empty key is none."""
    found: dict[Key, list[Student]] = {}
    for student in students:
        for key in filter(None, dict.fromkeys(keys(student))):
            found.setdefault(key, []).append(student)
    return found


def _ids_of(students: Iterable[Student]) -> list[str]:
    return list(dict.fromkeys(student.id for student in students))


def words(name: str) -> tuple[str, ...]:
    """The words of a name, without case and accents."""
    return tuple(_spelt(unicodedata.normalize("NFKD", name.casefold())).split())


def clean(name: str) -> str:
    """A student's id made from a name: `ada-lovelace` from "Ada Lovelace"; "" if nothing of it can be one."""
    made = "-".join(_spelt(unicodedata.normalize("NFC", name).casefold(), "_.@+").split()).strip(".-")
    return "" if files.problem_of(made) else made


def _spelt(name: str, others: str = "") -> str:
    """The letters of a name without accents, and `others`, with a blank for all else."""
    return "".join(c if letters.is_letter(c) or c in others else " " for c in letters.without_accents(name))


def last_name_first(student: Student) -> tuple[str, ...]:
    """The words of a student's name, the last name first, as Canvas writes it."""
    return words(f"{student.last_name} {student.first_name}")


def joined(student: Student) -> list[str]:
    """A student's name as one word, last name first and first name first."""
    return ["".join(last_name_first(student)), "".join(words(student.name))]
