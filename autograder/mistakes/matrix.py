"""The table misconceptions x checks: which check catches which. `make matrix` prints it, and writes `fails.json`."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .. import course
from .bank import FAILS, bank

if TYPE_CHECKING:
    from ..checks.runner import Run

SEED = 1
OTHER_SEEDS = 2, 3
HEAD = """# Which check catches which misconception

Made by `make matrix`. A row is a wrong implementation, a column a check: ✗ where the check fails. A check that catches
nothing would be a column without a ✗; a misconception that hangs on one check alone is marked with •.
"""


def render(run: Callable[[str, str], Run]) -> str:
    """The whole table as Markdown. `run(exercise, id)` is the graded Run of a misconception."""
    parts = [HEAD]
    for assignment in course.assignments().values():
        parts.append(f"## {assignment.name}\n")
        parts += [table(e.name, run) for e in assignment.exercises]
    return "\n".join(parts)


def table(exercise: str, run: Callable[[str, str], Run]) -> str:
    """The part of the table that is about one exercise; `run` as for `render`."""
    runs = {id: run(exercise, id) for id in bank(exercise)}
    checks = [check for check in next(iter(runs.values())).checks if check.points]  # the same with and without a GPU
    lines = [f"### {exercise}\n"]
    lines += [f"{n}. `{c.name.removeprefix('test_')}` ({c.category}, {c.points:g})" for n, c in enumerate(checks, 1)]
    lines += ["", "| misconception | " + " | ".join(str(n) for n in range(1, len(checks) + 1)) + " |"]
    lines.append("|---|" + "---|" * len(checks))
    for id, graded in runs.items():
        failed = {check.name for check in graded.failed()}
        marks = " | ".join("✗" if check.name in failed else "" for check in checks)
        lines.append(f"| {id}{' •' if len(failed) == 1 else ''} | {marks} |")
    return "\n".join(lines) + "\n"


def failed_in_all(runs: Sequence[Run]) -> str:
    """The names of the checks, as one text, that a misconception failed in each of several runs."""
    names = [check.name for check in runs[0].failed()]
    return " ".join(name for name in names if all(name in {c.name for c in run.failed()} for run in runs))


def main() -> None:
    """Print the table, and write which checks fail on all inputs that were tried."""
    from ..checks.runner import Graders

    graders = Graders()

    @functools.cache
    def run(exercise: str, id: str, seed: int = SEED) -> Run:
        return graders.run(exercise, bank(exercise)[id].local(), seed)

    sys.stdout.write(render(run))
    seeds = SEED, *OTHER_SEEDS
    table = {e: {id: failed_in_all([run(e, id, s) for s in seeds]) for id in bank(e)} for e in course.exercises()}
    FAILS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
