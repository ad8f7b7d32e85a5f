"""Checks the options in nbgrader_config.py: a misspelt one would be ignored silently."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from traitlets import TraitError
from traitlets.config import Config, Configurable
from traitlets.config.loader import LazyConfigValue
from traitlets.utils.importstring import import_item

from .. import course
from ..errors import CourseError
from ..grading.course_faults import meant
from ..verdict import CREDIT, CREDITS
from . import points

OURS = {  # options of this kit that are no class's
    "Exercises": ("points", "credit"),
    "Release": ("colab",),
    # desk/settings.py and desk/doors/ have their values
    "Desk": ("tell", "at_once", "every", "limit", "counts", "who", "assignments", "address", "hub", "lti"),
}
PREPROCESSORS = f"{__package__}.preprocessors"
# by name, as configurations give them, too: they need these options, and cannot be imported from here
NEEDED = {"sanitize_preprocessors": ("RestoreCells",), "autograde_preprocessors": ("GradeInSandbox", "SaveVerdict")}
NEAR = 0.85  # how alike two names of sections are, as difflib has it, if one is a slip for the other


def points_wanted(config: Config) -> dict[str, float]:
    """The points that a configuration gives to exercises. Raises CourseError if it sets something that is wrong."""
    for fault in faults(config):
        raise CourseError(fault)
    return points.configured(config)


def credit(config: Config) -> str:
    """How scores are computed, one of CREDITS. Raises CourseError if the configuration says something else."""
    given = config["Exercises"].get("credit", CREDIT) if "Exercises" in config else CREDIT
    for fault in _of_credit(given):
        raise CourseError(fault)
    return given


def faults(config: Config) -> Iterator[str]:
    """A sentence for each option in a configuration that does not exist, or that cannot have its value.

    Raises CourseError.
    """
    known = _classes()
    if config.keys() - known.keys() - OURS.keys():
        import nbgrader.apps  # noqa: F401  its classes are known then, too

        known = _classes()
    checked = [*OURS, *(name for name, kind in known.items() if _is_for_grading(kind))]
    for section, given in config.items():
        if section in OURS:
            yield from _of_ours(section, given)
        elif section in known and section in checked:
            yield from _of_class(known[section], given)
        elif section not in known and (near := difflib.get_close_matches(section, checked, n=1, cutoff=NEAR)):
            yield f"c.{section} in nbgrader_config.py sets nothing: did you mean c.{near[0]}?"
    yield from _of_autograde(config.get("Autograde", {}))
    yield from _of_points(points.configured(config))
    yield from _of_credit(config.get("Exercises", {}).get("credit", CREDIT))


def _classes() -> dict[str, type[Configurable]]:
    """All classes that have options, as far as they are imported, by name."""
    found, new = dict[str, type[Configurable]](), [Configurable]
    while new:
        found |= {kind.__name__: kind for kind in new}
        new = [sub for kind in new for sub in kind.__subclasses__()]
    return found


def _is_for_grading(kind: type[Configurable]) -> bool:
    """Whether it is a class of nbgrader's or of this kit: a server that is configured along with them has others."""
    return kind.__module__.split(".")[0] in ("nbgrader", course.PACKAGE.name)


def _of_ours(section: str, given: Mapping[str, Any]) -> Iterator[str]:
    for name in given:
        if name not in OURS[section]:
            near = difflib.get_close_matches(name, OURS[section], n=1, cutoff=0) or OURS[section]
            yield f"c.{section}.{name} in nbgrader_config.py sets nothing: did you mean c.{section}.{near[0]}?"


def _of_class(kind: type[Configurable], given: Mapping[str, Any]) -> Iterator[str]:
    options = kind.class_traits(config=True)
    takes_older = kind._load_config is not Configurable._load_config  # names and values of earlier versions, too
    for name, value in given.items():
        where = f"c.{kind.__name__}.{name} in nbgrader_config.py"
        if name not in options:
            near = difflib.get_close_matches(name, options, n=1)
            if near and not takes_older:
                yield f"{where} sets nothing: did you mean {near[0]}?"
        elif not takes_older and not isinstance(value, (LazyConfigValue, Config)):
            try:
                options[name]._validate(kind.__new__(kind), value)
            except (TraitError, ImportError) as error:
                yield f"{where} cannot be {value!r}: {' '.join(str(error).split())}"


def _of_autograde(given: Mapping[str, Any]) -> Iterator[str]:
    """What is missing among the preprocessors: nbgrader's own would take the visible check for the grade."""
    for option, needed in NEEDED.items():
        there = given.get(option, [])
        if isinstance(there, LazyConfigValue):
            continue  # it adds to the default, which nbgrader alone knows
        found = {base for one in there for base in _with_bases(_imported(one))}
        for name in needed:
            if (PREPROCESSORS, name) not in found:
                yield (
                    f"c.Autograde.{option} in nbgrader_config.py lacks {name}, so the visible checks would be"
                    f" the grade: add it, from {PREPROCESSORS}."
                )


def _with_bases(kind: Any) -> set[tuple[str, str]]:
    """(module, name) of a class and of those that it inherits from; nothing of what is no class."""
    return {(base.__module__, base.__name__) for base in kind.__mro__} if isinstance(kind, type) else set()


def _imported(given: Any) -> Any:
    """A class that is given by its name, or as it is; None if there is none of that name."""
    try:
        return import_item(given) if isinstance(given, str) else given
    except ImportError:
        return None


def _of_credit(given: object) -> Iterator[str]:
    if given not in CREDITS:
        known = " or ".join(f'"{one}"' for one in CREDITS)
        yield f"c.Exercises.credit in nbgrader_config.py is {given!r}, but should be {known}."


def _of_points(wanted: Mapping[str, float]) -> Iterator[str]:
    """Points for something that is not an exercise."""
    exercises = list(course.exercises())
    questions = {c.grade_id for a in course.assignments().values() for c in a.cells if c.grade and not c.exercise}
    for name in wanted:
        if name in questions and name not in exercises:
            yield (
                f"c.Exercises.points in nbgrader_config.py names {name!r}, which is graded by hand: give its cell in"
                " source/ the points instead."
            )
        elif name not in exercises:
            yield (
                f"c.Exercises.points in nbgrader_config.py names {name!r}, which is not an exercise of this course."
                f"{meant(name, exercises)}"
            )
