"""A wrong factor that all numbers of an output have in common: it is fitted to what came, and told.

This shows no more of a right output than its size: what came must have its direction already, in several numbers that
differ.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import torch

from .facts import Fact

if TYPE_CHECKING:
    from ..checks.proxies import Transcript
    from ..verdict import Check
    from .hypotheses import Behaviour

Part: TypeAlias = tuple[int, ...]  # the place of an output in the tuples that are returned
Outputs: TypeAlias = tuple[torch.Tensor, torch.Tensor]  # what came, and what is right

NEAR = 1e-4  # relative to the largest number: how near to a factor times the right one each number must be
FITTED = ("values", "shape")  # the categories of the checks by whose outputs a factor is fitted
LEAST = 2  # outputs that have the factor in common
MANY = 4  # numbers in an output that says something
OTHER = 0.01  # a factor is told if it differs from 1 by that much
PARTS = {(): "What it returns", (0,): "The first part of what it returns", (1,): "The second part of what it returns"}
SIZES = {-1: "last", -2: "second to last", -3: "third to last"}
POWERS = {1.0: "n", -1.0: "1/n", 0.5: "√n", -0.5: "1/√n"}


class Factor(NamedTuple):
    """A factor: a `number`, times a power of an output's size in a dimension `dim`, if the `power` is not 0."""

    number: float
    dim: int = -1
    power: float = 0.0

    def of(self, output: torch.Tensor) -> float:
        """The factor of this output."""
        return self.number * output.shape[self.dim] ** self.power if self.power else self.number

    @property
    def told(self) -> str:
        """It in words, to be read before "times"."""
        return POWERS[self.power] if self.power else f"{self.number:.3g}"


def factor(failed: Sequence[Check], answers: Mapping[str, Transcript], right: Behaviour) -> Fact | None:
    """The fact that what is returned, or a part of it, is the right one times the same factor, and all else is right.

    `answers` are the student's to all that the `failed` checks ask of a right answer, by check. All checks of values
    among these must be explained by the factor; None if they are not.
    """
    found = {check.name: _outputs(answers[check.name], right.answers(check.name)) for check in failed}
    of_values = {check.name for check in failed if check.category == "values" and found[check.name] != []}
    parts: dict[Part, list[Outputs]] = defaultdict(list)
    for check in failed:
        for part, outputs in (found[check.name] or ()) if check.category in FITTED else ():
            parts[part].append(outputs)
    factors = {part: _common_factor(outputs) for part, outputs in parts.items()}
    wrong = {part: one for part, one in factors.items() if one is None or one.power or abs(one.number - 1) > OTHER}
    told = next(iter(wrong.values()), None)
    if (
        told is None
        or not of_values
        or any(one is None or one.told != told.told for one in wrong.values())
        or not wrong.keys() <= PARTS.keys()
    ):
        return None
    fitted = {part: one for part, one in factors.items() if one is not None}
    explained = {name for name, seen in found.items() if seen and _explains(fitted, seen)}
    if not of_values <= explained:
        return None
    what = PARTS[next(iter(wrong))] if len(wrong) == 1 else "Each part of what it returns"
    where = f", with n for the size of its {SIZES[told.dim]} dimension" if told.power else ""
    says = f"{what} is {told.told} times what it should be{where}, in each number."
    return Fact("times", says, "", frozenset(explained))


def _explains(factors: Mapping[Part, Factor], seen: Sequence[tuple[Part, Outputs]]) -> bool:
    """Whether these factors make of the right outputs what came."""
    return all(part in factors and _is_times(*outputs, factors[part]) for part, outputs in seen)


def _outputs(came: Transcript, right: Transcript) -> list[tuple[Part, Outputs]] | None:
    """What calls returned, beside what is right; None if something else came than tensors of the right shapes."""
    found: list[tuple[Part, Outputs]] = []
    if len(came.entries) != len(right.entries):
        return None
    for one, other in zip(came.entries, right.entries, strict=True):
        if one[0] != other[0]:
            return None
        if one[0] == "answer" and isinstance(one[1], list) and isinstance(other[1], list):
            seen = list(_tensors(one[1][0], other[1][0], ()))
            if any(outputs is None for _, outputs in seen):
                return None
            found += [(part, outputs) for part, outputs in seen if outputs is not None]
    return found


def _tensors(one: Any, other: Any, place: Part) -> Iterator[tuple[Part, Outputs | None]]:
    """The tensors of floats in a value, each with its place and the right one; None for what does not compare."""
    if isinstance(other, torch.Tensor) and other.dtype.is_floating_point and other.device.type == "cpu":
        fits = isinstance(one, torch.Tensor) and one.shape == other.shape and one.dtype.is_floating_point
        yield place, (one.detach().double(), other.detach().double()) if fits else None
    elif isinstance(other, (list, tuple)):
        parts = one if isinstance(one, (list, tuple)) and len(one) == len(other) else [None] * len(other)
        for number, (part, right) in enumerate(zip(parts, other, strict=True)):
            yield from _tensors(part, right, (*place, number))


def _common_factor(outputs: Sequence[Outputs]) -> Factor | None:
    """By what the right ones were multiplied to get all these; None if there is nothing, or if it is not sure."""
    telling = [(came, right) for came, right in outputs if len(right[right != 0].unique()) >= MANY]
    if len(telling) < LEAST:
        return None
    came, right = (torch.cat([one.flatten() for one in ones]) for ones in zip(*telling, strict=True))
    constant = Factor(float((came * right).sum() / (right * right).sum()))
    if all(_is_times(*one, constant) for one in outputs):
        return constant if abs(constant.number) > OTHER else None
    for dim, power in itertools.product(SIZES, POWERS):
        sizes = {right.shape[dim] for _, right in telling if right.dim() >= -dim}
        by_size = Factor(1.0, dim, power)
        if len(sizes) > 1 and all(right.dim() >= -dim and _is_times(came, right, by_size) for came, right in outputs):
            return by_size
    return None


def _is_times(came: torch.Tensor, right: torch.Tensor, factor: Factor) -> bool:
    """Whether what came is the right output times the factor, but for rounding."""
    expected = factor.of(right) * right
    size = float(expected.abs().max()) if right.numel() else 0.0
    return math.isfinite(size) and bool(((came - expected).abs() <= NEAR * size + 1e-12).all())
