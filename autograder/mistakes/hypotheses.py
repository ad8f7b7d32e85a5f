"""What may be wrong with an answer: one mistake, several at once, or none; and the text of such an answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..checks.proxies import Local
from . import bank as banks
from .bank import Bank, BankError, Mistake

# Combinations of two, and of three, that a search tries before it gives up. They were 600 and 300 at first; no record
# says what fewer were fitted on. Of the answers of diagnosis.py (above LEAST), those to attention get the same names
# with 250 pairs; with 1000, two of 20 get fewer names. With 30 and 120 triples, and with either
# number of pairs, those to softmax and causal_mask get the same names.
PAIRS, TRIPLES = 500, 60
# The budget of a search: combinations that it makes and runs for one answer. It counts these and not seconds, so that a
# class that is graded twice gets the same names, however busy the machine is; singles, which are learnt once for all
# answers, do not count. All pairs may be tried, and one of them be compared with what could stand in its place.
TRIED = 750


@dataclass(frozen=True)
class Hypothesis:
    """The `mistakes` that an answer may have, and the whole `source` of such an answer. Without any it is right."""

    exercise: str
    mistakes: tuple[Mistake, ...]
    source: str
    beside: str = ""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(mistake.id for mistake in self.mistakes)

    @property
    def lasts(self) -> bool:
        """Whether what it keeps outlives its objects."""
        return any(mistake.lasts for mistake in self.mistakes)

    @property
    def name(self) -> str:
        """What stands for its file."""
        return f"{self.exercise}/{'+'.join(one.id + banks.PRIME * one.variant for one in self.mistakes)}"

    def local(self) -> Local:
        """An answer with these mistakes, behind the interface of a submission."""

        def made() -> dict[str, Any]:
            return banks.namespace_of(self.name, self.beside, self.source)

        return Local(made(), self.source, made, self.name)


def right(bank: Bank) -> Hypothesis:
    """The right answer, which the mistakes of the bank edit."""
    return Hypothesis(bank.exercise, (), bank.right, bank.around)


def contradict(mistakes: Sequence[Mistake]) -> bool:
    """Whether some of them change the same text of the answer, so that they cannot all be meant."""
    changed = [text for mistake in mistakes for text in mistake.edits or ()]
    return len(set(changed)) < len(changed)


def composed(right: Hypothesis, *mistakes: Mistake) -> Hypothesis | None:
    """The right answer with all these mistakes; None if their edits do not fit together.

    The edits are made one mistake after another, in the first order in which each finds its text once. No two may
    change the same text: a logit that is doubled and then divided by 1.2 would be a third mistake.
    """
    if len(mistakes) == 1:
        return Hypothesis(right.exercise, mistakes, mistakes[0].source, right.beside)
    if any(mistake.edits is None for mistake in mistakes) or contradict(mistakes):
        return None
    for order in itertools.permutations(mistakes):
        source = right.source
        try:
            for mistake in order:
                source = banks.edited(source, mistake.edits or {}, mistake.id)
            made = Hypothesis(right.exercise, mistakes, source, right.beside)
            banks.compiled(source, banks.file_of(made.name))
        except (BankError, SyntaxError):
            continue
        return made
    return None


def makes_sense(hypothesis: Hypothesis) -> bool:
    """Whether its text runs: edits that fit together as texts may still contradict each other."""
    try:
        hypothesis.local()
    except Exception:
        return False
    return True
