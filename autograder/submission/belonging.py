"""Finds files below `submitted/` that belong to no student's hand-in, and so are not graded.

Folders are listed and no link is followed; of files that may be a notebook by their endings, the beginning is read. It
costs a class of 500 some thousand system calls.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from . import files, kinds, letters, read
from .read import StrPath

NOTEBOOK = ".ipynb"
# that may contain an answer and that nobody opens; a student's data and plots do not
HOLDERS = (
    *(".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar"),
    *(".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages", ".md", ".tex", ".txt", ".jpg", ".jpeg", ".heic", ".py"),
)
HARMLESS = {"__macosx", "__pycache__", "thumbs.db", "desktop.ini"}  # and whatever begins with a dot
MOST = 3  # sentences on one student's folder: what one student hands in hides nothing of others
DEEPEST = 3  # folders below an assignment's that are searched for a notebook
LIKE = str.maketrans("аеорсухіјѕԁһӏкмтвοανικρτυı", "aeopcyxijsdhlkmtboavikptui")  # other letters, as Latin ones


def strays(
    submitted: StrPath,
    assignments: Sequence[str],
    looked_at: Collection[str],
    enrolled: Collection[str] = (),
    dropped: Collection[str] = (),
    released: StrPath = os.devnull,
) -> Iterator[str]:
    """A sentence for each folder and file that belongs to nobody.

    `assignments` are those of the course; of `looked_at`, students' folders are searched, too. `enrolled` are the
    students of the roster: if there is one, others are named. What students got lies in the folder `released`.
    """
    for name in files.strays(submitted):
        if _counts(name):
            yield f"{name}: this is in submitted/ but is not a student's folder, so it is not graded"
    students = [name for name in _folders(submitted) if _counts(name)]
    for student in students:
        folder = os.path.join(submitted, student)
        there = _entries(folder)
        meant = "" if any(name in assignments for name in there) else nearest(student, assignments)
        if meant:
            yield (
                f"{student}: this folder in submitted/ is named like the assignment {meant}, and a student's folder"
                f" comes first: submitted/STUDENT/{meant}/"
            )
            continue
        said = list(_in_folder(student, folder, there, assignments, looked_at, released))
        yield from said[:MOST]
        if len(said) > MOST:
            yield f"{student}: and {len(said) - MOST} more files and folders that are not graded"
        handed_in = any(name in looked_at for name in there)
        if enrolled and handed_in and student not in enrolled and student not in dropped:
            yield f"{student}: handed in, but is not on the roster: check the folder's name for a typo"
    yield from _alike(students)


def _in_folder(
    student: str,
    folder: str,
    there: Collection[str],
    assignments: Sequence[str],
    looked_at: Collection[str],
    released: StrPath,
) -> Iterator[str]:
    """Sentences on what is not graded in a student's folder, in which `there` lie these entries."""
    for name in sorted(there):
        if name not in assignments:
            yield from _unknown(student, name, os.path.join(folder, name), assignments)
        elif name in looked_at:
            yield from _beside(student, name, os.path.join(folder, name), os.path.join(released, name))


def _unknown(student: str, name: str, path: str, assignments: Sequence[str]) -> Iterator[str]:
    """A sentence on an entry of a student's folder that is not called like an assignment."""
    if os.path.isdir(path) and not os.path.islink(path) and not _entries(path):
        return
    meant = nearest(name.removesuffix(NOTEBOOK), assignments)
    wanted = f"submitted/{student}/{meant or 'ASSIGNMENT'}/"
    yield f"{student}: {name} is not an assignment's folder, so it is not graded; the notebook belongs in {wanted}"


