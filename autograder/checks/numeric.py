"""What is compared, as one kind of thing: tensors, arrays of NumPy's, and single numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ..sandbox.inside.later import torch

if TYPE_CHECKING:
    Right: TypeAlias = torch.Tensor | np.ndarray[Any, Any] | np.generic | float | complex  # a right value

Array: TypeAlias = np.ndarray[Any, Any]

TENSOR, ARRAY, NUMBER = "tensor", "array", "number"
REAL = {"complex64": "float32", "complex128": "float64"}  # the dtype of the parts of each complex one


P = ParamSpec("P")
T = TypeVar("T")


def in_silence(function: Callable[P, T]) -> Callable[P, T]:
    """The same function without NumPy's warnings: what an answer holds may be infinite, or no number."""

    @functools.wraps(function)
    def silent(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(invalid="ignore", over="ignore"):
            return function(*args, **kwargs)

    return silent


def is_number(value: object) -> bool:
    """Whether it is a single number: Python's, NumPy's, or an array without dimensions; True and False are none.

    >>> is_number(np.float32(2)), is_number(np.array(2.0)), is_number(np.zeros(1)), is_number(True)
    (True, True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iufc"
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, (bool, np.timedelta64))


def is_truth(value: object) -> bool:
    """Whether it is a single True or False: Python's, NumPy's, or in an array without dimensions."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind == "b"
    return isinstance(value, (bool, np.bool_))


def form_of(right: Right) -> str:
    """What stands for a right value: TENSOR, ARRAY or, for one without dimensions that is no tensor, NUMBER.

    Raises TypeError for what is none of them.
    """
    if isinstance(right, torch.Tensor):
        return TENSOR
    if is_number(right):
        return NUMBER
    if isinstance(right, np.ndarray) and right.dtype.kind in "biufc":
        return ARRAY
    raise TypeError(f"a {type(right).__name__} is no tensor, no array of numbers and no number")


def dtype_of(value: Any) -> torch.dtype | np.dtype[Any]:
    """The dtype of a tensor, an array or a number; Python's numbers have those that NumPy gives them."""
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def name_of(dtype: Any) -> str:
    """The short name of a dtype of torch's or NumPy's."""
    if isinstance(dtype, torch.dtype):
        return str(dtype).removeprefix("torch.")
    return np.dtype(dtype).name


def real_name_of(dtype: Any) -> str:
    """The same, of the parts of a complex one."""
    name = name_of(dtype)
    return REAL.get(name, name)


def wide(value: Any) -> Any:
    """Its numbers in float64, or in complex128, in the same shape: of a tensor as a tensor, of all else as an array."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return value.to(torch.complex128) if value.is_complex() else value.double()
    array = np.asarray(value)
    return np.array(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64)


def is_complex(value: Any) -> bool:
    """Whether what is `wide` has complex numbers."""
    return value.is_complex() if isinstance(value, torch.Tensor) else value.dtype.kind == "c"


def largest(value: Any) -> float:
    """The largest absolute value in a tensor or an array: NaN if it contains one, 0 if it is empty."""
    if isinstance(value, torch.Tensor):
        return torch.linalg.vector_norm(value, torch.inf).item() if value.numel() else 0.0
    return float(np.abs(value).max()) if value.size else 0.0


def all_finite(value: Any) -> bool:
    """Whether no number of a tensor or an array is infinite or NaN."""
    return bool((torch.isfinite(value) if isinstance(value, torch.Tensor) else np.isfinite(value)).all())


def pairs_of(array: Array | np.generic) -> Array:
    """The same numbers and dtype; complex ones as pairs, in a last dimension of 2."""
    plain = np.array(array, order="C")
    if plain.dtype.kind != "c":
        return plain
    return plain.reshape(*plain.shape, 1).view(f"f{plain.dtype.itemsize // 2}")
