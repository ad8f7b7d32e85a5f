"""`autograder new course --from NAME`: a course with the lessons of courses that are installed as packages.

The lessons are copied, since they are the instructor's to change; checks, mistakes and right answers stay in the
packages, and get better with them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from .. import course, installed
from ..course import Assignment
from ..errors import UsageError
from ..nbgrader import for_students
from . import last_year, scratch

NUMBER = re.compile(r"(\d+)_")


def course_from(sources: Sequence[str], folder: str | None = None) -> str:
    """Make a course from last year's folder, or from installed courses by name; returns a message. Raises UsageError.

    A name that is a folder means that folder.
    """
    if len(sources) == 1 and (Path(sources[0]).is_dir() or not _is_name(sources[0])):
        return last_year.course_from(sources[0], folder)
    if folders := [source for source in sources if Path(source).is_dir() or not _is_name(source)]:
        raise UsageError(f"{folders[0]} is a folder: only installed courses, by name, can be put together.")
    packages = list(dict.fromkeys(map(_named, sources)))
    if folder is None:
        raise UsageError(f"Name a folder for the course: `autograder new course --from {sources[0]} DIR`.")
    return _course_of(packages, Path(folder))


def _is_name(source: str) -> bool:
    """Whether this can be the name of an installed course, and no path."""
    return "/" not in source and source not in ("", ".", "..")


def _named(name: str) -> installed.Installed:
    """The installed course of this name, which has lessons. Raises UsageError."""
    found = installed.named(name)
    if found is None:
        known = ", ".join(one.name for one in installed.courses()) or "none"
        raise UsageError(
            f"{name} is no folder, such as last year's course, and no course of that name is installed, but {known}."
            + "".join(f" {problem}" for problem in installed.problems())
        )
    if not course.assignments(found.folder):
        raise UsageError(
            f"The installed package {found.package} has no lessons: its exercises can be used as they are."
        )
    return found


def _course_of(packages: list[installed.Installed], place: Path) -> str:
    scratch.require_room(place)
    require_apart(packages)
    title, names = place.resolve().name, " and ".join(one.name for one in packages)
    try:
        shutil.copytree(scratch.TEMPLATES / "packaged", place, dirs_exist_ok=True)
        (place / "source").mkdir()
        scratch.fill(place / "README.md", {"TITLE": title, "COURSES": names})
        lessons = _copy_lessons(packages, place / "source")
        scratch.write_frame(place, title)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    lines = [f"Written to {place}, with the exercises of {_listed(packages)}:", *(f"  {lesson}" for lesson in lessons)]
    return "\n".join([*lines, scratch.next_steps(place)])


def require_apart(packages: Sequence[installed.Installed]) -> None:
    """Raises UserError if an exercise of the packages' lessons has checks in two packages, or is in lessons of two.

    Whatever else is installed counts, too: the course would find both.
    """
    owners: dict[str, installed.Installed] = {}
    for package in packages:
        for name in course.exercises(package.folder):
            course.shared_folder_of(name)
            if (other := owners.setdefault(name, package)) is not package:
                raise UsageError(
                    f"The exercise {name!r} is in lessons of two packages, {other.package} and {package.package}: a"
                    " course can have it once."
                )


def _copy_lessons(packages: Sequence[installed.Installed], source: Path) -> list[str]:
    """Copy the lessons; one whose number is taken gets the next that is free. Returns a line about each."""
    lines: list[str] = []
    taken: set[int] = set()
    kept: set[str] = set()
    for package in packages:
        for path in for_students.RELEASED:
            if (text := package.folder / "source" / path).is_file():
                shutil.copyfile(text, source / path)
        for lesson in course.assignments(package.folder).values():
            name = _free_name(lesson.name, taken)
            if name in kept:
                raise UsageError(
                    f"Two of the courses have a lesson {name}, and it has no number that could be changed."
                )
            kept.add(name)
            _copy(lesson, source / name)
            was = "" if name == lesson.name else f" (there: {lesson.name})"
            lines.append(f"{name}, from {package.name}{was}")
    return lines


def _free_name(name: str, taken: set[int]) -> str:
    """The name of a lesson with its own number, or with the next if that is taken; takes it."""
    found = NUMBER.match(name)
    if found is None:
        return name
    number = int(found[1])
    if number in taken:
        number = max(taken) + 1
    taken.add(number)
    return f"{number:0{len(found[1])}d}_{name[found.end() :]}"


def _copy(lesson: Assignment, place: Path) -> None:
    """Copy a lesson's folder; where it gets another name, its texts say that."""
    shutil.copytree(lesson.path.parent, place, ignore=scratch.LEFT_OUT)
    if place.name == lesson.name:
        return
    path = (place / lesson.path.name).rename(place / f"{place.name}.ipynb")
    notebook = course.notebook_in(path)
    before, after = (name.partition("_")[0] for name in (lesson.name, place.name))
    for cell in notebook["cells"]:
        text = course.source_of(cell).replace(lesson.name, place.name)
        if cell is notebook["cells"][0]:
            text = re.sub(rf"\A# {before}\b", f"# {after}", text)
        cell["source"] = text.splitlines(keepends=True)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _listed(packages: Sequence[installed.Installed]) -> str:
    return " and ".join(f"{one.package} {one.version}".strip() for one in packages)
