"""Keeps what was handed in beside a notebook, for the page for grading by hand: few files, of safe names."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import Unreadable
from ..intake.shapes import Place
from ..submission import files, read
from ..verdict import is_printable

MOST = 100  # files of one student: more are a program's, and no answer
SIZE = 64 * 2**20  # bytes of them: three files of the largest size
DEEPEST = 4  # parts of a path
LONGEST = 120  # bytes of a name: with others in a path it stays within what file systems take
RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # that Windows opens as devices
UNSAFE = re.compile(r'[/\\:*?"<>|]')


def chosen(
    found: Sequence[tuple[Place, Path]], release: Path, assignment: str
) -> tuple[dict[Place, Path], list[Place]]:
    """(the files that are kept, by safe paths; the paths of those that are too much).

    Empty files are nothing, and neither are those that students got, unchanged.
    """
    kept: dict[Place, Path] = {}
    taken: set[str] = set()
    too_much: list[Place] = []
    room = SIZE
    for place, path in found:
        try:
            size = os.lstat(path).st_size
        except OSError:
            continue
        if not size or place[-1] == files.TIMESTAMP or _is_released(place, path, release, assignment):
            continue
        if len(kept) == MOST or size > min(room, read.MAX_FILE):
            too_much.append(place)
            continue
        room -= size
        safe = _unused(tuple(map(safe_name, place[-DEEPEST:])), taken)
        taken.add("/".join(safe).casefold())
        kept[safe] = path
    return kept, too_much


def safe_name(name: str) -> str:
    """A name for a file that no system takes for anything else."""
    name = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "replace"))
    name = UNSAFE.sub("_", "".join(c if is_printable(c) else "_" for c in name)).strip(" .") or "file"
    name = f"_{name}" if RESERVED.fullmatch(name) else name
    stem, suffix = os.path.splitext(name)
    suffix = suffix if len(suffix.encode()) < 20 else ""
    stem = stem.encode()[: LONGEST - len(suffix.encode())].decode("utf-8", "ignore")
    return (stem or "file") + suffix


def _unused(place: Place, taken: set[str]) -> Place:
    stem, suffix = os.path.splitext(place[-1])
    number, free = 1, place
    while "/".join(free).casefold() in taken or any(t.startswith("/".join(free).casefold() + "/") for t in taken):
        number += 1
        free = (*place[:-1], f"{stem} ({number}){suffix}")
    if any("/".join(free[:n]).casefold() in taken for n in range(1, len(free))):
        return _unused(("_".join(free),), taken)  # a file is where its folder should be
    return free


def _is_released(place: Place, path: Path, release: Path, assignment: str) -> bool:
    """Whether it is a file that students got, unchanged."""
    for there in (release.joinpath(assignment, *place), release / place[-1]):
        with contextlib.suppress(OSError, ValueError, Unreadable):
            if there.is_file() and read.read_bytes(there) == read.read_bytes(path):
                return True
    return False


def write(folder: Path, kept: Mapping[Place, Path]) -> None:
    """Put these files into the folder `beside` in a student's folder, in place of what is there."""
    target = folder / files.BESIDE
    made = Path(tempfile.mkdtemp(dir=folder, prefix=".new-"))
    try:
        for place, path in kept.items():
            into = made.joinpath(*place)
            into.parent.mkdir(parents=True, exist_ok=True)
            into.write_bytes(read.read_bytes(path))
        _remove(target)
        if kept:
            made.chmod(0o755)
            made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _remove(target: Path) -> None:
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
