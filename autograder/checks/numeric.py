"""What is compared, as one kind of thing: tensors, arrays of NumPy's, and single numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch

Array: TypeAlias = np.ndarray[Any, Any]
Right: TypeAlias = torch.Tensor | Array | np.generic | float | complex  # a right value

TENSOR, ARRAY, NUMBER = "tensor", "array", "number"
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}  # the dtype of the parts of each complex one


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


def torchs(dtype: Any) -> torch.dtype:
    """Torch's dtype for one of NumPy's, such as `np.float32`; one of torch's own as it is. Raises TypeError."""
    if isinstance(dtype, torch.dtype):
        return dtype
    found = getattr(torch, np.dtype(dtype).name, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"torch has no dtype {np.dtype(dtype).name}")
    return found


def wide(value: Any) -> torch.Tensor:
    """Its numbers as a tensor in float64, or in complex128: of a tensor, an array or a number, in the same shape."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return value.to(torch.complex128) if value.is_complex() else value.double()
    array = np.asarray(value)
    return torch.from_numpy(np.array(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64))


def tensor_of(array: Array | np.generic) -> torch.Tensor:
    """A tensor with the numbers of an array and its dtype; complex ones as pairs, in a last dimension of 2."""
    plain = np.array(array, order="C")
    if plain.dtype.kind == "c":
        return torch.view_as_real(torch.from_numpy(plain))
    return torch.from_numpy(plain)
