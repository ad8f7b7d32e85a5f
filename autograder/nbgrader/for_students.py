"""What students get beside the notebooks: a README, a list of packages, and rules for their AI assistants.

The texts are files of source/ with names of their own: as README.md or AGENTS.md, they would speak to the course's
authors there, and to their assistants.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from .. import course
from ..errors import CourseError
from ..submission import hand_in_cell
from ..submission.written import released_text

RULES, README, PACKAGES = "rules_for_assistants.md", "readme_for_students.md", "requirements.txt"
RELEASED = {RULES: "AGENTS.md", README: "README.md"}  # by the name in source/
TABLE = "<!-- assignments -->"  # in the README: here the table of assignments goes
ADDRESS = "<!-- address -->"  # and here that of the desk
THE_DESK = "the desk"
# what is there for some assignments, or for courses with a desk, or without one
PART = re.compile(
    r"^<!-- (?P<when>for|without) (?P<what>[^\n]*?) -->\n(?P<text>.*?)^<!-- end -->\n", re.MULTILINE | re.DOTALL
)
# never in what students get
HIDDEN = ("### BEGIN SOLUTION", "### BEGIN HIDDEN TESTS", "### BEGIN ORIGINAL", "### BEGIN MARK SCHEME")
KIT = "attention-course"  # its ranges of versions apply to students, too
NOT_COPIED = ("__pycache__", ".ipynb_checkpoints", ".pytest_cache")  # by nbgrader
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".pdf")


def release(root: Path, address: str = "") -> list[Path]:
    """Write these files into release/, those that the course in `root` has texts for; returns their paths.

    `address` is the desk's, if there is one.
    """
    made = []
    for name, text in texts(root, address).items():
        made.append(root / "release" / name)
        made[-1].write_text(text, encoding="utf-8")
    return made


def texts(root: Path, address: str = "", names: Collection[str] | None = None) -> dict[str, str]:
    """The texts of these files, by their names in release/: for all assignments that are there, or for some `names`."""
    there = [
        assignment
        for name, assignment in course.assignments(root).items()
        if (names is None or name in names) and (root / "release" / name / f"{name}.ipynb").is_file()
    ]
    made = {}
    for name, released in RELEASED.items():
        if (source := root / "source" / name).is_file():
            made[released] = _fitted(source.read_text(encoding="utf-8-sig"), there, address)
    if RELEASED[README] in made:
        made[PACKAGES] = "".join(f"{package}\n" for package in packages(root, [one.name for one in there]))
    return made


def _fitted(text: str, there: Sequence[course.Assignment], address: str) -> str:
    """A text for students, with the parts that concern these assignments and this desk."""
    known = {one.name for one in there} | ({THE_DESK} if address else set())

    def part(found: re.Match[str]) -> str:
        concerned = not known.isdisjoint(re.split(r", *", found["what"]))
        return found["text"] if concerned == (found["when"] == "for") else ""

    return PART.sub(part, text).replace(TABLE, _table(there)).replace(ADDRESS, address)


def _table(there: Sequence[course.Assignment]) -> str:
    """The assignments with their titles and points."""
    rows = ["| Notebook | | Points |", "|---|---|---|"]
    for assignment in there:
        texts = [course.source_of(cell) for cell in course.cells_in(assignment.path) if cell["cell_type"] == "markdown"]
        title = re.search(r"^# +(?:\d+ +)?(.+)$", "\n".join(texts), re.MULTILINE)
        rows.append(f"| `{assignment.name}` | {title[1].strip() if title else ''} | {assignment.points:g} |")
    return "\n".join(rows)


def packages(root: Path, names: Collection[str] | None = None) -> list[str]:
    """The packages that the released notebooks import, or those with these names, in the versions that the kit needs.

    What an assignment `needs` beyond that is left out: its own text names it, and not every machine can install it.
    """
    wanted = course.assignments(root) if names is None else names
    notebooks = (root / "release" / name / f"{name}.ipynb" for name in wanted)
    modules = {module for path in notebooks if path.is_file() for module in _imported(path)}
    modules.discard(hand_in_cell.FILE.removesuffix(".py"))  # comes with them
    modules -= {course.module_of_need(need) for one in course.assignments(root).values() for need in one.needs}
    providers = metadata.packages_distributions()
    named = {re.sub("[-_.]+", "-", providers.get(module, [module])[0]).lower() for module in modules}
    ranges = (line.partition(";")[0].strip() for line in metadata.requires(KIT) or ())
    known = {re.match(r"[\w.-]+", line)[0].lower(): line for line in ranges}  # type: ignore[index]  # it has a name
    return sorted(known.get(name, name) for name in named)


def _imported(path: Path) -> Iterator[str]:
    """The modules from elsewhere that a notebook's code cells import, by the first part of their names."""
    for cell in course.cells_in(path):
        source = course.source_of(cell) if cell["cell_type"] == "code" else ""
        try:
            tree = ast.parse(re.sub(r"^\s*[%!].*", "", source, flags=re.MULTILINE))
        except SyntaxError:  # an exercise may be to repair it
            continue
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            yield from {name.split(".")[0] for name in names} - sys.stdlib_module_names


