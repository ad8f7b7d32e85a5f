"""Whether mistakes hide what else is wrong: an answer that returns its input does so with any scale and any softmax.

Where most other mistakes would make no difference, the rest of an answer does not show. A module that cannot be built,
since `super().__init__()` is missing, may hold anything. Nor does NaN, or the same number everywhere, show that
anything was computed, even where other mistakes would replace it. So it has no price, and the checks decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..checks.proxies import Transcript
from ..sandbox.inside import wire
from ..sandbox.inside.later import torch
from .behaviour import Behaviour, Behaviours
from .evidence import likeness
from .output_factor import outputs_of, says_much

KIND = "values"  # of checks: what they see is the work of the whole answer
TRIED = 16  # other mistakes, from all over the bank
SHOWN = 0.5  # of those tried: if fewer still show, the rest of the answer may be anything
SAID = 0.5  # of the outputs: if fewer hold numbers that differ, nothing need have been computed


def hides_the_rest(one: Behaviour, behaviours: Behaviours) -> bool:
    """Whether most other mistakes do not show in an answer with these, or little is there that could show them.

    Where there are no others to try, they do not hide.
    """
    if one.hides is None:
        one.hides = _answers_little(one, behaviours) or _hides(one, behaviours)
    return one.hides


def _answers_little(one: Behaviour, behaviours: Behaviours) -> bool:
    right = behaviours.right
    try:
        return says_little((one.answers(name), right.answers(name)) for name in behaviours.of_kind(KIND))
    except wire.WireError:  # more than a student's process may give
        return False


def says_little(answers: Iterable[tuple[Transcript, Transcript]]) -> bool:
    """Whether most outputs hold NaN alone, or one number, where those of a right answer hold numbers that differ.

    `answers` are those that came, each with those of a right answer.

    A row of numbers among NaN says something: only what hides just those places has the same gradients. Booleans are
    numbers here: a mask that is the same everywhere says nothing of who may see whom.
    """
    differ = []
    for came, right in answers:
        for ours, expected in zip(came.entries, right.entries, strict=False):
            outputs = outputs_of(ours, expected, {}) or ()
            differ += [_differ(output.came) for _, output in outputs if says_much(output)]
            differ += [_differ(mask) for mask, right in _masks(ours, expected) if _differ(right)]
    return bool(differ) and sum(differ) < SAID * len(differ)


def _masks(came: Any, right: Any) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The booleans in two values of the same form, each with the right ones."""
    if isinstance(came, torch.Tensor) and isinstance(right, torch.Tensor):
        if came.dtype == right.dtype == torch.bool and came.device == right.device and came.device.type != "meta":
            came, right = came.numpy(force=True), right.numpy(force=True)
    if isinstance(came, np.ndarray) and isinstance(right, np.ndarray):
        if came.dtype == right.dtype == np.bool_:
            yield came, right
    elif isinstance(came, (list, tuple)) and isinstance(right, (list, tuple)):
        for ours, expected in zip(came, right, strict=False):
            yield from _masks(ours, expected)


def _differ(output: np.ndarray[Any, Any]) -> bool:
    """Whether it holds two different numbers."""
    return len(np.unique(output[~np.isnan(output)])) > 1


def _hides(one: Behaviour, behaviours: Behaviours) -> bool:
    shown = hidden = 0
    for does_show in _beside(one, behaviours):
        shown, hidden = shown + does_show, hidden + (not does_show)
        if shown >= SHOWN * TRIED or hidden > (1 - SHOWN) * TRIED or shown + hidden == TRIED:
            break  # whatever the others do
    return shown < SHOWN * (shown + hidden)


def _beside(one: Behaviour, behaviours: Behaviours) -> Iterator[bool]:
    """For others that make other values where they stand alone, whether they show beside these."""
    ours = one.hypothesis.ids
    others = [single for single in behaviours.singles if single.mistake.edits and single.mistake.id not in ours]
    others = [single for single in others if not single.mistake.variant]
    for other in _spread(others):
        both = behaviours.of([*one.hypothesis.mistakes, other.mistake])
        seeing = (name for name in behaviours.of_kind(KIND) if _acts(other, name))
        if both and (first := next(seeing, None)):
            yield _shows(both, one, itertools.chain([first], seeing))


def _spread(many: list[Behaviour]) -> list[Behaviour]:
    """The same in another order, so that the first ones come from all over."""
    step = max(1, len(many) // TRIED)
    return [one for start in range(step) for one in many[start::step]]


def _acts(other: Behaviour, check: str) -> bool:
    """Whether it fails a check, and the answers to what that asks say why: those that chance has a part in do not."""
    return other.at(check).failed and _shows(other, other.behaviours.right, [check])


def _shows(both: Behaviour, one: Behaviour, checks: Iterable[str]) -> bool:
    """Whether an answer with one more mistake gives other answers to what one of these checks asks."""
    for name in checks:
        right = one.behaviours.right.answers(name)
        try:
            if not likeness(both.answers(name), one.answers(name), right).alike:
                return True
        except wire.WireError:  # more than a student's process may give
            return True
    return False
