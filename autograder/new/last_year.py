"""`autograder new course --from LAST`: next year's course, with all that is the instructor's and none of the students.

What is taken is named here, so what a course keeps elsewhere, now or in future, stays where it is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from .. import course
from ..errors import CourseError, Unreadable, UsageError
from ..groups import names
from ..submission.read import MAX_FILE, read_bytes
from ..verdict import printable
from . import scratch, secrets
from .people import People, people_of
from .settings import FILE, settings

TAKEN = ("source", "exercises")  # folders
MADE = ("release", "solutions")
README = "README.md"
OF_TOOLS = re.compile(r"__pycache__|\..*|.*~")
MOST_FILES, MOST_BYTES = 10_000, 2**29
DEEPEST = 40  # folders inside each other
NAMED, LONGEST = 5, 120  # things that a list names, and characters of each
MONTH = "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
MONTH += "|Nov(?:ember)?|Dec(?:ember)?"
DATE = re.compile(
    rf"\b20\d\d-\d\d-\d\d\b|\b\d\d?[./]\d\d?[./]20\d\d\b"
    rf"|\b\d\d?(?:st|nd|rd|th)?\.? (?:{MONTH})\b(?: 20\d\d)?|\b(?:{MONTH}) \d\d?(?:st|nd|rd|th)?\b(?:,? 20\d\d)?"
)
YEAR = re.compile(r"(?<!\d)(20\d\d)(?:([-_/])((?:20)?\d\d))?(?!\d)")


@dataclass
class Taking:
    """What is taken into a new course, as {path in it: content}, and what is said of the rest, in lists of names."""

    files: dict[Path, bytes] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)
    secret: list[str] = field(default_factory=list)
    persons: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # settings and sentences, with the reasons
    to_check: list[str] = field(default_factory=list)
    sentences: int = 0
    size: int = 0  # bytes of the files


def course_from(last: str, folder: str | None = None) -> str:
    """Make a course in a folder from last year's, which is only read; returns a message. Raises UsageError.

    Without a folder, it is named like last year's with the next year.
    """
    root = _course_at(last)
    place = Path(folder) if folder else _next_name(root)
    _require_apart(root, place, last)
    scratch.require_room(place)
    people = people_of(root)
    taking = Taking()
    _take_sentences(taking, root, people)
    _take_settings(taking, root, people)
    for name in (README, *TAKEN) if root != course.kits_own() else TAKEN:
        for path in _files(root / name, taking, root):
            _take(taking, path, root, people)
    if not any(path.suffix == ".ipynb" for path in taking.files):
        raise UsageError(f"{last} has no notebook in source/ that could be taken: {_listed(_lost(taking)) or 'none'}.")
    _write(taking, place)
    return _message(taking, root, place)


def _write(taking: Taking, place: Path) -> None:
    """Write the new course, or nothing of it."""
    try:
        for path, data in taking.files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(data)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _course_at(last: str) -> Path:
    """The folder of last year's course. Raises UsageError."""
    root = Path(last)
    if not root.is_dir():
        raise UsageError(f"{last} is no folder: give the folder of last year's course.")
    if not course.is_course(root):
        raise UsageError(f"{last} is no course: a course has {FILE} and source/ in its folder.")
    return root.resolve()


def _require_apart(root: Path, place: Path, last: str) -> None:
    """Raises UsageError if one of the two courses would be in the other."""
    there = place.resolve()
    if there == root:
        raise UsageError(f"{last} is last year's course itself: choose another folder for the new one.")
    if there in root.parents:
        raise UsageError(f"{last} is inside {place}: choose a folder beside last year's course.")


def _next_name(root: Path) -> Path:
    """A name like that of last year's folder: its year and what follows is one more, or this year is added."""

    def one_more(year: re.Match[str]) -> str:
        first, between, second = year.groups()
        more = f"{int(second) + 1:0{len(second)}d}"[-len(second) :] if second else ""
        return f"{int(first) + 1}{between or ''}{more}"

    name, changed = YEAR.subn(one_more, root.name, count=1)
    return Path(name if changed else f"{root.name}-{datetime.now().year}")


# --- what is taken --------------------------------------------------------------------------------


def _take_settings(taking: Taking, root: Path, people: People) -> None:
    try:
        data = read_bytes(root / FILE)
    except Unreadable as problem:
        raise UsageError(f"{FILE} in {root} cannot be taken. {problem}") from None
    found = settings(data, root, people)
    taking.files[Path(FILE)] = found.text.encode()
    taking.left_out += [f"{name} in {FILE}, since {reason}" for name, reason in found.left_out]
    taking.to_check += [f"{name} in {FILE}: is it this year's, too?" for name in found.to_check]
    taking.to_check += _dates(Path(FILE), found.text)


def _take_sentences(taking: Taking, root: Path, people: People) -> None:
    """The instructor's sentences for wrong answers, but for those whose examples name somebody."""
    if not os.path.lexists(root / names.FILE):
        return
    try:
        found = names.read(root)
    except (CourseError, UsageError) as problem:
        taking.left_out.append(f"all of {names.FILE}, since it cannot be used: {problem}")
        return
    kept = [one for one in found if not _tells(" ".join([one.says, *(text for _, text in one.code)]), people)]
    taking.left_out += [
        f"the sentence {one.id}, since it or its example has a name or a key in it" for one in found if one not in kept
    ]
    taking.sentences = len(kept)
    if kept:
        taking.files[Path(names.FILE)] = names.text_of(kept).encode()


