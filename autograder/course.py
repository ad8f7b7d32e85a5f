"""The course as its source notebooks declare it: the assignments with their exercises, points and cells.

A grade cell declares an exercise: its hidden-tests region holds `# exercise: NAME`, and its metadata holds the points.
This module only reads JSON and imports nothing heavy.
"""

import functools
import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import installed
from .errors import CourseError, Ended, UsageError

PACKAGE = Path(__file__).resolve().parent
EXERCISES = PACKAGE / "exercises"  # the exercises that come with the kit
KIT = "attention-course"  # its name in pyproject.toml
PACKED = PACKAGE / "course_files"  # the kit's own course inside a wheel, see setup.py
ORIGINAL = re.compile(r"### BEGIN ORIGINAL\n(.*?)\n### END ORIGINAL", re.DOTALL)
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n.*?^[ \t]*### END SOLUTION[ \t]*$", re.MULTILINE | re.DOTALL)
UNSOLVED = r"\1raise NotImplementedError()"  # nbgrader's own, without its comment
NEED = re.compile(r"[A-Za-z_]\w*(>=\d+(\.\d+)*)?( beside [A-Za-z_]\w*>=\d+(\.\d+)*)?")  # see Assignment
PLACEHOLDER = "*Double-click here and replace this line*"  # in a release, in the place of a written answer
BADGE = "[![Open in Colab]("  # the beginning of the line that a release may have on its top, see nbgrader/colab.py
SOLUTION_MARK = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
HINT = re.compile(r"<details>\s*<summary>\s*(Hint\b.*?)</summary>(.*?)</details>", re.DOTALL)
PARTS = "parts"  # the grade id of the locked cell that keeps a student's parts, and brings them to later lessons
HIDDEN = "### BEGIN HIDDEN TESTS"
EXERCISE = re.compile(r"### BEGIN HIDDEN TESTS\n# exercise: (\w+)\n### END HIDDEN TESTS")
# what says that code needs torch: an import, or a check that draws something else than an array
# the name alone, however it is imported: to take a course for one about torch costs time, and no more
TORCH = re.compile(r"torch|\bautograder(?:\.| +import +)exercises\b|\bdraw\.(?!array\b)", re.IGNORECASE)
CONFLICT = re.compile(rb"^<{7}(?= |\r?$)", re.MULTILINE)  # git writes it into a file that two people changed


@dataclass(frozen=True)
class Exercise:
    """An autograded exercise: students define `name`, and the cell `grade_id` carries its points."""

    name: str
    assignment: str
    grade_id: str
    points: float


@dataclass(frozen=True)
class Cell:
    """A cell known to nbgrader and to grading: `source` has all its regions; `blank` stands in for a missing answer."""

    grade_id: str
    cell_type: str
    source: str
    grade: bool
    solution: bool
    locked: bool
    points: float
    blank: str = ""

    @property
    def exercise(self) -> str | None:
        """The exercise that this cell grades, or None."""
        declared = EXERCISE.search(self.source) if self.grade else None
        return declared[1] if declared else None


@dataclass(frozen=True)
class Part:
    """A cell of a source notebook, as it is there; `grade_id` is "" if nbgrader does not know it."""

    grade_id: str
    cell_type: str
    source: str
    solution: bool


