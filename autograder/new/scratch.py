"""Creates an instructor's own course or exercise from the kit's templates."""

import json
import keyword
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from .. import course as courses
from ..errors import UsageError
from ..nbgrader import for_students
from ..nbgrader.points import HEADING, ROW, TOTAL

TEMPLATES = courses.PACKAGE / "templates"
EXAMPLE = Path("courses", "linalg", "linalg_course")  # in the kit's own course: the one that others start from
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")
# what the skeleton of an exercise has in the place of torch's
IN_NUMPY = {"torch.tensor([": "np.array([", "x.double()": "x", "draw.normal(": "draw.array("}
LONGEST = 40  # characters of a name: ids of cells are made from it, and may have 64
MINUTES = re.compile(r"(?P<number>\d+)(?P<end>\D*)$")  # in the last field of a table row


def course(folder: str, attention: bool = False) -> str:
    """Make a course in a folder that is empty or does not exist; returns a message. Raises UsageError.

    It is the example to start from or, with `attention`, the kit's own.
    """
    place, kits_own = Path(folder), require_kits_own()
    require_room(place)
    title = place.resolve().name
    if attention:
        shutil.copytree(TEMPLATES / "attention", place, dirs_exist_ok=True)
        shutil.copytree(kits_own / "source", place / "source", ignore=LEFT_OUT)
        shutil.copyfile(kits_own / "nbgrader_config.py", place / "nbgrader_config.py")
    else:
        shutil.copytree(TEMPLATES / "course", place, dirs_exist_ok=True)
        for part in ("source", "exercises"):
            shutil.copytree(kits_own / EXAMPLE / part, place / part, ignore=LEFT_OUT)
        write_frame(place, title)
    fill(place / "README.md", {"TITLE": title})
    written = sorted(str(path) for path in place.rglob("*") if path.is_file())
    return f"Written:\n{_listed(written)}\n{next_steps(folder)}"


def require_kits_own() -> Path:
    """The kit's own course, from which new ones take what all have. Raises UsageError."""
    if kits_own := courses.kits_own():
        return kits_own
    raise UsageError("This kit was installed without its own course, and its nbgrader_config.py is needed.")


def write_frame(place: Path, title: str) -> None:
    """Give a new course its nbgrader_config.py and the texts for students, where its source/ has none of its own."""
    kits_own = require_kits_own()
    for name in for_students.RELEASED:
        if not (place / "source" / name).exists():
            text = (kits_own / "source" / name).read_text(encoding="utf-8")
            text = re.sub("^# .*", lambda _: f"# {title}", text) if name == for_students.README else text
            (place / "source" / name).write_text(text, encoding="utf-8")
    config = (kits_own / "nbgrader_config.py").read_text(encoding="utf-8")
    config = re.sub(r'course_id = ".*"', f'course_id = "{re.sub(r"[^A-Za-z0-9_-]+", "_", title)}"', config)
    (place / "nbgrader_config.py").write_text(config, encoding="utf-8")


def next_steps(folder: str | Path) -> str:
    """What to do in a new course, as lines."""
    return (
        f"Next:\n  cd {folder}\n"
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
    words = {"NAME": name} | (IN_NUMPY if _is_numpys(notebook["cells"]) else {})
    _append(notebook, words)
    for template in sorted((TEMPLATES / "exercise").rglob("*.py")):
        path = folder / template.relative_to(TEMPLATES / "exercise")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(template, path)
        fill(path, words)
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


def _is_numpys(cells):
    """Whether a notebook imports NumPy, and no torch."""
    code = "\n".join(courses.source_of(cell) for cell in cells if cell["cell_type"] == "code")
    return set(re.findall(r"^\s*(?:import|from)\s+(torch|numpy)\b", code, re.MULTILINE)) == {"numpy"}


def _append(notebook, words):
    """Append an exercise's cells to a parsed source notebook, and add a row to its table, if it has one."""
    cells, name = notebook["cells"], words["NAME"]
    texts = [cell for cell in cells if cell["cell_type"] == "markdown"]
    graded = sum(bool(cell["metadata"].get("nbgrader", {}).get("grade")) for cell in cells)
    headings = sum(len(HEADING.findall(courses.source_of(cell))) for cell in texts)
    for cell in texts:
        _add_row(cell, name, graded + 1)
    text = (TEMPLATES / "exercise" / "cells.json").read_text(encoding="utf-8")
    new = json.loads(_filled(text, words | {"NUMBER": str(graded + 1)}))
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


def fill(path: Path, words: Mapping[str, str]) -> None:
    """Replace words of a template by values."""
    path.write_text(_filled(path.read_text(encoding="utf-8"), words), encoding="utf-8")


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, words)), lambda word: words[word[0]], text)


def _near(path, root):
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _listed(paths):
    return "\n".join(f"  {path}" for path in paths)
