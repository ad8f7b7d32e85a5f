"""Launches a Triton kernel by Triton's interpreter, and notes which numbers it reads and writes.

The tensors of a launch lie in one piece of memory, with much room around each of them, filled with NaN. So each access
is one to a tensor, or it is outside of all, and then it is refused before it happens. Student code can change the
interpreter, which runs in its process, and hide accesses: what is noted here is only witnessed.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import numpy
import torch

from .refusals import OutOfBounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOM = 2**12  # numbers before and behind each tensor
MOST_REWRITTEN = 256  # kernels that the interpreter may remember


def interpret() -> None:
    """Have Triton, which is not imported yet, interpret kernels and compile none."""
    os.environ["TRITON_INTERPRET"] = "1"


interpret()


class NoKernel(Exception):
    """What should be launched is no kernel for the interpreter."""


class Memory:
    """The tensors among the arguments of a launch, in memory of their own, and how often each number is accessed.

    `writers` are the programs that wrote each number last, counted first along the first axis of the grid; -1 is none.
    """

    def __init__(self, given: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        self.names = names
        size = max((one.element_size() for one in given), default=8)
        room = ROOM * size
        starts, end = [], room
        for one in given:
            starts.append(end)
            end += -(-one.numel() * one.element_size() // 16) * 16 + room
        arena = torch.empty(end + 16, dtype=torch.uint8)
        arena.view(-1)[: end // 8 * 8].view(torch.float64).fill_(torch.nan)
        self.arena = arena
        self.tensors = [
            arena[start : start + one.numel() * one.element_size()].view(one.dtype).view(one.shape).copy_(one)
            for start, one in zip(starts, given, strict=True)
        ]
        self.first = [one.data_ptr() for one in self.tensors]
        self.sizes = [one.element_size() for one in self.tensors]
        self.reads = [numpy.zeros(one.numel(), numpy.int32) for one in self.tensors]
        self.writes = [numpy.zeros(one.numel(), numpy.int32) for one in self.tensors]
        self.writers = [numpy.full(one.numel(), -1, numpy.int32) for one in self.tensors]
        # what lies nearest to a tensor is taken for an access to it
        self.borders = numpy.array([first - room // 2 for first in self.first[1:]], dtype=numpy.uint64)

    def note(self, addresses: Any, mask: Any, counts: list[Any], verb: str) -> None:
        """Count an access to the addresses where the mask is True. Raises OutOfBounds."""
        addresses, mask = numpy.broadcast_arrays(addresses, mask)
        wanted = addresses[mask.astype(bool)].astype(numpy.uint64)
        of = numpy.searchsorted(self.borders, wanted, side="right")
        for number in numpy.unique(of):
            there = wanted[of == number].astype(numpy.int64) - self.first[number]
            index, rest = numpy.divmod(there, self.sizes[number])
            held = len(counts[number])
            outside = index[(index < 0) | (index >= held)]
            if len(outside) or rest.any():
                raise OutOfBounds(self._said(number, outside, held, verb))
            numpy.add.at(counts[number], index, 1)
            if counts is self.writes:
                self.writers[number][index] = _program()

    def _said(self, number: int, outside: Any, held: int, verb: str) -> str:
        name = self.names[number]
        if not len(outside):
            return f"Your kernel {verb} between two numbers of `{name}`"
        if not -ROOM < outside[0] < held + ROOM:
            return f"Your kernel {verb} memory far from anything that it was given, the nearest is `{name}`"
        return (
            f"Your kernel {verb} number {outside[0]} of `{name}`, which holds {held}, from 0 to {held - 1}: mask what"
            " is outside"
        )


def _program() -> int:
    """The number of the program that runs, along all axes of the grid."""
    builder: Any = sys.modules["triton.runtime.interpreter"].interpreter_builder
    (x, y, z), (width, height, _) = builder.grid_idx, builder.grid_dim
    return x + width * (y + height * z)


class Watched:
    """Triton's access to memory, which the interpreter calls, behind a look at each address."""

    def __init__(self, real: Any, memory: Memory) -> None:
        self._real, self._memory = real, memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def load(self, pointers: Any, mask: Any, *rest: Any) -> Any:
        self._memory.note(pointers, mask, self._memory.reads, "reads")
        return self._real.load(pointers, mask, *rest)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        self._memory.note(pointers, mask, self._memory.writes, "writes")
        return self._real.store(pointers, value, mask)

    def atomic_rmw(self, operation: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        for counts, verb in ((self._memory.reads, "reads"), (self._memory.writes, "writes")):
            self._memory.note(pointers, mask, counts, verb)
        return self._real.atomic_rmw(operation, pointers, value, mask, *rest)

    def atomic_cas(self, pointers: Any, *rest: Any) -> Any:
        for counts, verb in ((self._memory.reads, "reads"), (self._memory.writes, "writes")):
            self._memory.note(pointers, True, counts, verb)
        return self._real.atomic_cas(pointers, *rest)


@contextlib.contextmanager
def watching(memory: Memory) -> Iterator[None]:
    """Let the interpreter access no memory but this."""
    interpreter: Any = sys.modules["triton.runtime.interpreter"]
    real, patch = interpreter._interpreter, interpreter._patch_lang
    interpreter._interpreter, interpreter._patch_lang = Watched(real, memory), _once(patch)
    try:
        yield
    finally:
        interpreter._interpreter, interpreter._patch_lang = real, patch


def _once(patch: Any) -> Any:
    """Triton's patch of its language for a function, once for each module: made at each `tl.sum`, it takes a third of a
    launch's time.
    """
    patched = set()

    def patch_once(function: Any) -> Any:
        module = id(function.__globals__)
        if module not in patched:
            patched.add(module)
            return patch(function)

    return patch_once


def launch(kernel: Any, grid: tuple[int, ...], args: Sequence[Any]) -> Memory:
    """Run a kernel for each place of the grid, one after another, on copies of the tensors among its arguments.

    Returns these copies with what was accessed. Raises NoKernel, OutOfBounds, and whatever the kernel raises.
    """
    interpreter: Any = sys.modules.get("triton.runtime.interpreter")
    if interpreter is None or type(kernel) is not interpreter.InterpretedFunction:
        raise NoKernel
    if len(args) != len(kernel.arg_names):
        raise TypeError(f"it takes {len(kernel.arg_names)} arguments, and is launched with {len(args)}")
    places = [place for place, one in enumerate(args) if isinstance(one, torch.Tensor)]
    memory = Memory([args[place] for place in places], [kernel.arg_names[place] for place in places])
    given = dict(zip(places, memory.tensors, strict=True))
    with watching(memory):
        try:
            kernel[grid](*(given.get(place, one) for place, one in enumerate(args)))
        except interpreter.InterpreterError as error:  # which hides the kernel's own
            raise error.__cause__ or error from None
        finally:
            if len(interpreter.InterpretedFunction.rewritten_fn) > MOST_REWRITTEN:
                interpreter.InterpretedFunction.rewritten_fn.clear()
    return memory
