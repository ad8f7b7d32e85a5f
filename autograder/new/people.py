"""The people of a course that was taught, so that none of them gets into the next one."""

from __future__ import annotations

import contextlib
import itertools
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from ..grading.store import FOLDER

WORK = ("submitted", "autograded", "feedback")  # folders whose own folders are named after students
GRADEBOOK = "gradebook.db"
MOST = 100_000  # people
SHORTEST = 3  # letters of a name that is looked for in a text
QUESTION = "select id, first_name, last_name, email from student limit ?"


@dataclass(frozen=True)
class People:
    """Whom a course knows, in lower case: their `ids` and addresses, and the `words` of their ids and names.

    `evident` are those of their ids, addresses and whole names that no other text has by chance.
    """

    ids: frozenset[str]
    words: frozenset[str]
    evident: frozenset[str]

    def has(self, text: str) -> bool:
        """Whether a text, as a whole, is somebody's id or address."""
        return text.strip().lower() in self.ids

    def are_in(self, text: str) -> bool:
        """Whether a word of a text is an id, an address or a part of a name."""
        text = text.lower()
        return not self.words.isdisjoint(re.findall(r"\w+", text)) or not self.ids.isdisjoint(re.findall(r"\S+", text))

    def are_evident_in(self, text: str) -> bool:
        """Whether somebody's address, whole name, or id with a digit in it is in a text."""
        words = re.findall(r"[\w.@+-]*\w", text.lower())
        pairs = (f"{one} {other}" for one, other in itertools.pairwise(words))
        return not self.evident.isdisjoint(words) or not self.evident.isdisjoint(pairs)


def people_of(root: Path) -> People:
    """The people of the course in a folder: of its gradebook, if that is SQLite's file there, and of all their work."""
    ids = {path.name for name in WORK for path in _inside(root / name) if path.is_dir()}
    ids |= {path.stem for folder in _inside(root / FOLDER / "verdicts") for path in _inside(folder)}
    rows = _in_gradebook(root / GRADEBOOK)
    ids |= {row[0] for row in rows}
    addresses = {row[3].lower() for row in rows} - {""}
    ids = {one.lower() for one in ids} - {""}
    names = {text for _, first, last, _ in rows for text in (first, last)}
    words = {word for text in ids | names for word in re.findall(r"\w+", text.lower()) if len(word) >= SHORTEST}
    evident = addresses | {one for one in ids if re.search(r"\d", one) and not one.isdecimal() or "@" in one}
    evident |= {f"{first} {last}".lower() for _, first, last, _ in rows if first and last}
    return People(
        frozenset(ids | addresses), frozenset(one for one in words if not one.isdecimal()), frozenset(evident)
    )


def _inside(folder: Path) -> list[Path]:
    """What is in a folder; nothing of what is none, or cannot be opened."""
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def _in_gradebook(path: Path) -> list[tuple[str, str, str, str]]:
    """(id, first name, last name, address) of the students in a gradebook, which is only read; "" for what is not."""
    if not path.is_file():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as book:
            rows = book.execute(QUESTION, (MOST,)).fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return []
    found = [tuple(str(value or "") for value in row) for row in rows]
    return [(id, first, last, email) for id, first, last, email in found]
