"""The zips of `build --bundle`: the files that this build has made for students, and nothing else from release/."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import course
from ..errors import CourseError
from ..nbgrader import for_students
from . import exports, handins

FOLDER = "exports"


def write(root: Path, made: Mapping[str, str], names: Sequence[str] | None = None, address: str = "") -> list[Path]:
    """Write exports/release.zip or, with names of assignments, a zip for each of them; returns their paths.

    `made` has the SHA-256 of each file that was made, by its path in the course. The texts in a zip of one assignment
    are for that one alone; `address` is the desk's. Raises CourseError if a file is not as it was made.
    """
    contents = {place: _read(root, place, digest) for place, digest in sorted(made.items())}
    folders = {name: f"release/{name}/" for name in course.assignments(root)}
    (root / FOLDER).mkdir(exist_ok=True)
    written = []
    for name in names or ["release"]:
        others = [folder for other, folder in folders.items() if other != name] if names else []
        texts = for_students.texts(root, address, [name]) if names else {}
        pack = exports.Pack()
        for place, data in contents.items():
            if not any(place.startswith(other) for other in others):
                own = texts.get(place.removeprefix("release/"))
                pack.add(place, data if own is None else own.encode())
        written.append(root / FOLDER / f"{name}.zip")
        handins.replace_bytes(written[-1], pack.done())
    return written


def _read(root: Path, place: str, digest: str) -> bytes:
    path = root / place
    data = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
    if hashlib.sha256(data).hexdigest() != digest:
        raise CourseError(
            f"{place} is no longer what `autograder build` made of it: run it again, and don't edit release/."
        )
    if any(mark.encode() in data for mark in for_students.HIDDEN):
        raise CourseError(f"{place} holds a solution or hidden tests: nothing is bundled.")
    return data


def strays(root: Path, made: Mapping[str, str]) -> list[str]:
    """Files and folders in release/ that were not made, without assignments that were built at other times."""
    found, folders = [], [root / "release"]
    while folders:
        for path in folders.pop().iterdir():
            place = path.relative_to(root).as_posix()
            if path.is_dir() and not path.is_symlink():
                if any(other.startswith(f"{place}/") for other in made):
                    folders.append(path)
                    continue
                if path.parent == root / "release" and path.name in course.assignments(root):
                    continue
            if place not in made:
                found.append(place)
    return sorted(found)
