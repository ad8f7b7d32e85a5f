"""The table of mistakes and checks: `python -m autograder.mistakes.matrix [NAME…]` writes it to reports/matrix.md."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from .. import course
from ..checks.runner import ExerciseRun, Graders
from ..errors import UsageError
from . import pairs, visible
from .bank import bank
from .diagnosis import Diagnostician

PAGE = Path("reports", "matrix.md")  # in the course's folder
SEED = 1
PAIRS = 20  # of each exercise
COSTLY = 1.5  # points: from here on the visible check should stop at a mistake
MUCH = 0.5  # of an exercise's points: only what touches its core formula should cost more
HEAD = f"""# Which check catches which mistake

Made by `make matrix`. Of each exercise's mistakes: how many lose points (*rejected*), and are *named* by their own id;
how many of those that cost {COSTLY:g} points or more the *visible check* stops at; what {PAIRS} pairs of them, made
together, are named: *both*, the only one that shows in any check (*one shows*), *at least one*, or something else
(*wrong*); the largest share of the points that one *costs*, and how many cost more than {MUCH:.0%}.
"""
DETAILS = """
In the tables below, a row is a mistake, a column a check: ✗ where the check fails. A mistake that hangs on one check
alone is marked with •. The column `visible` has a ✓ where the visible check stops at the mistake, too. `cost` is the
share of the exercise's points that are lost.
"""
SUMMARY = (
    *("exercise", "mistakes", "rejected", "named", "visible check"),
    *("both", "one shows", "at least one", "wrong", "costs", "more"),
)


class ExerciseMatrix:
    """What the checks, the visible check and the diagnosis make of the mistakes of one exercise."""

    def __init__(self, exercise: str, graders: Graders, diagnostician: Diagnostician) -> None:
        self.exercise = exercise
        self.bank = bank(exercise)
        self.runs = {id: graders.run(exercise, mistake.local(), SEED) for id, mistake in self.bank.items()}
        self.names = {id: [d.id for d in diagnostician.diagnose(run)] for id, run in self.runs.items()}
        self.costs = {id: cost(run) for id, run in self.runs.items()}
        self.caught = {id for id, mistake in self.bank.items() if visible.catches(mistake)}
        self.pairs = pairs.named(exercise, graders, diagnostician, PAIRS, SEED)

    def summary(self) -> list[str]:
        """Its row in the table of all exercises."""
        alike = getattr(self.bank, "alike", {})
        named = sum(names in ([id], [alike.get(id)]) for id, names in self.names.items())
        costly = {id for id, run in self.runs.items() if sum(check.points for check in run.failed()) >= COSTLY}
        return [
            self.exercise,
            str(len(self.bank)),
            str(sum(cost > 0 for cost in self.costs.values())),
            str(named),
            f"{len(costly & self.caught)} of {len(costly)}",
            f"{self.pairs.both} of {self.pairs.tried}",
            str(self.pairs.hidden),
            str(self.pairs.one),
            str(len(self.pairs.wrong)),
            f"{max(self.costs.values()):.0%}",
            str(len(self._dear())),
        ]

    def table(self) -> str:
        """Its own part of the page."""
        checks = [check for check in next(iter(self.runs.values())).checks if check.points]  # the same without a GPU
        lines = [f"### {self.exercise}\n"]
        lines += [
            f"{n}. `{c.name.removeprefix('test_')}` ({c.category}, {c.points:g})" for n, c in enumerate(checks, 1)
        ]
        lines += ["", _row(["mistake", *(str(n) for n in range(1, len(checks) + 1)), "visible", "cost"])]
        lines.append("|---|" + "---|" * (len(checks) + 2))
        for id, run in self.runs.items():
            failed = {check.name for check in run.failed()}
            marks = ["✗" if check.name in failed else "" for check in checks]
            seen = "✓" if id in self.caught else ""
            lines.append(_row([f"{id}{' •' if len(failed) == 1 else ''}", *marks, seen, f"{self.costs[id]:.0%}"]))
        if dear := self._dear():
            lines += ["", f"More than {MUCH:.0%}: {', '.join(f'{id} ({self.costs[id]:.0%})' for id in dear)}."]
        for ids, names in self.pairs.wrong:
            lines += ["", f"Named wrongly: {' and '.join(ids)}, as {', '.join(names)}."]
        return "\n".join(lines) + "\n"

    def _dear(self) -> list[str]:
        """The mistakes that cost more than MUCH, the worst first."""
        return sorted((id for id, cost in self.costs.items() if cost > MUCH), key=lambda id: -self.costs[id])


def cost(run: ExerciseRun) -> float:
    """The share of an exercise's points that were lost."""
    return sum(check.points for check in run.failed()) / sum(check.points for check in run.checks)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def render(graders: Graders, wanted: Sequence[str] = ()) -> str:
    """The page as Markdown, for the exercises `wanted` or for all."""
    diagnostician = Diagnostician(graders)
    rows, parts = [], []
    for assignment in course.assignments().values():
        names = [e.name for e in assignment.exercises if bank(e.name) and (not wanted or e.name in wanted)]
        parts += [f"## {assignment.name}\n"] if names else []
        for name in names:
            made = ExerciseMatrix(name, graders, diagnostician)
            rows.append(_row(made.summary()))
            parts.append(made.table())
    return "\n".join([HEAD, _row(SUMMARY), "|---|" + "---:|" * (len(SUMMARY) - 1), *rows, DETAILS, *parts])


def write_page(place: Path, text: str) -> None:
    """Write a page into the course's folder once it is complete, and say so."""
    page = course.root() / place
    page.parent.mkdir(exist_ok=True)
    new = page.with_suffix(f".{os.getpid()}")
    new.write_text(text, encoding="utf-8")
    new.replace(page)
    print(f"{place} is written")


def main(wanted: Sequence[str] = ()) -> None:
    """Write the page once it is complete. Raises UsageError for an unknown exercise."""
    for name in wanted:
        course.find_exercise(name)
    write_page(PAGE, render(Graders(), wanted))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UsageError as error:
        sys.exit(f"matrix: {error}")
