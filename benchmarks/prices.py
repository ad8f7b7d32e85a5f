"""What one slip costs, by checks and by prices: `python benchmarks/prices.py [EXERCISE …] [--seed N]`.

Every edit in the banks, variants too, is graded alone. What a person has to judge stands in reports/prices.md: the
diff of each that keeps at most LITTLE of its exercise by checks and at least MUCH by prices. Is it a slip in an answer
that else does its work, or next to nothing, which somebody could write on purpose?
"""

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import course
from autograder.batch.commands import progress
from autograder.checks.runner import Graders
from autograder.errors import UserError
from autograder.mistakes import matrix
from autograder.mistakes.bank import Bank, Mistake, bank
from autograder.mistakes.behaviour import Behaviours
from autograder.mistakes.prices import price
from autograder.mistakes.uninformative import hides_the_rest

PAGE = Path("reports", "prices.md")  # in the course's folder
LITTLE, MUCH = 0.2, 0.6  # of an exercise's points
LOST = 0.6  # of an exercise's points: a single slip should rarely cost more
HEAD = f"""# What one slip keeps by its price

Made by `benchmarks/prices.py`: the edits that keep at most {LITTLE:.0%} by checks and {MUCH:.0%} or more by prices.
"""


@dataclass(frozen=True)
class Slip:
    """A single mistake, the share of the points that it keeps `by_checks`, and the one that it keeps `by_price`."""

    mistake: Mistake
    right: str
    by_checks: float
    by_price: float

    @property
    def kept(self) -> float:
        return max(self.by_checks, self.by_price)

    @property
    def is_lifted(self) -> bool:
        """Whether its price gives much to what the checks give little."""
        return self.by_checks <= LITTLE and self.by_price >= MUCH

    def entry(self) -> str:
        """Its part of the page."""
        lines = difflib.unified_diff(self.right.splitlines(), self.mistake.source.splitlines(), lineterm="", n=1)
        diff = [line for line in lines if not line.startswith(("---", "+++"))]
        name, variant = self.mistake.key
        kept = f"{self.by_checks:.0%} by checks, {self.by_price:.0%} by its price"
        return "\n".join([f"**{name}** {variant or ''}: {kept}. {self.mistake.says}", "", "```diff", *diff, "```", ""])


def slips(exercise: str, graders: Graders, seed: int) -> Iterator[Slip]:
    """Each edit in the exercise's bank."""
    of = bank(exercise)
    if not isinstance(of, Bank):
        return
    behaviours = Behaviours(of, graders, seed)
    judged = graders.run(exercise, behaviours.right.hypothesis.local(), seed).checks  # without those for a GPU
    categories = {check.name: check.category for check in judged}
    points = {check.name: check.points for check in judged}
    for one in behaviours.singles:
        if one.mistake.edits is None:
            continue
        alone = {name: one.at(name) for name in categories}
        by_checks = sum(points[name] for name, seen in alone.items() if not seen.failed) / sum(points.values())
        by_price = 1 - price(one.mistake, alone, categories)
        if by_price > by_checks and hides_the_rest(one, behaviours):
            by_price = 0.0
        yield Slip(one.mistake, of.right, by_checks, by_price)


def table(found: dict[str, list[Slip]]) -> str:
    """By exercise: its edits, those that lose more than LOST by checks and by prices, and those to be judged."""
    head = f"| exercise | edits | lose > {LOST:.0%} by checks | by prices | to judge |", "|---|" + "---:|" * 4
    every = {**found, "all": [slip for slips in found.values() for slip in slips]}
    return "\n".join([*head, *(_row(name, slips) for name, slips in every.items())]) + "\n"


def _row(name: str, slips: Sequence[Slip]) -> str:
    counts = sum(1 - s.by_checks > LOST for s in slips), sum(1 - s.kept > LOST for s in slips)
    shares = [f"{count} ({count / len(slips):.1%})" if slips else "0" for count in counts]
    return f"| {name} | {len(slips)} | {' | '.join(shares)} | {sum(s.is_lifted for s in slips)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (default: 1)")
    options = parser.parse_args()
    try:
        wanted = [course.find_exercise(name).name for name in options.exercises] or list(course.exercises())
        graders = Graders()
        found = {name: list(slips(name, graders, options.seed)) for name in progress("grading", wanted, len(wanted))}
    except UserError as error:
        sys.exit(f"prices: {error}")
    parts = [part for name, slips in found.items() for part in _judged(name, slips)]
    matrix.write_page(PAGE, "\n".join([HEAD, table(found), *parts]))
    print(table(found))


def _judged(exercise: str, slips: Sequence[Slip]) -> list[str]:
    lifted = [slip.entry() for slip in slips if slip.is_lifted]
    return [f"## {exercise}\n", *lifted] if lifted else []


if __name__ == "__main__":
    main()
