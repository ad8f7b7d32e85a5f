"""What a check found out about an answer, and how what it saw of a student compares with what it saw of a mistake."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checks.numeric import dtype_of, in_silence, is_number, is_truth, largest, name_of, pairs_of, real_name_of
from ..checks.proxies import OF_TORCH, Counts, Transcript
from ..sandbox.inside import wire
from ..sandbox.inside.later import torch

# Rounding, relative to the largest value: values that differ by less may come from the same formula, written otherwise.
IN_FLOAT64 = 1e-9
ROUNDING = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": IN_FLOAT64}  # by the names of dtypes
VISIBLE = 0.1  # of ROUNDING: a mistake that changes values by less does not act there
CLEAR = 100  # times a rounding: a mistake that changes values by more is told from it
NEARER = 0.2  # the student's values may be this far from the mistake's, relative to the mistake's from the right ones

CONDITION = "Boolean value of Tensor"  # how torch begins where a condition asks for one: a slip, not a size
NOTHING = object()  # stands for what the right answer has no counterpart of
NUMPYS = (np.ndarray, np.generic)


@dataclass(frozen=True)
class Observation:
    """What a check found out about an answer: whether it `failed`, what it saw, and the `reason` that it gave.

    `line` is that of the answer at which an error ended the check, if one did.
    """

    failed: bool
    transcript: Transcript
    reason: str  # see `without_numbers`
    line: str


def without_numbers(reason: str) -> str:
    """A check's reason without the numbers in it, which change with inputs and rounding, and without quoted code."""
    return re.sub(r"`[^`]*`|-?\d+(\.\d+)?(e[-+]?\d+)?%?", "#", reason)


class Likeness(NamedTuple):
    """Whether two observations are `alike`, and whether that is `telling`: a right answer gives something else."""

    alike: bool
    telling: bool
    loosely: bool = False  # only in that both accept what should be refused


DIFFERENT = Likeness(alike=False, telling=False)


def likeness(student: Transcript, mistake: Transcript, right: Transcript, in_float64: float = IN_FLOAT64) -> Likeness:
    """How a student's transcript compares with a mistake's, given the right answer's.

    `in_float64` is the rounding of float64 values, for an exercise in which parts of them may be made in float32.
    """
    if len(student.entries) != len(mistake.entries):
        return DIFFERENT
    compare = functools.partial(_entries, in_float64=in_float64)
    return _of_all(student.entries, mistake.entries, right.entries, compare)


def _of_all(
    students: Sequence[Any],
    mistakes: Sequence[Any],
    rights: Sequence[Any],
    compare: Callable[[Any, Any, Any], Likeness],
) -> Likeness:
    """How rows of equal length compare, one by one; `rights` may be shorter."""
    telling = loosely = False
    for student, mistake, right in itertools.zip_longest(
        students, mistakes, rights[: len(students)], fillvalue=NOTHING
    ):
        found = compare(student, mistake, right)
        if not found.alike:
            return DIFFERENT
        telling = telling or found.telling
        loosely = loosely or found.loosely
    return Likeness(True, telling, loosely)


def _entries(student: Any, mistake: Any, right: Any, in_float64: float) -> Likeness:
    if refuses(student) and refuses(mistake) and mistake == right:
        return Likeness(True, telling=False)  # each answer words its refusals in its own way, with other numbers
    found = _compared(student, mistake, right, in_float64)
    if not found.alike and refuses(right) and _goes_on(mistake) and _goes_on(student):
        # what becomes of it depends on how the rest is written
        return Likeness(True, telling=True, loosely=True)
    return found


def accepts_alike(student: Transcript, mistake: Transcript, right: Transcript) -> bool:
    """Whether a mistake differs from the right answer only in what it accepts, and the student accepts the same.

    If it leaves something to torch, which stops, the student does so too; another mistake may stop a student anywhere.
    """
    differs = False
    if not len(student.entries) == len(mistake.entries) == len(right.entries):
        return False
    for one, other, expected in zip(student.entries, mistake.entries, right.entries, strict=True):
        if refuses(expected):
            if _goes_on(one) is not _goes_on(other) or (other[0] == "error" and one[0] != "error"):
                return False
            differs = differs or _goes_on(other)
        elif not _compared(other, expected, expected).alike:
            return False
    return differs


