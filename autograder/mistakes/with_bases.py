"""An answer that is right, or wrong in known ways, and that stands on other exercises whose mistakes are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from .. import course
from ..checks.source_text import names_in
from .bank import Bank, Mistake, bank, right_answer
from .hypotheses import Hypothesis, composed, right


def with_bases(exercise: str, own: Sequence[str], bases: Mapping[str, Sequence[str]]) -> Hypothesis | None:
    """The course's answer to an exercise with its `own` mistakes, on `bases` with theirs, if any, all by their ids.

    None if one of them is no edit in a bank, or if they do not fit together.
    """
    replaced = {name: _wrong(name, ids) for name, ids in bases.items() if ids}
    made = _wrong(exercise, own) if own else Hypothesis(exercise, (), right_answer(exercise))
    if made is None or None in replaced.values():
        return None
    texts = {name: one.source for name, one in replaced.items() if one is not None}
    around = list(_around({*names_in(made.source), *getattr(bank(exercise), "beside", ())}, texts, {exercise}))
    return Hypothesis(exercise, made.mistakes, made.source, "\n\n".join(around))


def _wrong(exercise: str, ids: Sequence[str]) -> Hypothesis | None:
    """The bank's right answer to an exercise with these mistakes."""
    of = bank(exercise)
    mistakes: list[Mistake] = [of[id] for id in ids if id in of]
    if not isinstance(of, Bank) or len(mistakes) < len(ids):
        return None
    return composed(right(of), *mistakes)


def _around(names: Set[str], texts: Mapping[str, str], seen: set[str]) -> Iterator[str]:
    """The answers to all exercises among the names that a text uses, each after those that it uses itself."""
    for name in sorted(course.exercises().keys() & names - seen):
        seen.add(name)
        answer = texts.get(name) or right_answer(name)
        yield from _around(names_in(answer), texts, seen)
        yield answer
