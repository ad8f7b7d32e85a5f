"""NumPy's arrays and scalars on the wire: their bits as a tensor of integers or booleans, and the name of their dtype.

In a process without torch, an array stands for that tensor. An array's shape is that of the tensor, so neither can
claim what the other does not hold. Nothing is ever unpickled:
object, structured, text and date dtypes do not travel, nor do those that differ between machines (`longdouble`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from .later import is_loaded, torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    Bits = torch.Tensor | numpy.ndarray[Any, Any]  # what a frame carries

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
DTYPES = {name: numpy.dtype(name) for name in NAMES}
NAMES_OF = {char: numpy.dtype(char).name for char in "?bBhHiIlLqQefdFD"}  # a dtype's own `name` takes 10 µs
CARRIERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}  # by the bytes of one number
WIDEST = max(CARRIERS)  # a number of twice as many bytes (complex128) is two integers, in a last dimension
MAX_SPREAD = 2**26  # bytes over which a view may be spread that arrives with its strides


def travels(value: numpy.ndarray[Any, Any] | numpy.generic) -> bool:
    """Whether an array or a scalar holds nothing but numbers that mean the same on each machine."""
    return value.dtype.char in NAMES_OF


def name_of(value: numpy.ndarray[Any, Any] | numpy.generic) -> str:
    """The name of its dtype, for one that travels."""
    return NAMES_OF[value.dtype.char]


def plain(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """The same array, of no subclass: what is asked of it runs no code of the submission's."""
    return numpy.ndarray.view(array, numpy.ndarray)


def bits_of(value: numpy.ndarray[Any, Any]) -> Bits:
    """A copy of its bits in C order and in this machine's byte order: integers or booleans of its shape.

    For complex128 there are two for each number: a last dimension of 2.
    """
    dtype = DTYPES[name_of(value)]
    copied = numpy.array(value, dtype=dtype, order="C")
    if dtype.itemsize > WIDEST:
        copied = copied.reshape(*copied.shape, 1)
    bits = copied.view(_integers(dtype))
    if dtype.kind == "b":
        bits = numpy.asarray(bits.view(numpy.uint8) != 0)  # as `clear`
    return torch.from_numpy(bits) if is_loaded() else bits


def clear(booleans: torch.Tensor) -> torch.Tensor:
    """The same booleans, each a byte of 0 or 1: in memory that was something else, there may be others."""
    return booleans.view(torch.uint8) != 0


def numbers_in(bits: Bits) -> int:
    """How many numbers a tensor holds, or an array that stands for one."""
    return bits.size if isinstance(bits, numpy.ndarray) else bits.numel()


def tensor_of(bits: Bits) -> torch.Tensor:
    """The tensor itself, where an array stands for one."""
    return torch.from_numpy(bits) if isinstance(bits, numpy.ndarray) else bits


def scalar_bits(value: numpy.generic) -> list[int]:
    """The bits of a scalar, as one integer, or as two for complex128."""
    dtype = DTYPES[name_of(value)]
    return [int(part) for part in numpy.array([value], dtype=dtype).view(_integers(dtype))]


def scalar_of(bits: Sequence[int], name: object) -> numpy.generic:
    """The scalar of that dtype with these bits. Raises ValueError, KeyError, TypeError or OverflowError."""
    dtype = DTYPES[name]  # type: ignore[index]  what is not hashable raises TypeError
    if not all(type(part) is int for part in bits):
        raise TypeError("bits are integers")
    (scalar,) = numpy.array(bits, dtype=_integers(dtype)).view(dtype)
    return scalar


def array_of(bits: Bits, name: object) -> numpy.ndarray[Any, Any]:
    """The array of that dtype with these bits, in the same memory: a reply may name one tensor many times.

    Raises ValueError, KeyError or TypeError for bits or a dtype of no array that travels.
    """
    dtype = DTYPES[name]  # type: ignore[index]  what is not hashable raises TypeError
    is_pair = dtype.itemsize > WIDEST
    carrier = "bool" if name == "bool" else CARRIERS[min(dtype.itemsize, WIDEST)]
    held = bits if isinstance(bits, numpy.ndarray) else None if bits.dtype is torch.bfloat16 else bits.numpy()
    if held is None or held.dtype.name != carrier or (is_pair and bits.shape[-1:] != (2,)):
        raise ValueError("these are not the bits of such an array")
    array = held.view(dtype)
    return array.reshape(bits.shape[:-1]) if is_pair else array


def _integers(dtype: numpy.dtype[Any]) -> str:
    """The dtype of its bits. Booleans stay what they are: they hold 0 and 1 alone, as a frame's reader makes sure."""
    if dtype.itemsize == 1:
        return dtype.name if dtype.kind == "b" else "u1"
    return f"i{min(dtype.itemsize, WIDEST)}"


def strides_of(array: numpy.ndarray[Any, Any]) -> list[int] | None:
    """How many numbers lie from one entry to the next along each dimension, below 0 for one that is reversed.

    None if it is contiguous, and for a view that cannot be laid out so: its entries overlap, lie too far apart or are
    fields of a structured array.
    """
    if array.flags.c_contiguous or any(step % array.itemsize for step in array.strides):
        return None
    steps = [step // array.itemsize if n > 1 else 1 for n, step in zip(array.shape, array.strides, strict=True)]
    reach = 0
    for step, n in sorted((abs(step), n) for step, n in zip(steps, array.shape, strict=True) if n > 1):
        if step <= reach:
            return None
        reach += step * (n - 1)
    return steps if (reach + 1) * array.itemsize <= MAX_SPREAD else None


def with_strides(array: numpy.ndarray[Any, Any], steps: Sequence[int]) -> numpy.ndarray[Any, Any]:
    """The same numbers, laid out as `strides_of` says."""
    reached = [step * (n - 1) for step, n in zip(steps, array.shape, strict=True)]
    before = -sum(end for end in reached if end < 0)
    memory = numpy.zeros(sum(map(abs, reached)) + 1, dtype=array.dtype)
    strides = [step * array.itemsize for step in steps]
    view = numpy.lib.stride_tricks.as_strided(memory[before:], array.shape, strides)
    view[...] = array
    return view