@dataclass(frozen=True)
class Assignment:
    """One notebook of the course.

    `lesson_ids` and `lesson_texts` belong to the code cells that only demonstrate something. `bases` are the names that
    students carry over from earlier assignments, in solution cells without points. `outline` is the whole notebook.
    `needs` are the packages, besides what the kit installs, without which it is left out; its metadata lists them, as
    "triton", "triton>=3.3" or "triton>=3.7 beside numpy>=2.4".
    """

    name: str
    path: Path
    exercises: tuple[Exercise, ...]
    cells: tuple[Cell, ...]
    lesson_ids: frozenset[str]
    lesson_texts: frozenset[str]
    bases: tuple[str, ...] = ()
    outline: tuple[Part, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def lacks(self) -> str | None:
        """A sentence about what this assignment needs and is not installed here, or in another version, or None."""
        problem = next(filter(None, map(_lacking, self.needs)), None)
        return problem and f"{self.name} needs {problem} All else does without."

    @property
    def points(self) -> float:
        """The points of all graded cells, including those graded by hand."""
        return sum(cell.points for cell in self.cells if cell.grade)

    @property
    def points_by_hand(self) -> float:
        """The points of the graded cells that a person grades."""
        return sum(cell.points for cell in self.cells if cell.grade and not EXERCISE.search(cell.source))


def module_of_need(need: str) -> str:
    """The module of one of the `needs`."""
    return re.split(r"[> ]", need)[0]


def _lacking(need: str) -> str | None:
    """What is lacking of one of the `needs` and what to do, or None."""
    from importlib import metadata

    wanted, _, beside = need.partition(" beside ")
    module = module_of_need(wanted)
    if importlib.util.find_spec(module) is None:
        return f"the package {module}, which is not installed here: `pip install {module}`."
    if _fits(wanted) is not False or (beside and not _fits(beside)):
        return None
    other = beside and module_of_need(beside)
    with_other = f" beside {other} {metadata.version(other)}" if other else ""
    older = f", or an older {other}" if other else ""
    installed = metadata.version(module)
    return f"{wanted}{with_other}, and {module} {installed} is installed here: `pip install --upgrade {module}`{older}."


def _fits(wanted: str) -> bool | None:
    """Whether a package is installed in the versions wanted; None where nothing says in which."""
    from importlib import metadata

    from packaging.requirements import Requirement

    requirement = Requirement(wanted)
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return None


def root() -> Path:
    """The course's folder: the working directory or the nearest one above it that is a course, else the kit's own."""
    if found := here() or kits_own():
        return found
    raise CourseError("There is no course here: no folder with nbgrader_config.py and source/ at or above this one.")


def here() -> Path | None:
    """The course that contains the working directory, or None."""
    folder = Path.cwd()
    return next((f for f in (folder, *folder.parents) if is_course(f)), None)


def kits_own() -> Path | None:
    """The course that comes with the kit: around the package in a checkout, inside it in an installed wheel."""
    return next((f for f in (PACKAGE.parent, PACKED) if is_course(f)), None)


def is_course(folder: Path) -> bool:
    """Whether a folder is a course."""
    # os.path, which has False for any path; pathlib raises an error for a name that is too long, say
    return os.path.isfile(folder / "nbgrader_config.py") and os.path.isdir(folder / "source")


def own_exercises(course: Path | None = None) -> Path:
    """The folder of a course's own exercises; the kit's own course has its exercises in the kit."""
    course = Path(course or root())
    return EXERCISES if course == kits_own() else course / "exercises"


def assignments(course: str | Path | None = None) -> dict[str, Assignment]:
    """All assignments by name, in order."""
    return _assignments(Path(course or root()))


def complete(course: str | Path | None = None) -> tuple[list[Assignment], list[str]]:
    """The assignments for which all is installed, in order, and a sentence about each other one."""
    every = list(assignments(course).values())
    lacking = [(one, one.lacks) for one in every]
    return [one for one, problem in lacking if not problem], [problem for _, problem in lacking if problem]


def exercises(course: str | Path | None = None) -> dict[str, Exercise]:
    """All autograded exercises by name."""
    return {e.name: e for a in assignments(course).values() for e in a.exercises}


def exercise_folders(course: str | Path | None = None) -> tuple[Path, ...]:
    """The folders in which an exercise is looked for: the course's own, the kit's and those of installed courses."""
    own = own_exercises(Path(course or root()))
    return tuple(dict.fromkeys((own, *_shared_exercises())))


def _shared_exercises() -> tuple[Path, ...]:
    """The folders of exercises that every course may use: the kit's, and those of installed courses."""
    return EXERCISES, *(one.exercises for one in installed.courses())


def folder_of(exercise: str, course: str | Path | None = None) -> Path:
    """The folder of an exercise: in the course's own exercises/, else in the kit or an installed course.

    Raises CourseError if there is none, or if two packages have one.
    """
    if found := _found_folder(exercise, course):
        return found
    raise CourseError(
        f"There are no checks for the exercise {exercise!r}: they belong in exercises/{exercise}/checks.py."
        + "".join(f" {problem}" for problem in installed.problems())
    )


def _found_folder(exercise: str, course: str | Path | None = None) -> Path | None:
    """The folder of an exercise, or None if there is none. Raises CourseError if two packages have one."""
    own = own_exercises(Path(course or root())) / exercise
    return own if (own / "checks.py").is_file() else shared_folder_of(exercise)


def shared_folder_of(exercise: str) -> Path | None:
    """The folder of an exercise in the kit or an installed course, or None. Raises CourseError if two have one."""
    folders = (places / exercise for places in _shared_exercises())
    found = [folder for folder in folders if (folder / "checks.py").is_file()]
    if len(found) > 1:
        first, second = (_package_with(folder) for folder in found[:2])
        raise CourseError(
            f"The exercise {exercise!r} is in two packages, {first} and {second}: uninstall one of them, or copy the"
            f" folder {exercise} of the one that you mean into exercises/ of this course."
        )
    return next(iter(found), None)


def _package_with(folder: Path) -> str:
    """The package that an exercise's folder belongs to, as messages name it; "" for a course's own."""
    for one in installed.courses():
        if folder.is_relative_to(one.folder):
            return one.package
    return KIT if folder.parent == EXERCISES else ""


def packages_used(course: str | Path | None = None) -> list[installed.Installed]:
    """The installed courses that have checks for exercises of this course. Raises CourseError."""
    own, *_ = exercise_folders(course)
    found = [folder.parent for name in exercises(course) if (folder := _found_folder(name, course))]
    return [one for one in installed.courses() if one.exercises != own and one.exercises in found]


def imports_torch(course: str | Path | None = None) -> bool:
    """Whether a course is about torch: its notebooks or exercises name it. True where its files cannot be read.

    What else imports it, such as a student's notebook, does so where it is graded.
    """
    try:
        return _imports_torch(Path(course or root()))
    except (CourseError, OSError):
        return True


@functools.lru_cache(maxsize=8)
def _imports_torch(folder: Path) -> bool:
    own, *_ = exercise_folders(folder)
    used = [one.folder for one in packages_used(folder)]
    if any((found := _found_folder(name, folder)) and found.parent == EXERCISES for name in exercises(folder)):
        return True
    cells = (part for one in assignments(folder).values() for part in one.outline if part.cell_type == "code")
    files = (path for place in (own, folder / "source", *used) for path in place.rglob("*.py"))
    texts = itertools.chain((cell.source for cell in cells), (path.read_text("utf-8", "replace") for path in files))
    return any(map(TORCH.search, texts))


def file_of(exercise: str, kind: str) -> Path | None:
    """The file `kind`.py in an exercise's folder, or None. Raises CourseError if two packages have the exercise."""
    folder = _found_folder(exercise)
    path = folder and folder / f"{kind}.py"
    return path if path and path.is_file() else None


def module_of(exercise: str, kind: str) -> types.ModuleType:
    """Import the module `kind` from an exercise's folder. Raises CourseError, which names the file."""
    folder = folder_of(exercise)
    name = f"{_package(folder.parent)}.{exercise}.{kind}"
    try:
        return importlib.import_module(name)
    except (CourseError, Ended):
        raise
    except (Exception, SystemExit) as error:
        package = _package_with(folder) if folder.parent != EXERCISES else ""
        where = f" of the installed package {package}" if package else ""
        said = f"exercises/{exercise}/{kind}.py{where} cannot be imported: {type(error).__name__}: {error}"
        raise CourseError(said) from error


def _package(folder: Path) -> str:
    """The name of the package for a folder of exercises; a course's own folder needs no `__init__.py`."""
    if folder == EXERCISES:
        return f"{__package__}.exercises"
    name = f"exercises_of_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


@dataclass(frozen=True)
class Hint:
    """A folded hint of an exercise: its `title`, such as "Hint 1: where to look", and its text in Markdown."""

    title: str
    text: str


def hints_of(exercise: str, course: str | Path | None = None) -> list[Hint]:
    """The hints of an exercise, in order: those between the check before it and its own."""
    found = exercises(course)[exercise]
    hints: list[Hint] = []
    for cell in cells_in(assignments(course)[found.assignment].path):
        if cell["cell_type"] == "markdown":
            hints += [Hint(title.strip(), text.strip()) for title, text in HINT.findall(source_of(cell))]
        known = cell["metadata"].get("nbgrader", {})
        if known.get("grade") and known["grade_id"] == found.grade_id:
            return hints
        if known.get("grade"):
            hints = []
    return []


def solution_of(exercise: str, course: str | Path | None = None) -> Cell:
    """The solution cell that defines an exercise. Raises CourseError."""
    found = exercises(course).get(exercise)
    cells = assignments(course)[found.assignment].cells if found else ()
    defines = re.compile(rf"^(?:class|def) {exercise}\b", re.MULTILINE)
    for cell in cells:
        if cell.solution and defines.search(cell.source):
            return cell
    raise CourseError(f"No solution cell of the course defines {exercise!r}.")


def answer_of(source: str) -> str:
    """The solution in a source cell, with the text around it, but without the original and the region marks."""
    return SOLUTION_MARK.sub("", ORIGINAL.sub("", source)).rstrip() + "\n"


def released_of(source: str) -> str:
    """What students get of a source cell: the buggy original, or the cell with an error in place of each solution.

    Raises CourseError if an original is malformed.
    """
    return original_of(source) or SOLUTION.sub(UNSOLVED, source)


def original_of(source: str) -> str | None:
    """The buggy original in a source cell, uncommented, or None. Raises CourseError if it is malformed."""
    if "### BEGIN ORIGINAL" not in source and "### END ORIGINAL" not in source:
        return None
    found = ORIGINAL.findall(source)
    if len(found) != 1:
        raise CourseError(f"A cell must have exactly one ORIGINAL region, not {len(found)}: {source[:60]!r}.")
    lines = found[0].split("\n")
    wrong = [line for line in lines if line != "#" and not line.startswith("# ")]
    if wrong:
        raise CourseError(f"Every line of an original must begin with '# ': {wrong[0]!r}.")
    return "\n".join(line[2:] for line in lines)


def defined_in(source: str) -> set[str]:
    """The names of the classes and functions that a cell defines."""
    return set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))


