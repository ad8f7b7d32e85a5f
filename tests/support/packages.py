"""Courses as installed packages, in a folder of packages of a test's own: nothing is downloaded, and pip is not run."""

import json
import shutil
import sys
from pathlib import Path

from small_course import AVERAGES, NAME

from autograder import course


def install(site: Path, name: str, origin: Path = AVERAGES, value: str | None = None) -> Path:
    """Install a course as pip does, as the package `NAME-course` with the module `NAME_course`; returns its folder.

    `value` is what the entry point says in place of the module. Then `look` finds it.
    """
    module = f"{name}_course"
    folder = copied(origin, site / module)
    (folder / "__init__.py").touch()
    about = site / f"{module}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-course\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[autograder.courses]\n{name} = {value or module}\n")
    files = [path.relative_to(site).as_posix() for path in (*folder.rglob("*"), *about.iterdir()) if path.is_file()]
    (about / "RECORD").write_text("".join(f"{file},,\n" for file in [*files, f"{about.name}/RECORD"]))
    return folder


def copied(origin: Path, place: Path) -> Path:
    """A copy of a folder, without what Python and setuptools make in it."""
    return Path(shutil.copytree(origin, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")))


def renamed(folder: Path, lesson: str, names: dict[str, str]) -> None:
    """Give an installed copy of the course on averages other names: to its lesson, and to exercises."""
    path = folder / "source" / NAME
    text = (path / f"{NAME}.ipynb").read_text(encoding="utf-8").replace(NAME, lesson)
    for before, after in names.items():
        text = text.replace(before, after)
        (folder / "exercises" / before).rename(folder / "exercises" / after)
        for file in (folder / "exercises" / after).rglob("*.py"):
            file.write_text(file.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    json.loads(text)
    (path / f"{NAME}.ipynb").write_text(text, encoding="utf-8")
    (path / f"{NAME}.ipynb").rename(path / f"{lesson}.ipynb")
    path.rename(path.with_name(lesson))


def look(monkeypatch, site: Path, first: bool = False) -> None:
    """Have what is installed there found, in this process: after what is here already, or before it."""
    monkeypatch.setattr(sys, "path", [str(site), *sys.path] if first else [*sys.path, str(site)])
    course.forget()