def may_accept(student: Transcript, right: Transcript) -> bool:
    """Whether the student accepts anything that the right answer refuses: else `accepts_alike` is False."""
    both = zip(student.entries, right.entries, strict=False)
    return any(refuses(expected) and _goes_on(one) for one, expected in both)


def refuses(entry: Any) -> bool:
    """Whether an entry of a transcript says that what was asked was refused with a ValueError."""
    return isinstance(entry, tuple) and entry[:2] == ("error", "ValueError")


def _goes_on(entry: Any) -> bool:
    """Whether nothing refused what was asked: there is a result (None is none), or torch could not go on with it."""
    if not isinstance(entry, tuple):
        return False
    if entry[0] == "error":
        return entry[1] in OF_TORCH and not str(entry[2]).startswith(CONDITION)
    given = entry[1] if len(entry) > 1 else None
    return not (isinstance(given, list) and given and all(part is None for part in given))


def _compared(student: Any, mistake: Any, right: Any, in_float64: float = IN_FLOAT64) -> Likeness:
    if isinstance(student, torch.Tensor) and isinstance(mistake, torch.Tensor):
        return _tensors(student, mistake, right, in_float64)
    if isinstance(student, NUMPYS) or isinstance(mistake, NUMPYS):
        return _numpys(student, mistake, right, in_float64)
    if type(student) is not type(mistake):
        return DIFFERENT
    if isinstance(student, (list, tuple)):
        if len(student) != len(mistake):
            return DIFFERENT
        fits = type(right) is type(mistake) and len(right) == len(mistake)
        compare = functools.partial(_compared, in_float64=in_float64)
        inside = _of_all(student, mistake, right if fits else (), compare)
        return inside if fits or not inside.alike else Likeness(True, True)
    if isinstance(student, dict):
        if student.keys() != mistake.keys():
            return DIFFERENT
        fits = isinstance(right, dict) and right.keys() == mistake.keys()
        keys = list(student)
        expected = [right[key] for key in keys] if fits else NOTHING
        return _compared([student[key] for key in keys], [mistake[key] for key in keys], expected, in_float64)
    if isinstance(student, wire.Opaque):
        is_right = isinstance(right, wire.Opaque) and right.name == mistake.name
        return Likeness(student.name == mistake.name, not is_right)
    if isinstance(student, Counts):
        is_right = isinstance(right, Counts) and right.like(mistake)
        return Likeness(student.like(mistake), not is_right)
    if isinstance(student, float) and isinstance(right, float):
        return Likeness(_near(student, mistake), not _near(right, mistake))
    return Likeness(student == mistake, type(right) is not type(mistake) or right != mistake)


def _numpys(student: Any, mistake: Any, right: Any, in_float64: float) -> Likeness:
    """Arrays as tensors are; what is single however it is held: NumPy gives one as a scalar, `math` as a float."""
    if is_number(student) and is_number(mistake):
        return _numbers(student, mistake, right)
    if is_truth(student) and is_truth(mistake):
        return Likeness(bool(student) is bool(mistake), not is_truth(right) or bool(right) is not bool(mistake))
    if not (isinstance(student, np.ndarray) and isinstance(mistake, np.ndarray)) or student.dtype != mistake.dtype:
        return DIFFERENT
    comparable = isinstance(right, np.ndarray) and right.dtype == mistake.dtype
    return _tensors(pairs_of(student), pairs_of(mistake), pairs_of(right) if comparable else NOTHING, in_float64)


