"""The courses that are installed as packages: each is named by an entry point of the group `autograder.courses`.

An entry point `linalg = "linalg_course"` says that the package `linalg_course` is a folder like a course: `exercises/`
with checks, mistakes and right answers, and `source/` with lessons. An instructor installed it, so its code is trusted;
but one that is broken is a sentence, and the others work.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePath

from .errors import Ended, UsageError

GROUP = "autograder.courses"
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
PARTS = ("exercises", "source")  # a course has one of these folders, or both
LONGEST = 200  # characters of what an error of a package says


@dataclass(frozen=True)
class Installed:
    """A course that is installed: its `name`, the `package` that pip knows, its `module` and the `folder` of that."""

    name: str
    package: str
    version: str
    module: str
    folder: Path

    @property
    def exercises(self) -> Path:
        """The folder of its exercises, which may be missing."""
        return self.folder / "exercises"


@dataclass(frozen=True)
class Broken:
    """A package that names a course which cannot be used; `problem` is a sentence that names the package."""

    name: str
    package: str
    problem: str


def courses() -> tuple[Installed, ...]:
    """The installed courses that can be used, by name and package; no two in one folder."""
    by_folder = {one.folder: one for one in reversed(_found()) if isinstance(one, Installed)}
    return tuple(sorted(by_folder.values(), key=lambda one: (one.name, one.package)))


def problems() -> tuple[str, ...]:
    """A sentence for each course that is installed and cannot be used."""
    return tuple(dict.fromkeys(one.problem for one in _found() if isinstance(one, Broken)))


def named(name: str) -> Installed | None:
    """The installed course of this name, or of the package of this name; None if there is none.

    Raises UsageError if it is broken, or if two packages use that name.
    """
    asked = _normal(name)
    fits = [one for one in courses() if asked in (_normal(one.name), _normal(one.package))]
    if len(fits) > 1:
        both = " and ".join(f"{one.package} ({one.folder})" for one in fits[:2])
        raise UsageError(f"Two installed packages name a course {name!r}, {both}: uninstall one of them.")
    broken = [one for one in _found() if isinstance(one, Broken) and asked in (_normal(one.name), _normal(one.package))]
    if broken and not fits:
        raise UsageError(broken[0].problem)
    return next(iter(fits), None)


def secret_paths() -> set[str]:
    """The real paths of all that these packages installed, which holds answers: no student's code may read them.

    It looks each time, and at each copy: what came after the others, or is hidden by another one, has answers, too.
    """
    paths = {str(one.folder) for one in courses()}
    for distribution in _copies():
        paths |= set(_installed_by(distribution))
    return {os.path.realpath(path) for path in paths if os.path.exists(path)}


def forget() -> None:
    """Look again at what is installed when it is next asked for."""
    _distributions.cache_clear()
    _found.cache_clear()


# --- how they are found ---------------------------------------------------------------------------


@functools.cache
def _distributions() -> tuple[metadata.Distribution, ...]:
    """The installed packages that name courses; of two copies of one, the first on the path."""
    found: dict[str, metadata.Distribution] = {}
    for distribution in _copies():
        found.setdefault(_normal(_name_of(distribution)), distribution)
    return tuple(found.values())


def _copies() -> Iterator[metadata.Distribution]:
    """All copies of the packages that name courses, or try to, in the order of the path."""
    for distribution in metadata.distributions():
        try:
            names_courses = GROUP in (distribution.read_text("entry_points.txt") or "")
        except UnicodeDecodeError as error:
            names_courses = GROUP.encode() in error.object
        except (OSError, ValueError):  # what cannot be read names no course
            continue
        if names_courses:
            yield distribution


@functools.cache
def _found() -> tuple[Installed | Broken, ...]:
    return tuple(one for distribution in _distributions() for one in _courses_of(distribution))


def _courses_of(distribution: metadata.Distribution) -> Iterator[Installed | Broken]:
    package = _name_of(distribution)
    try:
        points = [(point.name, point.value) for point in distribution.entry_points if point.group == GROUP]
    except Exception as error:  # `importlib.metadata` has no error of its own for a malformed file
        yield Broken(package, package, _sentence(package, f"its entry points cannot be read ({_said(error)})"))
        return
    for name, value in points:
        try:
            folder = _folder_of(value)
        except Ended:
            raise
        except (Exception, SystemExit) as error:  # looking for a module inside a package runs that package
            yield Broken(name, package, _sentence(package, f"{value!r} cannot be imported ({_said(error)})", name))
            continue
        if isinstance(folder, str):
            yield Broken(name, package, _sentence(package, folder, name))
        else:
            yield Installed(name, package, _field(distribution, "Version"), value, folder)


def _folder_of(value: str) -> Path | str:
    """The folder of the package that an entry point names, or what is wrong with it."""
    if not MODULE.fullmatch(value):
        return f"{value!r} should be the name of a package, such as 'linalg_course'"
    spec = importlib.util.find_spec(value)
    if spec is None:
        return f"there is no package {value!r}"
    folders = [Path(os.path.realpath(place)) for place in spec.submodule_search_locations or () if os.path.isdir(place)]
    if len(folders) != 1:
        return f"{value!r} is no package with a folder of its own"
    if not any((folders[0] / part).is_dir() for part in PARTS):
        return f"{folders[0]} has neither exercises/ nor source/"
    return folders[0]


def _installed_by(distribution: metadata.Distribution) -> Iterator[str]:
    """What a package installed: folders and single modules among the packages, its metadata, and files elsewhere."""
    if place := _metadata_of(distribution):
        yield place
    for path in {_top_of(PurePath(file)) for file in _files_of(distribution)}:
        yield (found := str(distribution.locate_file(path)))
        if path.suffix == ".py":  # Python compiles a module when it is first imported, and no list knows of that
            compiled = os.path.join(os.path.dirname(found), "__pycache__", path.stem)
            yield from glob.glob(f"{glob.escape(compiled)}.*.pyc")


def _top_of(file: PurePath) -> PurePath:
    """The folder of a package's own that lies among the packages, or the file itself where it is in none."""
    is_apart = file.parts[:1] in ((), ("..",), ("/",), ("__pycache__",))
    return file if is_apart else PurePath(file.parts[0])