def require_publishable(notebook: Path) -> None:
    """Raises CourseError if a file beside the notebook, which students would get as it is, holds a solution.

    A program that defines what an exercise asks for is one.
    """
    exercises = "|".join(re.escape(e.name) for e in course.assignments(notebook.parents[2])[notebook.stem].exercises)
    defines = re.compile(rf"^[ \t]*(?:class|def)[ \t]+({exercises or '(?!)'})\b".encode(), re.MULTILINE)
    for path in _beside(notebook):
        place = path.relative_to(notebook.parents[2])
        if not path.is_file():
            continue
        if path.suffix == ".ipynb":
            raise CourseError(
                f"{place} would be released with all that it contains: {notebook.name} alone is the notebook of this"
                " assignment. Move the other one out of the folder."
            )
        data = path.read_bytes()
        if mark := next((mark for mark in HIDDEN if mark.encode() in data), None):
            raise CourseError(
                f"{place} would be released as it is, and it has a line {mark!r}: move it out of the folder."
            )
        if found := defines.search(data):
            raise CourseError(
                f"{place} would be released as it is, and it defines {found[1].decode()}, which is an exercise of"
                f" {notebook.name}: move it out of the folder."
            )


def of_solutions_alone(notebook: Path) -> list[Path]:
    """The files beside a source notebook that stay at home: a solution or a scheme shows them, and no released text.

    A text may show or link to a file of any kind, code to a picture alone: students, too, need the data that it reads.
    """
    beside = [path for path in _beside(notebook) if path.is_file() and path.suffix != ".ipynb"]
    outline = course.parse(course.notebook_in(notebook), notebook).outline
    released = "\n".join(released_text(part.cell_type, part.source, part.solution) for part in outline)
    found = []
    for path in beside:
        place = path.relative_to(notebook.parent).as_posix()
        names = re.compile(_names_of(place))
        shown = (p for p in outline if p.cell_type != "code" or path.suffix.lower() in PICTURES)
        if names.search(released) or not any(names.search(part.source) for part in shown):
            continue
        others = (other for other in beside if other != path)
        if not any(path.name.encode() in other.read_bytes() for other in others):
            found.append(path)
    return found


def _names_of(place: str) -> str:
    """A pattern of how a text names a file beside its notebook."""
    places, names = ("|".join(re.escape(p) for p in (of, quote(of))) for of in (place, Path(place).name))
    return rf"(?<![\w./-])(?:\./)?(?:{places})(?![\w-])|(?<![\w./-])(?:{names})(?![\w-])"


def _beside(notebook: Path) -> list[Path]:
    """What lies beside a source notebook, below its folder, and is copied."""
    place = notebook.parents[2]
    found = sorted(notebook.parent.rglob("*"))
    return [path for path in found if path != notebook and not set(path.relative_to(place).parts) & set(NOT_COPIED)]