def _numbers(student: Any, mistake: Any, right: Any) -> Likeness:
    """Alike up to the rounding of the least exact dtype, and far nearer to the mistake's number than to the right."""
    dtypes = [real_name_of(dtype_of(one)) for one in (student, mistake)]
    rounding = max(ROUNDING.get(dtype, IN_FLOAT64) for dtype in dtypes)
    if not _near(student, mistake, rounding):
        return DIFFERENT
    if not is_number(right) or not cmath.isfinite(mistake) or not cmath.isfinite(right):
        return Likeness(True, not is_number(right) or not _near(right, mistake, rounding))
    effect = abs(complex(mistake) - complex(right))
    if _near(right, mistake, VISIBLE * rounding):
        return Likeness(True, False)
    is_nearer = abs(complex(student) - complex(mistake)) <= NEARER * effect
    return Likeness(True, True) if is_nearer else DIFFERENT


def _near(one: complex, other: complex, rounding: float = IN_FLOAT64) -> bool:
    """Whether two numbers may come from the same formula, written otherwise."""
    return cmath.isclose(one, other, rel_tol=rounding) or (cmath.isnan(one) and cmath.isnan(other))


def _tensors(student: Any, mistake: Any, right: Any, in_float64: float) -> Likeness:
    """Alike up to rounding, and, where the mistake changes values, far nearer to its values than to the right ones.

    All are tensors, or all are arrays.
    """
    form = _form(mistake)
    if _form(student) != form:
        return DIFFERENT
    comparable = isinstance(right, (torch.Tensor, np.ndarray)) and _form(right) == form
    _, dtype, device = form
    if device == "meta":
        return Likeness(True, not comparable)
    ours, theirs, expected = _plain(student), _plain(mistake), _plain(right) if comparable else None
    if "float" not in dtype:
        is_right = expected is not None and np.array_equal(expected, theirs)
        return Likeness(np.array_equal(ours, theirs), not is_right)
    error, size = _distance(ours, theirs), _size(theirs)
    effect = math.inf if expected is None else _distance(theirs, expected)
    rounding = ROUNDING.get(dtype, IN_FLOAT64)
    if dtype == "float64" and not VISIBLE * rounding * size < effect < CLEAR * in_float64 * size:
        rounding = in_float64  # but not for a mistake that is hardly more than such a rounding
    if not error <= rounding * size + 1e-12:
        return DIFFERENT
    if expected is None:
        return Likeness(True, _is_varied(theirs))
    if effect <= VISIBLE * rounding * max(size, _size(expected)) + 1e-12:
        return Likeness(True, False)
    if error <= NEARER * effect:
        return Likeness(True, _is_varied(theirs))
    return DIFFERENT if effect > rounding * size else Likeness(True, False)


def _form(one: Any) -> tuple[tuple[int, ...], str, str]:
    """Shape, dtype and device; that of an array is none of torch's."""
    return tuple(one.shape), name_of(one.dtype), str(one.device) if isinstance(one, torch.Tensor) else "NumPy"


def _plain(one: Any) -> np.ndarray[Any, Any]:
    """The numbers of a tensor or an array; those with fractions in float64."""
    if isinstance(one, torch.Tensor):
        one = one.detach().cpu()
        return (one.double() if one.dtype.is_floating_point else one).numpy()
    return one.astype(np.float64) if one.dtype.kind == "f" else one


@in_silence
def _distance(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The largest difference; infinite if one has a NaN or an infinity where the other has none."""
    error = largest(one - other)
    if math.isfinite(error):
        return error
    odd = ~np.isfinite(other)
    if not np.array_equal(~np.isfinite(one), odd) or not np.array_equal(one[odd], other[odd], equal_nan=True):
        return math.inf
    return largest(one[~odd] - other[~odd])


def _size(one: np.ndarray[Any, Any]) -> float:
    """The largest finite absolute value."""
    size = largest(one)
    return size if math.isfinite(size) else largest(one[np.isfinite(one)])


def _is_varied(one: np.ndarray[Any, Any]) -> bool:
    """Whether it holds different numbers: any code may return one of zeros."""
    return one.size > 1 and len(np.unique(np.nan_to_num(one))) > 1