def _tells(text: str, people: People) -> bool:
    """Whether a student's code, of which only the texts may say a name, or a sentence about it gives something away."""
    quoted = " ".join(re.findall(r"\"[^\"]*\"|'[^'\n]*'", text))
    return secrets.is_secret(text) or people.are_in(quoted)


def _files(top: Path, taking: Taking, root: Path) -> Iterator[Path]:
    """The files of a folder, or the one file, in order, without what tools make; links are noted and not followed."""
    if top.is_symlink():
        taking.links.append(top.name)
    elif top.is_file():
        yield top
    for folder, folders, files in os.walk(top if not top.is_symlink() else os.devnull):
        here = Path(folder)
        links = {name for name in folders if (here / name).is_symlink()}
        taking.links += sorted(_shown(here / name, root) for name in links)
        folders[:] = sorted(name for name in folders if name not in links and not OF_TOOLS.fullmatch(name))
        if folders and len(here.relative_to(root).parts) >= DEEPEST:
            taking.unread += [_shown(here / name, root) for name in folders]
            folders.clear()
        yield from (here / name for name in sorted(files) if not OF_TOOLS.fullmatch(name))


def _take(taking: Taking, path: Path, root: Path, people: People) -> None:
    """Take a file, or note why not."""
    shown = _shown(path, root)
    if path.is_symlink():
        taking.links.append(shown)
        return
    if secrets.is_file_of_secrets(path.name):
        taking.secret.append(shown)
        return
    try:
        if path.stat().st_size > MAX_FILE or len(taking.files) >= MOST_FILES or taking.size >= MOST_BYTES:
            taking.large.append(shown)
            return
        data = read_bytes(path)
    except (OSError, Unreadable):
        taking.unread.append(shown)
        return
    text = "" if b"\0" in data[:8192] else data.decode("utf-8", "replace")
    if secrets.is_secret(text):
        taking.secret.append(shown)
    elif path.suffix not in (".ipynb", ".py", ".md") and _is_list_of(people, text):
        taking.persons.append(shown)
    else:
        taking.files[path.relative_to(root)] = data
        taking.size += len(data)
        taking.to_check += _dates(path.relative_to(root), text)
        if people.are_evident_in(text) or people.are_evident_in(path.stem.replace("_", " ")):
            taking.to_check.append(f"{shown} names somebody of last year's class")


def _is_list_of(people: People, text: str) -> bool:
    """Whether a file of data has somebody's id or address in one of its fields."""
    return any(people.has(part.strip("\"'")) for part in re.split(r"[,;\t|\n\r]", text))


def _dates(path: Path, text: str) -> list[str]:
    """Where a text that people read says a date, such as a deadline: this year's is another."""
    if path.suffix == ".ipynb":
        try:
            cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
            text = "\n".join(map(course.source_of, cells))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return []
    elif path.suffix not in (".md", ".txt", ".py"):
        return []
    found = list(dict.fromkeys(DATE.findall(text)))
    return [f"{printable(str(path))} says {_listed(found)}"] if found else []


# --- what is said ---------------------------------------------------------------------------------


def _message(taking: Taking, root: Path, place: Path) -> str:
    """What was taken, what was not and why, and what to check, in a few lines."""
    counts = {name: sum(path.parts[0] == name for path in taking.files) for name in TAKEN}
    taken = [f"{name}/ ({many} file{'' if many == 1 else 's'})" for name, many in counts.items() if many] + [FILE]
    if taking.sentences:
        taken.append(f"{names.FILE} ({taking.sentences} sentence{'' if taking.sentences == 1 else 's'} of yours)")
    taken += [README] * (Path(README) in taking.files)
    lines = [f"Taken from {root}:", *(f"  {one}" for one in taken), "Not taken:"]
    lines += [f"  {one}" for one in _not_taken(taking, root)]
    lines += ["Check:", "  due dates: they were in last year's gradebook, so none is set"]
    lines += [f"  {one}" for one in _short(taking.to_check)]
    lines += ["Next:", f"  cd {place}", "  autograder build      # release/ and solutions/", "  autograder doctor"]
    return "\n".join(lines)


def _not_taken(taking: Taking, root: Path) -> list[str]:
    """Lines about all that was left where it is."""
    taken = {path.parts[0] for path in taking.files} | set(TAKEN) | set(taking.links) | {names.FILE, README}
    others = [path.name for path in sorted(root.iterdir()) if path.name not in taken and path.name not in MADE]
    elsewhere = _listed([_shown(root / name, root) for name in others])
    lines = [f"last year's class, its work, keys and logs, and whatever else is there{elsewhere and f': {elsewhere}'}"]
    return [*lines, "release/ and solutions/, which `autograder build` makes", *_lost(taking), *_short(taking.left_out)]


def _lost(taking: Taking) -> list[str]:
    """A line for each reason why files were not taken."""
    reasons = {
        "links": taking.links,
        f"larger than {MAX_FILE // 2**20} MB, or too much in all": taking.large,
        "what looks like a password or a key": taking.secret,
        "what names last year's students": taking.persons,
        "what cannot be read": taking.unread,
    }
    return [f"{reason}: {_listed(found)}" for reason, found in reasons.items() if found]


def _short(lines: list[str]) -> list[str]:
    more = len(lines) - 2 * NAMED
    return [*lines[: 2 * NAMED], *[f"and {more} more"] * (more > 0)]


def _listed(found: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(found[:NAMED]) + more


def _shown(path: Path, root: Path) -> str:
    """A file's path as it may be printed."""
    text = printable(os.fsencode(path.relative_to(root)).decode("utf-8", "replace")).replace("\n", " ")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
