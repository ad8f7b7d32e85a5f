"""Writes the points of exercises into the course's metadata, headings, tables and totals.

An exercise is worth the total of its checks, unless the course's configuration gives it other points:

    c.Exercises.points = {"attention": 20}

Its checks are then scaled. Written answers are worth what their cells say.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from ..course import EXERCISE, notebook_in, source_of, write_notebook
from ..errors import CourseError
from ..grading.course_faults import how_to_waive

HEADING = re.compile(r"^\*\*(?P<points>[\d.]+) points?(?= · )", re.MULTILINE)  # **6 points · 20 minutes · easy**
ROW = re.compile(r"^(?P<before>\| \d+\. .*\| *)(?P<points>[\d.]+)(?P<after> *\|[^|\n]*\|)$", re.MULTILINE)
TOTAL = re.compile(
    r"^(?P<before>\| \*\*total\*\* \|.*\| *\*\*)(?P<points>[\d.]+)(?P<after>\*\* *\|[^|\n]*\|)$", re.MULTILINE
)
SCHEME = re.compile(r"^\*\*Marking scheme \((?P<points>[\d.]+) points?\)", re.MULTILINE)


def configured(config: Mapping) -> dict[str, float]:
    """The points that an nbgrader configuration gives to exercises. Raises CourseError."""
    points = config["Exercises"].get("points", {}) if "Exercises" in config else {}
    for name, value in points.items() if isinstance(points, Mapping) else [("?", None)]:
        is_name = isinstance(name, str)
        if not is_name or isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e4:
            raise CourseError(
                "c.Exercises.points in nbgrader_config.py should map names of exercises to numbers above 0,"
                f' such as {{"attention": 20}}; {name!r} has {value!r}.'
            )
    return {name: float(value) for name, value in points.items()}


def write(path: Path, worth: Mapping[str, float], wanted: Mapping[str, float]) -> list[str]:
    """Bring a source notebook up to date; returns a sentence for each change of an exercise's points.

    `worth` maps exercises to the total of their checks, `wanted` maps some of them to the points that the configuration
    gives them. Raises CourseError if somebody has changed a cell's points by hand.
    """
    notebook = notebook_in(path)
    said = renew(notebook, path.stem, worth, wanted)
    write_notebook(path, notebook)
    return said


def renew(notebook: dict, name: str, worth: Mapping[str, float], wanted: Mapping[str, float]) -> list[str]:
    """Do what `write` does on a parsed notebook, in place."""
    graded = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]
    texts = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    headings = [float(m["points"]) for cell in texts for m in HEADING.finditer(source_of(cell))]
    if headings and len(headings) != len(graded):
        raise CourseError(
            f"{name}: {len(graded)} cells are graded, and {len(headings)} headings such as '**6 points · 20 minutes ·"
            " easy**' say what they are worth: write one for each of them, in the same order."
        )
    said, points = [], []
    for number, cell in enumerate(graded):
        meta = cell["metadata"]["nbgrader"]
        declared = EXERCISE.search(source_of(cell))
        exercise = declared[1] if declared else None
        before = float(meta.get("points", 0))
        now = wanted.get(exercise, worth.get(exercise, before)) if exercise else before
        if exercise and now != before:
            by_hand = headings and headings[number] != before or not headings and before
            if by_hand and exercise not in wanted:
                raise CourseError(disagreement(name, meta["grade_id"], exercise, before, now))
            meta["points"] = _number(now)
            said.append(f"{name}: {exercise} is worth {now:g} points now, and was worth {before:g}")
        points.append(now)
    _write_numbers(texts, HEADING, points, lambda m, n: f"**{_points(n)}")
    if any(ROW.search(source_of(cell)) for cell in texts):
        _write_numbers(texts, ROW, points, lambda m, n: f"{m['before']}{n:g}{m['after']}", name)
        _write_numbers(texts, TOTAL, [sum(points)], lambda m, n: f"{m['before']}{n:g}{m['after']}", name)
    for cell, number in zip(graded, points, strict=True):
        _write_numbers([cell], SCHEME, [number], lambda m, n: f"**Marking scheme ({_points(n)})")
    return said


def disagreement(name: str, cell: str, exercise: str, before: float, now: float) -> str:
    """The message about a graded cell with other points than its exercise, whatever its heading says."""
    return (
        f"{name}: the cell {cell!r} is worth {_points(before)}, and {exercise} is worth {now:g} by its checks. To make"
        f' it worth {before:g}, write c.Exercises.points = {{"{exercise}": {before:g}}} into nbgrader_config.py;'
        f" otherwise set the points of the cell itself to {now:g}: JupyterLab's Create Assignment shows them."
        f"{how_to_waive(exercise) if now < before else ''}"
    )


def _points(number: float) -> str:
    return f"{number:g} point{'' if number == 1 else 's'}"


def _write_numbers(cells, pattern, numbers, made, name=None):
    """Replace the n-th match of a pattern in the cells by what `made` returns for it and the n-th number."""
    found = sum(len(pattern.findall(source_of(cell))) for cell in cells)
    if name and found != len(numbers):
        raise CourseError(
            f"{name}: the table at the start has {found} rows for {len(numbers)} graded cells: it needs one for each,"
            " in the same order."
        )
    left = iter(numbers)
    for cell in cells:
        source = source_of(cell)
        new = pattern.sub(lambda m: made(m, next(left)), source)
        if new != source:
            cell["source"] = new.splitlines(keepends=True)


def _number(points):
    """The points as nbgrader writes them: 6 and not 6.0."""
    return int(points) if float(points).is_integer() else points
