"""Keeps the numbers of a course's README as its notebooks have them: points and hours of each assignment, totals."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from ..course import Assignment, cells_in, source_of

TOTAL = re.compile(r"^\| \*\*total\*\* \|.*\| \*\*(\d+)\b[^|]*\|$", re.MULTILINE)  # of the table at the start: minutes
BEFORE = re.compile(r"The text before the first one takes another (\d+)\.")
IN_ALL = re.compile(r"\b[\d.]+( of the )[\d.]+(\s+points)\b")


def write(path: Path, assignments: Iterable[Assignment]) -> None:
    """Bring rows such as | `02_name` | what students do | 1 h 50 | 28 | up to date, and "26 of the 286 points".

    The hours are a column of their own, or are left out; what follows them in it stays.
    """
    if not path.is_file():
        return
    text = new = path.read_text(encoding="utf-8")
    by_hand = total = 0.0
    for assignment in assignments:
        before = rf"^(\| `{re.escape(assignment.name)}` \|.*\| *)"
        points = re.compile(before + r"[\d.]+( *\|)$", re.MULTILINE)
        new = points.sub(rf"\g<1>{assignment.points:g}\g<2>", new)
        if takes := hours(assignment):
            new = re.sub(before + r"\d+ h \d\d(?=[ ,|])", rf"\g<1>{takes}", new, flags=re.MULTILINE)
        total += assignment.points
        by_hand += sum(cell.points for cell in assignment.cells if cell.grade and cell.solution)
    new = IN_ALL.sub(lambda m: f"{by_hand:g}{m[1]}{total:g}{m[2]}", new)
    if new != text:
        path.write_text(new, encoding="utf-8")


def hours(assignment: Assignment) -> str:
    """What an assignment takes by its own table, reading included, to the next five minutes: "1 h 50"; "" if unsaid."""
    texts = [source_of(cell) for cell in cells_in(assignment.path) if cell["cell_type"] == "markdown"]
    text = "\n\n".join(texts)
    total, before = TOTAL.search(text), BEFORE.search(text)
    if total is None:
        return ""
    minutes = 5 * math.ceil((int(total[1]) + int(before[1] if before else 0)) / 5)
    return f"{minutes // 60} h {minutes % 60:02}"
