"""Two mistakes of a bank at once: how often both are named."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .bank import Bank, bank
from .hypotheses import Hypothesis, composed, makes_sense, right

if TYPE_CHECKING:
    from ..checks.runner import Graders
    from .diagnosis import Diagnostician


@dataclass
class Naming:
    """How many pairs of an exercise lose points, and get both names, or at least one of them.

    Of those with one name, `hidden` are to all checks the same as that mistake alone: nothing shows of the other.
    `wrong` has the pairs that were named as something else, with all their names.
    """

    tried: int = 0
    both: int = 0
    hidden: int = 0
    one: int = 0
    wrong: list[tuple[tuple[str, ...], list[str]]] = field(default_factory=list)

    def __str__(self) -> str:
        wrong = f", {len(self.wrong)} wrong" if self.wrong else ""
        both = f"both in {self.both} of {self.tried}, the only one that shows in {self.hidden} more"
        return f"{both}, at least one in {self.one}{wrong}"


def pairs(of: Bank, seed: int) -> Iterator[Hypothesis]:
    """All answers with two mistakes whose edits fit together, in an order drawn by chance."""
    every = list(itertools.combinations(of.values(), 2))
    random.Random(seed).shuffle(every)
    together = (composed(right(of), *pair) for pair in every)
    return (pair for pair in together if pair is not None and makes_sense(pair))


def named(exercise: str, graders: Graders, diagnostician: Diagnostician, size: int, seed: int) -> Naming:
    """What `size` pairs of an exercise's mistakes are named, drawn by chance like the inputs."""
    found, of = Naming(), bank(exercise)
    if not isinstance(of, Bank):
        return found
    for pair in itertools.islice(pairs(of, seed), size):
        run = graders.run(exercise, pair.local(), seed)
        if not run.failed():  # the one makes up for the other
            continue
        names = [diagnosis.id for diagnosis in diagnostician.diagnose(run) if diagnosis.id in of]
        found.tried += 1
        found.one += not set(names).isdisjoint(pair.ids)
        if set(names) >= set(pair.ids):
            found.both += 1
        elif names and set(names) <= set(pair.ids):
            found.hidden += is_the_same(graders, of, pair, names, seed)
        if not set(names) <= set(pair.ids) and not is_the_same(graders, of, pair, names, seed):
            found.wrong.append((pair.ids, names))
    return found


def is_the_same(graders: Graders, of: Bank, pair: Hypothesis, names: list[str], seed: int) -> bool:
    """Whether an answer with the mistakes of these names is, to all checks, the same as the pair."""
    other = composed(right(of), *(of[name] for name in names))
    if other is None:
        return False
    runs = [graders.run(pair.exercise, one.local(), seed) for one in (pair, other)]
    one, two = [{check.name: check.reason for check in run.checks} for run in runs]
    return one == two
