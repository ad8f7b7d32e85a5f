"""The table of mistakes and checks: `python -m autograder.mistakes.matrix [NAME…]` writes it to reports/matrix.md."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import course
from ..checks.runner import ExerciseRun, Graders
from ..errors import UsageError
from . import visible
from .bank import bank

PAGE = Path("reports", "matrix.md")  # in the course's folder
SEED = 1
HEAD = """# Which check catches which mistake

Made by `make matrix`. A row is a mistake, a column a check: ✗ where the check fails. A mistake that hangs on one check
alone is marked with •. The column `visible` has a ✓ where the visible check catches the mistake, too.
"""


def render(run: Callable[[str, str], ExerciseRun], wanted: Sequence[str] = ()) -> str:
    """The page as Markdown, for the exercises `wanted` or for all. `run(exercise, id)` grades a mistake."""
    parts = [HEAD]
    for assignment in course.assignments().values():
        names = [e.name for e in assignment.exercises if bank(e.name) and (not wanted or e.name in wanted)]
        parts += [f"## {assignment.name}\n"] if names else []
        parts += [table(name, run) for name in names]
    return "\n".join(parts)


def table(exercise: str, run: Callable[[str, str], ExerciseRun]) -> str:
    """The part of the page for one exercise."""
    runs = {id: run(exercise, id) for id in bank(exercise)}
    checks = [check for check in next(iter(runs.values())).checks if check.points]  # the same with and without a GPU
    lines = [f"### {exercise}\n"]
    lines += [f"{n}. `{c.name.removeprefix('test_')}` ({c.category}, {c.points:g})" for n, c in enumerate(checks, 1)]
    lines += ["", "| mistake | " + " | ".join(str(n) for n in range(1, len(checks) + 1)) + " | visible |"]
    lines.append("|---|" + "---|" * (len(checks) + 1))
    for id, graded in runs.items():
        failed = {check.name for check in graded.failed()}
        marks = " | ".join("✗" if check.name in failed else "" for check in checks)
        seen = "✓" if visible.catches(bank(exercise)[id]) else ""
        lines.append(f"| {id}{' •' if len(failed) == 1 else ''} | {marks} | {seen} |")
    return "\n".join(lines) + "\n"


def main(wanted: Sequence[str] = ()) -> None:
    """Write the page once it is complete. Raises UsageError for an unknown exercise."""
    for name in wanted:
        if name not in course.exercises():
            raise UsageError(f"There is no exercise {name!r}: the course has {', '.join(course.exercises())}.")
    graders = Graders()
    text = render(lambda exercise, id: graders.run(exercise, bank(exercise)[id].local(), SEED), wanted)
    page = course.root() / PAGE
    page.parent.mkdir(exist_ok=True)
    new = page.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(page)
    print(f"{PAGE} is written")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        sys.exit(f"matrix: {error}")
