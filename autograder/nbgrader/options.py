"""Checks the options in nbgrader_config.py: a misspelt one would be ignored silently."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from traitlets import TraitError
from traitlets.config import Config, Configurable
from traitlets.config.loader import LazyConfigValue
from traitlets.utils.importstring import import_item

from .. import course
from ..errors import CourseError
from ..grading import credit, late_days, waivers
from ..grading.course_faults import meant
from ..verdict import CREDIT, CREDITS
from . import points
from .safe_markdown import FILTERS

OURS = {  # options of this kit that are no class's
    "Exercises": ("points", "credit", "waived", late_days.BUDGET, late_days.EACH),
    "Release": ("colab",),
    # desk/settings.py and desk/doors/ have their values
    "Desk": ("tell", "at_once", "every", "limit", "counts", "who", "assignments", "address", "hub", "lti"),
}
MARKS = "_delimeter"  # how nbgrader's options end that say between which lines something is taken out
OF_THE_SOURCE = ("GenerateAssignment", "GenerateSolution")  # no student's code is in it
EXECUTES = ("nbconvert.preprocessors.execute", "ExecutePreprocessor")  # what runs a notebook: its module and name
DEEPEST = 4  # sections within others
NEAR = 0.85  # how alike two names of sections are, as difflib has it, if one is a slip for the other
UNCONFIGURED = (
    "nbgrader_config.py does not have nbgrader work with this kit: fix the error in it, if there is one, or add `from"
    " autograder.nbgrader import configure`, and `configure(c)` below `c = get_config()`."
)


@dataclass(frozen=True)
class Wall:
    """What an option of nbgrader may not lack: its value or its list holds each of these classes, or one made of it.

    They have names, since configurations give them so, too, and this module cannot import them. `otherwise` says what
    would happen.
    """

    section: str
    option: str
    needed: tuple[str, ...]
    otherwise: str


_HERE = f"{__package__}."
_VISIBLE = "the visible checks would be the grade"
WALLS = (
    Wall("Autograde", "exporter_class", (f"{_HERE}preprocessors.SubmissionExporter",), "files would be read unbounded"),
    Wall("Autograde", "sanitize_preprocessors", (f"{_HERE}preprocessors.RestoreCells",), _VISIBLE),
    Wall(
        "Autograde",
        "autograde_preprocessors",
        (f"{_HERE}preprocessors.GradeInSandbox", f"{_HERE}preprocessors.SaveVerdict"),
        _VISIBLE,
    ),
    Wall(
        "GenerateAssignment",
        "preprocessors",
        (
            f"{_HERE}releasing.ReleaseOriginals",
            "nbgrader.preprocessors.ClearHiddenTests",
            "nbgrader.preprocessors.ClearMarkScheme",
        ),
        "students would get solutions or hidden checks",
    ),
    Wall("GenerateSolution", "preprocessors", (f"{_HERE}releasing.CleanSolutions",), "hidden checks would get out"),
    Wall("ZipCollectApp", "extractor_plugin", (f"{_HERE}collecting.BoundedExtractor",), "archives could fill the disk"),
    Wall(
        "ZipCollectApp",
        "collector_plugin",
        (f"{_HERE}collecting.SafeCollector",),
        "a student could hand in for somebody else",
    ),
)


def points_wanted(config: Config) -> dict[str, float]:
    """The points that a configuration gives to exercises. Raises CourseError if it sets something that is wrong."""
    for fault in faults(config):
        raise CourseError(fault)
    return points.configured(config)


def waived(config: Config) -> dict[str, list[str]]:
    """The checks that a configuration waives, by exercise, as far as that can be read: `faults` says what is wrong."""
    given = config.get("Exercises", {}).get("waived", {})
    pairs = given.items() if isinstance(given, Mapping) else ()
    return {str(exercise): [*map(str, names)] for exercise, names in pairs if isinstance(names, (list, tuple))}


def scoring(config: Config) -> waivers.Scoring:
    """How scores are made of what was graded. Raises CourseError if the configuration says something wrong."""
    given = config.get("Exercises", {})
    scored_by = given.get("credit", CREDIT)
    for fault in _of_credit(scored_by):
        raise CourseError(fault)
    return waivers.Scoring(scored_by, waivers.configured(given.get("waived", {})))


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
    yield from unconfigured(config)
    yield from walls(config)
    yield from _of_points(points.configured(config))
    wrong = [*_of_credit(config.get("Exercises", {}).get("credit", CREDIT))]
    wrong += waivers.faults(config.get("Exercises", {}).get("waived", {}))
    wrong += late_days.faults(config.get("Exercises", {}))
    yield from wrong or _unlike_the_text(config)


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


def unconfigured(config: Config) -> Iterator[str]:
    """A sentence if a configuration does not have nbgrader grade with this kit at all."""
    if not config.get("Autograde"):
        yield UNCONFIGURED


def walls(config: Config) -> Iterator[str]:
    """A sentence for each option that would let a student's code or file out, or solutions and hidden checks.

    An option that is not set is as nbgrader has it; of those of Autograde, none may be missing where one is set.
    """
    for wall in WALLS:
        given = config.get(wall.section, {})
        if wall.option in given or given and wall.section == "Autograde":
            yield from _of_wall(wall, given.get(wall.option, []))
            yield from _idle(wall, given.get(wall.option, []), config)
    yield from _executing(config)
    yield from _of_pages(config.get("HTMLExporter", {}))


def _of_wall(wall: Wall, given: Any) -> Iterator[str]:
    """What is missing in an option."""
    if isinstance(given, LazyConfigValue):
        return  # it adds to the default, which nbgrader alone knows
    found = {base for one in _listed(given) for base in _with_bases(_imported(one))}
    for name in wall.needed:
        module, _, kind = name.rpartition(".")
        if not any(one == kind and f"{place}.".startswith(f"{module}.") for place, one in found):
            where = f"c.{wall.section}.{wall.option} in nbgrader_config.py lacks {kind}"
            yield f"{where}, so {wall.otherwise}: add it, from {module}."


def _idle(wall: Wall, given: Any, config: Config) -> Iterator[str]:
    """What is there and would not work: it is switched off, or looks for other marks than the course has."""
    needed = {name.rpartition(".")[2] for name in wall.needed}
    kinds = [_imported(one) for one in _listed(given)]
    needed_kinds = [kind for kind in kinds if needed & {name for _, name in _with_bases(kind)}]
    for kind in (one for one in needed_kinds if issubclass(one, Configurable)):
        own = {name: one for name, one in kind.class_traits(config=True).items() if name.endswith(MARKS)}
        right = {"enabled": True, **{name: one.default_value for name, one in own.items()}}
        for section, name, value in _set_for(kind, config):
            if name in right and value != right[name]:
                where = f"c.{section}.{name} in nbgrader_config.py is {value!r:.40}"
                yield f"{where}, so {kind.__name__} would not work and {wall.otherwise}: remove the line."


def _set_for(kind: type[Configurable], config: Config, depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """(section, option, value) of all that a configuration sets for a class, also within other sections."""
    names = {base.__name__ for base in kind.__mro__}
    for section, given in config.items():
        if isinstance(given, Config) and depth < DEEPEST:
            yield from ((section, name, value) for name, value in given.items() if section in names)
            yield from _set_for(kind, given, depth + 1)


def _executing(config: Config) -> Iterator[str]:
    """What would run a student's code in a kernel of Jupyter's, outside of the sandbox."""
    for section, given in config.items():
        for option in given if isinstance(given, Config) and section not in OF_THE_SOURCE else ():
            for one in _listed(given[option]) if option.endswith("preprocessors") else ():
                if EXECUTES in _with_bases(_imported(one)):
                    yield (
                        f"c.{section}.{option} in nbgrader_config.py has {_imported(one).__name__}, so students' code"
                        " would run outside of the sandbox: remove it."
                    )
    if config.get(EXECUTES[1], {}).get("enabled"):
        yield (
            f"c.{EXECUTES[1]}.enabled in nbgrader_config.py is on, so students' code would run outside of the sandbox"
            " where its page is made: remove the line."
        )


def _listed(given: Any) -> list[Any]:
    """The values in an option that may be a list, or says what to add to one."""
    if isinstance(given, LazyConfigValue):
        given = given.get_value([])
    return given if isinstance(given, list) else [given]


def _of_pages(given: Mapping[str, Any]) -> Iterator[str]:
    """What would let a student's text act in the instructor's browser."""
    if not given.get("sanitize_html", True):
        yield "c.HTMLExporter.sanitize_html in nbgrader_config.py is off, so students' text could act: remove the line."
    filters = given.get("filters", {})
    for name, made in filters.items() if isinstance(filters, dict) else ():
        if name in FILTERS and _imported(made) is not FILTERS[name]:
            yield (
                f"c.HTMLExporter.filters in nbgrader_config.py replaces {name!r}, so students' text could act: remove"
                " it."
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


def _unlike_the_text(config: Config) -> Iterator[str]:
    """What else than the configuration its text says of scores and late days: others than nbgrader go by that alone."""
    try:
        read, days = waivers.scoring_of(course.root()), late_days.of_course(course.root())
    except CourseError as problem:
        yield str(problem)
        return
    made, late = scoring(config), late_days.configured(config.get("Exercises", {}))
    said = (
        (credit.OPTION, made.credit, read.credit),
        (waivers.OPTION, made.waivers.waived, read.waivers.waived),
        (late_days.OPTION.format(late_days.BUDGET), late.budget, days.budget),
        (late_days.OPTION.format(late_days.EACH), late.each, days.each),
    )
    for option, runs, text in said:
        if runs != text:
            yield (
                f"{option} is set in another way than by one line `{option} = …` of nbgrader_config.py, which"
                f" `autograder check`, the desk and Gradescope read without running it: they would go by"
                f" {_plain(text)}, and nbgrader by {_plain(runs)}. Write that line, outside of any `if`."
            )


def _plain(value: Any) -> str:
    """An option's value as it is written."""
    written = {name: [*checks] for name, checks in value.items()} if isinstance(value, dict) else value
    return f"{written!r:.80}"


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