def _files_of(distribution: metadata.Distribution) -> list[str]:
    """The list of a package's files; where there is none that can be read, the packages that it names as courses."""
    with contextlib.suppress(Exception):  # as for entry points
        if files := distribution.files:
            return list(map(str, files))
    with contextlib.suppress(Exception):
        values = [point.value for point in distribution.entry_points if point.group == GROUP]
        tops = [value.partition(".")[0] for value in values if MODULE.fullmatch(value)]
        return [*tops, *(f"{top}.py" for top in tops)]
    return []


def _metadata_of(distribution: metadata.Distribution) -> str | None:
    """The folder of a package's metadata, or the archive in which that lies with all else."""
    place = PurePath(str(getattr(distribution, "_path", "")))  # `importlib.metadata` has no public name for it
    for path in map(str, (place, *place.parents)):
        if os.path.exists(path):
            return path if path == str(place) or os.path.isfile(path) else None
    return None


def _sentence(package: str, what: str, name: str = "") -> str:
    course = f"the course {name!r}" if name else "its courses"
    return f"The installed package {package} cannot be used for {course}: {what}. Update or uninstall it."


def _said(error: BaseException) -> str:
    """What an error says, on one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _name_of(distribution: metadata.Distribution) -> str:
    return _field(distribution, "Name") or "without a name"


def _field(distribution: metadata.Distribution, field: str) -> str:
    """A field of a package's metadata, or "" where there is none."""
    try:
        return distribution.metadata[field] or ""
    except Exception:  # of what has no metadata, or none that can be read
        return ""


def _normal(name: str) -> str:
    """A name as package indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()
