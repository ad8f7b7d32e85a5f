"""A wrong factor that all numbers of an output have in common: it is fitted to what came, and told.

This shows no more of a right output than its size: what came must have its direction already, in several numbers that
differ.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..checks.numeric import in_silence, name_of
from ..sandbox.inside.later import torch
from .arguments import Given
from .facts import Fact

if TYPE_CHECKING:
    from ..checks.proxies import Transcript
    from ..verdict import Check
    from .behaviour import Behaviour

Part: TypeAlias = tuple[int, ...]  # the place of an output in the tuples that are returned

NEAR = 1e-4  # relative to the largest number: how near to a factor times the right one each number must be
ROUGH = {"float16": 1e-2, "bfloat16": 5e-2}  # the same for dtypes of few digits
FITTED = ("values", "shape")  # the categories of the checks by whose outputs a factor is fitted
LEAST = 2  # outputs that have the factor in common
MANY = 4  # numbers in an output that says something
OTHER = 0.01  # a factor is told if it differs from 1 by that much
PARTS = {(): "What it returns", (0,): "The first part of what it returns", (1,): "The second part of what it returns"}
SIZES = {-1: "last", -2: "second to last", -3: "third to last"}
FORMS: Mapping[str, Callable[[float], float]] = {
    "{}": lambda n: n,
    "1/{}": lambda n: 1 / n,
    "√{}": lambda n: n**0.5,
    "1/√{}": lambda n: n**-0.5,
    "1 - {}": lambda n: 1 - n,
    "1/(1 - {})": lambda n: 1 / (1 - n),
}


class Output(NamedTuple):
    """What came, what is right, the numbers that were `given` as arguments, by name, and how `near` is equal."""

    came: np.ndarray[Any, Any]
    right: np.ndarray[Any, Any]
    given: Given = {}
    near: float = NEAR

    def size(self, of: str | int) -> float:
        """A number that was given, or the size of a dimension; 0 where there is none."""
        if isinstance(of, str):
            return self.given.get(of, 0)
        return self.right.shape[of] if self.right.ndim >= -of else 0


class Factor(NamedTuple):
    """A factor: a `number`; or a form, a key of FORMS, of an argument by its name or of the size of a dimension."""

    number: float
    size: str | int = 0
    form: str = ""

    def of(self, output: Output) -> float:
        """The factor of this output; not a number where it has no such size."""
        if not self.form:
            return self.number
        size = output.size(self.size)
        return FORMS[self.form](size) if size > 0 and (size < 1 or "1 -" not in self.form) else math.nan

    @property
    def in_words(self) -> str:
        """It in words."""
        if not self.form:
            return f"{self.number:.3g}"
        return self.form.format(f"`{self.size}`" if isinstance(self.size, str) else "n")

    def where(self, whose: str) -> str:
        """What a sentence adds that holds it; `whose` says of what it is a size."""
        if not isinstance(self.size, int) or not self.size:
            return ""
        return f", with n for the size of {whose} {SIZES[self.size]} dimension"


def output_factor(
    failed: Sequence[Check],
    answers: Mapping[str, Transcript],
    right: Behaviour,
    given: Callable[[str], Sequence[Given]] = lambda check: (),
) -> Fact | None:
    """The fact that what is returned, or a part of it, is the right one times the same factor, and all else is right.

    `answers` are the student's to all that the `failed` checks ask of a right answer, by check; `given` says which
    numbers each request of a check gives. All checks of values among these must be explained by the factor; None if
    they are not.
    """
    found = {
        check.name: _outputs(answers[check.name], right.answers(check.name), given(check.name)) for check in failed
    }
    of_values = {check.name for check in failed if check.category == "values" and found[check.name] != []}
    parts: dict[Part, list[Output]] = defaultdict(list)
    for check in failed:
        for part, output in (found[check.name] or ()) if check.category in FITTED else ():
            parts[part].append(output)
    factors = {part: _common_factor(outputs) for part, outputs in parts.items()}
    wrong = {part: one for part, one in factors.items() if one is None or one.form or abs(one.number - 1) > OTHER}
    told = next(iter(wrong.values()), None)
    if (
        told is None
        or not of_values
        or any(one is None or one.in_words != told.in_words for one in wrong.values())
        or not wrong.keys() <= PARTS.keys()
    ):
        return None
    fitted = {part: one for part, one in factors.items() if one is not None}
    explained = {name for name, seen in found.items() if seen and _explains(fitted, seen)}
    if not of_values <= explained:
        return None
    what = PARTS[next(iter(wrong))] if len(wrong) == 1 else "Each part of what it returns"
    says = f"{what} is {told.in_words} times what it should be{told.where('its')}, in each number."
    return Fact("times", says, "", frozenset(explained))


def _explains(factors: Mapping[Part, Factor], seen: Sequence[tuple[Part, Output]]) -> bool:
    """Whether these factors make of the right outputs what came."""
    return all(part in factors and _is_times(output, factors[part]) for part, output in seen)


def _outputs(came: Transcript, right: Transcript, given: Sequence[Given]) -> list[tuple[Part, Output]] | None:
    """What calls returned, beside what is right; None if something else came than tensors of the right shapes."""
    found: list[tuple[Part, Output]] = []
    if len(came.entries) != len(right.entries):
        return None
    for number, (one, other) in enumerate(zip(came.entries, right.entries, strict=True)):
        outputs = outputs_of(one, other, given[number] if number < len(given) else {})
        if outputs is None:
            return None
        found += outputs
    return found


def outputs_of(came: Any, right: Any, given: Given) -> list[tuple[Part, Output]] | None:
    """The same for one entry of their transcripts."""
    if came[0] != right[0]:
        return None
    if came[0] != "answer" or not isinstance(came[1], list) or not isinstance(right[1], list):
        return []
    seen = list(_tensors(came[1][0], right[1][0], (), given))
    found = [(part, output) for part, output in seen if output is not None]
    return found if len(found) == len(seen) else None


def _tensors(one: Any, other: Any, place: Part, given: Given) -> Iterator[tuple[Part, Output | None]]:
    """The tensors of floats in a value, each with its place and the right one; None for what does not compare.

    Arrays of NumPy's count as tensors, and a tensor in place of an array does not compare.
    """
    if _is_of_floats(other):
        fits = type(one) is type(other) and one.shape == other.shape and _is_of_floats(one)
        near = ROUGH.get(name_of(other.dtype), NEAR)
        yield place, Output(_in_float64(one), _in_float64(other), given, near) if fits else None
    elif isinstance(other, (list, tuple)):
        parts = one if isinstance(one, (list, tuple)) and len(one) == len(other) else [None] * len(other)
        for number, (part, right) in enumerate(zip(parts, other, strict=True)):
            yield from _tensors(part, right, (*place, number), given)


def _is_of_floats(value: Any) -> bool:
    """Whether it is an array of floats or such a tensor, which holds its numbers here."""
    if isinstance(value, torch.Tensor):
        return value.dtype.is_floating_point and value.device.type == "cpu"
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _in_float64(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().double().numpy() if isinstance(value, torch.Tensor) else value.astype(np.float64)


def says_much(output: Output) -> bool:
    """Whether a right output has so many different numbers that no other one agrees with it by chance."""
    return len(np.unique(output.right[output.right != 0])) >= MANY


@in_silence
def _common_factor(outputs: Sequence[Output]) -> Factor | None:
    """By what the right ones were multiplied to get all these; None if there is nothing, or if it is not sure."""
    telling = [output for output in outputs if says_much(output)]
    if len(telling) < LEAST:
        return None
    came = np.concatenate([output.came.ravel() for output in telling])
    right = np.concatenate([output.right.ravel() for output in telling])
    constant = Factor(float((came * right).sum() / (right * right).sum()))
    if all(_is_times(output, constant) for output in outputs):
        return constant if abs(constant.number) > OTHER else None
    return by_size(telling, lambda one: all(_is_times(output, one) for output in outputs))


def by_size(outputs: Sequence[Output], fits: Callable[[Factor], bool]) -> Factor | None:
    """The factor that fits, of an argument or a size that differs from output to output; None if it is not sure.

    Of two arguments that fit neither is certain.
    """
    arguments = dict.fromkeys(name for output in outputs for name in output.given)
    found = [one for one in _forms(outputs, arguments) if fits(one)]
    if found:
        return found[0] if len({one.size for one in found}) == 1 else None
    return next((one for one in _forms(outputs, SIZES) if fits(one)), None)


def _forms(outputs: Sequence[Output], sizes: Iterable[str | int]) -> Iterator[Factor]:
    """All factors of these sizes, as far as they change."""
    for size in sizes:
        values = {output.size(size) for output in outputs}
        if len(values) > 1 and min(values) > 0:
            yield from (Factor(1.0, size, form) for form in FORMS)


def _is_times(output: Output, factor: Factor) -> bool:
    """Whether what came is the right output times the factor, but for rounding."""
    return is_near(output, factor.of(output) * output.right)


@in_silence
def is_near(output: Output, expected: np.ndarray[Any, Any]) -> bool:
    """Whether what came is as expected, but for rounding."""
    size = float(abs(expected).max()) if expected.size else 0.0
    return math.isfinite(size) and bool((abs(output.came - expected) <= output.near * size + 1e-12).all())