def _beside(student: str, assignment: str, folder: str, released: str) -> Iterator[str]:
    """Sentences on other notebooks, archives, documents and programs in a student's folder of an assignment."""
    waiting = [("", folder)]
    while waiting:
        place, path = waiting.pop(0)
        for name in sorted(found := _entries(path)):
            if (place, name) == ("", files.BESIDE):  # the page for grading by hand shows it
                continue
            here = f"{place}{name}"
            if found[name] and here.count("/") < DEEPEST:
                waiting.append((f"{here}/", os.path.join(path, name)))
            is_notebook = here != f"{assignment}{NOTEBOOK}" and not found[name] and _is_notebook(path, name)
            may_hold = name.lower().endswith(HOLDERS) and here != files.TIMESTAMP
            if is_notebook or (may_hold and not os.path.lexists(os.path.join(released, here))):
                yield f"{student}: {assignment}/{here} is not graded: only {assignment}/{assignment}{NOTEBOOK} is"


def _is_notebook(folder: str, name: str) -> bool:
    """Whether a file is a notebook by its name, or else by its content."""
    if NOTEBOOK in name.lower():
        return True
    may_be = os.path.splitext(name)[1].strip().lower() in kinds.ENDINGS
    return may_be and read.may_be_one(os.path.join(folder, name))


def _alike(students: Sequence[str]) -> Iterator[str]:
    """A sentence for each group of students with names that look alike."""
    groups: dict[str, list[str]] = {}
    for student in students:
        if not files.problem_of(student.strip()):
            groups.setdefault(_look(student), []).append(student)
    for group in groups.values():
        if len(group) > 1:
            names = ", ".join(group)
            yield f"{names}: folders in submitted/ with names that look alike, each taken for a student of its own"


def nearest(name: str, assignments: Sequence[str]) -> str:
    """The assignment that a name is meant to be, by its number or its letters; "" if it is none."""
    plain = {_plain(assignment): assignment for assignment in assignments}
    if _plain(name) in plain:
        return plain[_plain(name)]
    number = re.match(r"\D{0,12}?0*(\d+)(?!\d)", name)  # as in 1_first, hw1, Lesson 01
    same = [a for a in assignments if number and re.match(rf"0*{number[1]}(?!\d)", a)]
    if len(same) == 1 and (_is_number(name) or _are_close(_letters(name), _letters(same[0]))):
        return same[0]
    return next((plain[close] for close in _close(_plain(name), list(plain))), "")


def _is_number(name: str) -> bool:
    """Whether a name is a number alone, or one after a word such as "homework"."""
    return bool(re.fullmatch(r"(hw|homework|assignment|lesson|exercise|week|unit|lab)?[\W_]*\d+", name, re.IGNORECASE))


def _are_close(letters: str, wanted: str) -> bool:
    return bool(_close(letters, [wanted])) or (len(letters) > 2 and wanted.startswith(letters))


def _close(name: str, others: list[str]) -> list[str]:
    return difflib.get_close_matches(name, others, n=1, cutoff=0.8) if len(name) < 200 else []


def _plain(name: str) -> str:
    """A name without case, separators and leading zeros."""
    return "".join(re.sub(r"^0+(?=\d)", "", part) for part in _look(name).split())


def _letters(name: str) -> str:
    return re.sub(r"\d+", "", _plain(name))


def _look(name: str) -> str:
    """What a reader sees of a name: no case, accents or kinds of blanks, and Latin letters for others like them."""
    seen = unicodedata.normalize("NFKD", name).casefold().translate(LIKE)
    seen = "".join(char for char in letters.without_accents(seen) if unicodedata.category(char) != "Cc")
    return " ".join("".join(char if letters.is_letter(char) else " " for char in seen).split()) or name


def _folders(submitted: StrPath) -> list[str]:
    return sorted(name for name, is_folder in _entries(submitted, most=None).items() if is_folder)


def _entries(folder: StrPath, most: int | None = files.MAX_NAMES) -> dict[str, bool]:
    """Whether each entry of a folder is a folder itself, without what is harmless; none if it cannot be read."""
    found: dict[str, bool] = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if most is not None and number >= most:
                break
            if _counts(entry.name):
                found[entry.name] = entry.is_dir(follow_symlinks=False)
    return found


def _counts(name: str) -> bool:
    return not name.startswith(".") and name.casefold() not in HARMLESS