def notebook_in(path: Path) -> dict[str, Any]:
    """A notebook of the course, parsed; editors may have written the mark of an encoding at its beginning."""
    return json.loads(path.read_bytes())


def cells_in(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook of the course, parsed."""
    return notebook_in(path)["cells"]


def source_of(cell: Mapping[str, Any]) -> str:
    """The text of a cell of a parsed notebook."""
    return "".join(cell["source"])


def write_notebook(path: Path, notebook: Mapping[str, Any]) -> None:
    """Write a parsed source notebook as JupyterLab would, so that diffs stay small, unless it is there already."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if text.encode() != path.read_bytes().replace(b"\r\n", b"\n"):
        path.write_text(text, encoding="utf-8")


def find_assignment(name: str, course: str | Path | None = None) -> Assignment:
    """The assignment with this name or number ("02"). Raises CourseError."""
    known = assignments(course)
    matches = [a for n, a in known.items() if n == name or n.split("_")[0] == name]
    if len(matches) != 1:
        raise CourseError(f"There is no assignment {name!r}: the course has {', '.join(known) or 'none'}.")
    return matches[0]


def find_exercise(name: str) -> Exercise:
    """The exercise with this name. Raises UsageError."""
    if name not in exercises():
        raise UsageError(f"There is no exercise {name!r}: the course has {', '.join(exercises())}.")
    return exercises()[name]


def forget() -> None:
    """Forget the source notebooks and what is installed, because they have changed; they are read when next needed."""
    _assignments.cache_clear()
    _imports_torch.cache_clear()
    installed.forget()


@functools.lru_cache(maxsize=8)
def _assignments(course: Path) -> dict[str, Assignment]:
    folders = sorted(p for p in (course / "source").iterdir() if (p / f"{p.name}.ipynb").is_file())
    return {p.name: _read(p / f"{p.name}.ipynb") for p in folders}


def _read(path: Path) -> Assignment:
    try:
        notebook = notebook_in(path)
        if notebook.get("nbformat", 4) != 4:
            raise ValueError(f"format {notebook['nbformat']}, but 4 is needed")
        return parse(notebook, path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, json.JSONDecodeError) and (line := conflict_in(path.read_bytes())):
            raise CourseError(f"{path}: line {line} is the mark of a merge conflict (<<<<<<<): settle it.") from None
        raise CourseError(f"{path}: not a source notebook of this course ({type(error).__name__}: {error}).") from None


def conflict_in(text: bytes) -> int | None:
    """The line of git's first mark of a merge conflict in a text, or None; JSON never has one."""
    found = CONFLICT.search(text)
    return text[: found.start()].count(b"\n") + 1 if found else None


def parse(notebook: Mapping[str, Any], path: str | Path) -> Assignment:
    """The Assignment of a parsed source notebook."""
    name = Path(path).stem
    found, cells, lesson_ids, lesson_texts, outline = [], [], set(), set(), []
    for cell in notebook["cells"]:
        source = source_of(cell)
        about = cell["metadata"].get("nbgrader") or {}
        outline.append(Part(about.get("grade_id", ""), cell["cell_type"], source, about.get("solution", False)))
        if "lesson" in cell["metadata"].get("tags", []) and cell["cell_type"] == "code":
            lesson_ids.add(cell["id"])
            lesson_texts.add(source.strip())
        meta = cell["metadata"].get("nbgrader")
        if meta is None:
            continue
        cells.append(
            Cell(
                grade_id=meta["grade_id"],
                cell_type=cell["cell_type"],
                source=source,
                grade=meta["grade"],
                solution=meta["solution"],
                locked=meta["locked"],
                points=float(meta.get("points", 0)),
            )
        )
        if graded := cells[-1].exercise:
            found.append(Exercise(graded, name, meta["grade_id"], float(meta["points"])))
    defined = {n for c in cells if c.solution for n in defined_in(c.source)}
    bases = tuple(sorted(defined - {e.name for e in found}))
    lessons = frozenset(lesson_ids), frozenset(lesson_texts)
    needs = notebook.get("metadata", {}).get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) and NEED.fullmatch(need) for need in needs):
        raise ValueError(f'its metadata says that it needs {needs!r}, which should be as ["triton>=3.3"]')
    return Assignment(name, Path(path), tuple(found), tuple(cells), *lessons, bases, tuple(outline), tuple(needs))
