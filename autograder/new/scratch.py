"""Creates an instructor's own course or exercise from the kit's templates."""

import json
import keyword
import re
import shutil
from pathlib import Path

from .. import course as courses
from ..errors import UsageError
from ..nbgrader import for_students
from ..nbgrader.points import HEADING, ROW, TOTAL

TEMPLATES = courses.PACKAGE / "templates"
LONGEST = 40  # characters of a name: ids of cells are made from it, and may have 64
MINUTES = re.compile(r"(?P<number>\d+)(?P<end>\D*)$")  # in the last field of a table row


def course(folder: str, attention: bool = False) -> str:
    """Make a course in a folder that is empty or does not exist; returns a message. Raises UsageError.

    It is a small one to start from or, with `attention`, the kit's own.
    """
    place, kits_own = Path(folder), courses.kits_own()
    require_room(place)
    if kits_own is None:
        raise UsageError("This kit was installed without its own course, and its nbgrader_config.py is needed.")
    title = place.resolve().name
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(TEMPLATES / ("attention" if attention else "course"), place, dirs_exist_ok=True, ignore=ignored)
    _fill(place / "README.md", "TITLE", title)
    config = (kits_own / "nbgrader_config.py").read_text(encoding="utf-8")
    if attention:
        shutil.copytree(kits_own / "source", place / "source", ignore=ignored)
    else:
        for name in for_students.RELEASED:
            shutil.copy(kits_own / "source" / name, place / "source")
        readme = place / "source" / for_students.README
        readme.write_text(re.sub("^# .*", lambda _: f"# {title}", readme.read_text(encoding="utf-8")), encoding="utf-8")
        config = re.sub(r'course_id = ".*"', f'course_id = "{re.sub(r"[^A-Za-z0-9_-]+", "_", title)}"', config)
    (place / "nbgrader_config.py").write_text(config, encoding="utf-8")
    written = sorted(str(path) for path in place.rglob("*") if path.is_file())
    return (
        f"Written:\n{_listed(written)}\nNext:\n  cd {folder}\n"
        "  autograder build      # release/ and solutions/\n"
        "  autograder doctor     # what is missing; README.md says how to go on"
    )


def require_room(place: Path) -> None:
    """Raises UsageError unless a new course may be made in a folder."""
    if place.is_symlink() or place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise UsageError(f"{place} already exists and is not empty: choose another folder.")
    if around := next((f for f in place.resolve().parents if (f / "nbgrader_config.py").is_file()), None):
        raise UsageError(f"{place} is inside the course {around}: choose a folder outside it.")


def exercise(name: str, assignment: str | None = None) -> str:
    """Add the skeleton of an exercise to the course; returns a message. Raises UsageError or CourseError."""
    root = courses.root()
    if root == courses.PACKED:
        raise UsageError("There is no course here: `autograder new course DIR` makes one.")
    known = courses.assignments(root)
    if not known:
        raise UsageError(f"The course {root} has no assignment: its notebooks are source/NN_NAME/NN_NAME.ipynb.")
    wanted = courses.find_assignment(assignment, root) if assignment else list(known.values())[-1]
    folder = courses.own_exercises(root) / name
    _require_free(name, known, folder)

    notebook = courses.notebook_in(wanted.path)
    _append(notebook, name)
    for template in sorted((TEMPLATES / "exercise").rglob("*.py")):
        path = folder / template.relative_to(TEMPLATES / "exercise")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(template, path)
        _fill(path, "NAME", name)
    if folder.parent == courses.EXERCISES:
        (folder / "__init__.py").touch()
    courses.write_notebook(wanted.path, notebook)
    courses.forget()
    written = [f"{_near(wanted.path, root)} (cells at its end)"]
    written += [_near(path, root) for path in sorted(folder.rglob("*.py"))]
    return (
        f"Written:\n{_listed(written)}\nNext:\n"
        "  fill in each TODO in these files\n"
        f"  autograder build {wanted.name.split('_')[0]}      # it builds as it is\n"
        "  autograder doctor        # what is still missing"
    )


def _require_free(name, known, folder):
    """Raises UsageError unless an exercise may have this name."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or len(name) > LONGEST:
        raise UsageError(
            f"{name!r} cannot be the name of an exercise: students define a function or class of that name in Python"
            f" (letters, digits and _, at most {LONGEST}, such as moving_average)."
        )
    defined = re.compile(rf"^(?:class|def) {name}\b", re.MULTILINE)
    for assignment in known.values():
        taken = {cell.grade_id for cell in assignment.cells} & {name, f"{name}-solution"}
        if taken or any(defined.search(cell.source) for cell in assignment.cells):
            raise UsageError(f"The name {name} is taken: {assignment.name} has it already.")
    if folder.exists():
        raise UsageError(f"The name {name} is taken: there is {folder} already.")


# --- the notebook ---------------------------------------------------------------------------------


def _append(notebook, name):
    """Append an exercise's cells to a parsed source notebook, and add a row to its table, if it has one."""
    cells = notebook["cells"]
    texts = [cell for cell in cells if cell["cell_type"] == "markdown"]
    graded = sum(bool(cell["metadata"].get("nbgrader", {}).get("grade")) for cell in cells)
    headings = sum(len(HEADING.findall(courses.source_of(cell))) for cell in texts)
    for cell in texts:
        _add_row(cell, name, graded + 1)
    text = (TEMPLATES / "exercise" / "cells.json").read_text(encoding="utf-8")
    new = json.loads(text.replace("NAME", name).replace("NUMBER", str(graded + 1)))
    if headings != graded:  # either all headings state points or none, see nbgrader/points.py
        new[0]["source"] = [line for line in new[0]["source"] if not HEADING.match(line)]
    ids = {cell.get("id") for cell in cells}
    if clash := sorted(ids & {cell["id"] for cell in new}):
        raise UsageError(f"The name {name} is taken: the notebook has a cell {clash[0]!r} already.")
    cells += new


def _add_row(cell, name, number):
    """Add a row for the exercise to the cell's table, if it has one, and its minutes to the total."""
    source = courses.source_of(cell)
    rows, total = list(ROW.finditer(source)), TOTAL.search(source)
    if not rows or not total:
        return
    between = rows[-1]["before"].count("|") - 2  # fields between the name and the points
    fields = [f"{number}. `{name}`", *["implement"] * min(between, 1), *[""] * (between - 1), "1", "10"]
    last = MINUTES.search(total["after"])
    after = total["after"]
    if last:
        after = after[: last.start()] + str(int(last["number"]) + 10) + last["end"]
    total_row = f"{total['before']}{total['points']}{after}"  # `autograder build` writes the points
    source = source[: total.start()] + total_row + source[total.end() :]
    at = rows[-1].end() + 1
    source = source[:at] + "| " + " | ".join(fields) + " |\n" + source[at:]
    cell["source"] = source.splitlines(keepends=True)


def _fill(path, word, value):
    path.write_text(path.read_text(encoding="utf-8").replace(word, value), encoding="utf-8")


def _near(path, root):
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _listed(paths):
    return "\n".join(f"  {path}" for path in paths)
