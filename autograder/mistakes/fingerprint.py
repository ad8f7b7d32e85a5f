"""What an answer did in the checks that it failed, as a short text: it can be stored, and compared with another's.

Two answers are equal here if they fail the same checks for the same reasons, errors come from lines that compute the
same, and all that the checks saw of them is the same: shapes, dtypes, errors, and values up to rounding. Of the values,
only a few sums are kept, so that a verdict stays small. Their weights are fixed, but to agree in them on unknown
inputs, an answer must compute what the other one does. Then it shares its words, and the price that an instructor may
have given it.

The inputs must be the same ones. Those of another seed give other values, and so another fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks.numeric import largest, name_of, pairs_of
from ..checks.proxies import Transcript
from ..sandbox.inside import wire
from ..sandbox.inside.later import torch
from .evidence import without_numbers
from .student_line import operations

if TYPE_CHECKING:
    from ..checks.runner import ExerciseRun

SUMS = 4  # of all values that one check saw, with different weights
DIGITS = 7  # of a sum that is kept
LENGTH = 12  # characters of a hash
STEPS = (2, 3, 5, 7, 11, 13, 17, 19)  # whose roots are the steps of these weights
MOST = 20_000  # characters of a fingerprint; real ones have at most a tenth of that
TINY = 1e-7  # values that are all smaller are no more than rounding, so their sums would say nothing
# How far sums of equal answers may be apart, for each tensor in them. It is stricter than `evidence.ROUNDING`: here no
# right answer is at hand, by which to see how much of a value the mistake changes.
ROUNDING = {"float16": 5e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-6}  # by the names of dtypes


def fingerprint(run: ExerciseRun, answers: Mapping[str, Transcript] | None) -> str:
    """The fingerprint of a run that failed; empty if chance had a part in what it did, if it would be too long, or if
    a sum is not finite, which would be near to all others.

    `answers` are those to all that the failed checks ask of a right answer, by check, if they could be had: they show
    what a check that ended early did not come to see.
    """
    found: dict[str, list[Any]] = {}
    for check in run.rejected():
        seen = [run.transcripts[check.name], *([answers[check.name]] if answers else [])]
        if any(transcript.by_chance for transcript in seen):
            return ""
        place = run.places.get(check.name)
        computes = sorted(operations(place.code)) if place else []
        print_of = Print()
        for transcript in seen:
            print_of.add(transcript.entries)
        if not all(map(math.isfinite, [print_of.rounding, *print_of.sums])):
            return ""
        form = [without_numbers(check.reason), computes, print_of.form]
        found[check.name] = [hashed(json.dumps(form)), round(print_of.rounding, 6), *print_of.sums]
    text = json.dumps(found, separators=(",", ":"))
    return text if len(text) <= MOST else ""


def in_float32(numbers: object) -> np.ndarray[Any, Any]:
    """Some numbers as they are compared: what is too large for float32 is infinite."""
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype=np.float32)


def hashed(text: str) -> str:
    """A hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]


@dataclass
class Print:
    """What a check saw: all that is the same for equal answers in the hash `form`, numbers with fractions in `sums`.

    A tensor adds its direction and its size, each to every sum, so that any tensor that differs shows. `rounding` is
    how far the sums of equal answers may be apart.
    """

    form: str = ""
    rounding: float = 0.0
    sums: list[float] = field(default_factory=lambda: [0.0] * SUMS)
    tensors: int = 0

    def add(self, value: Any) -> None:
        """Take a value into account, with all that is in it."""
        self.form = hashed(json.dumps([self.form, *self._forms(value)]))
        self.sums = [float(f"{value:.{DIGITS}g}") for value in self.sums]

    def _forms(self, value: Any) -> Iterator[str]:
        if isinstance(value, torch.Tensor):
            yield self._tensor(value)
        elif isinstance(value, np.ndarray) and value.ndim:
            yield f"array {value.dtype} {self._numbers(pairs_of(value))}"
        elif isinstance(value, (np.ndarray, np.generic)):
            yield from self._forms(value.item())  # a number is one, however it is held
        elif isinstance(value, complex):
            yield f"complex {self._numbers(in_float32([value.real, value.imag]))}"
        elif isinstance(value, bool) or value is None:
            yield repr(value)
        elif isinstance(value, float):
            yield self._numbers(in_float32(value))
        elif isinstance(value, int):
            yield f"{value:x}"  # in decimal, Python refuses large ones
        elif isinstance(value, str):
            yield f"text {value}"
        elif isinstance(value, wire.Opaque):
            yield f"opaque {value.name}"
        elif isinstance(value, (list, tuple)):
            yield f"{type(value).__name__} {len(value)}"
            for part in value:
                yield from self._forms(part)
        elif isinstance(value, dict):
            yield f"dict {len(value)}"
            for key in sorted(value, key=repr):
                yield f"key {key}"
                yield from self._forms(value[key])
        else:
            yield f"other {type(value).__name__}"

    def _tensor(self, tensor: torch.Tensor) -> str:
        """What is exactly the same for equal answers; what may be rounded otherwise goes into the sums."""
        form = f"{tensor.dtype} {list(tensor.shape)} {tensor.device.type}"
        if tensor.device.type == "meta":
            return form
        tensor = tensor.detach().cpu()
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        dtype = name_of(tensor.dtype)
        return self._numbers((tensor.double() if "float" in dtype else tensor).numpy(), dtype, form)

    def _numbers(self, array: np.ndarray[Any, Any], dtype: str = "", form: str = "") -> str:
        """The same of the numbers of a tensor, which were of that dtype, or of an array, which stands for one."""
        dtype = dtype or name_of(array.dtype)
        form = form or f"torch.{dtype} {list(array.shape)} cpu"
        if not array.size:
            return form
        if array.dtype.kind != "f":
            return f"{form} {hashed(str(array.ravel().tolist()))}"
        values = array.astype(np.float64).ravel()
        finite = np.isfinite(values)
        if not finite.all():
            odd = np.nan_to_num(values[~finite], nan=0.5, posinf=1.0, neginf=-1.0)
            form += f" {hashed(f'{finite.tolist()} {odd.tolist()}')}"
            values = np.where(finite, values, 0.0)
        size = largest(values)
        if size <= TINY:
            return f"{form} zeros"
        values = values / size  # first, so that no sum overflows
        self.tensors += 1
        self.rounding = math.hypot(self.rounding, ROUNDING.get(dtype, 1e-6))
        places = np.arange(1, values.size + 1, dtype=np.float64)
        for number in range(SUMS):
            # irrational steps: no two places, nor two tensors, have the same weights in all sums
            weights = np.cos(places * math.sqrt(STEPS[number]) + self.tensors)
            direction = float(weights @ values) / math.sqrt(values.size)
            weight = math.cos(self.tensors * math.sqrt(STEPS[-1 - number]))
            self.sums[number] += direction + weight * math.log(size)
        return form
