"""Checks of `add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK)`: program i adds the numbers of block i, up to n.

What is read is the interpreter's word, in the student's process. All else is judged by the memory that the kernel
leaves.
"""

from typing import Any

import torch

from ...checks.api import CheckFailed, Draw, check, close
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ...sandbox.replies import Launched
from ..families import kernels
from ..families.kernels import LEFT, blocks, untouched

NAME = "add_kernel"
NO_DEVICE = kernels.NO_DEVICE
TRIES_EDITS = kernels.TRIES_EDITS
ABOUT_MODE = kernels.ABOUT_MODE


def launched(
    submission: Submission,
    x: torch.Tensor,
    y: torch.Tensor,
    n: int | None = None,
    block: int = 4,
    programs: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Launched:
    """The memory after a launch, and what was accessed; as many programs as there are blocks, unless said otherwise."""
    n = len(x) if n is None else n
    grid = (blocks(n, block) if programs is None else programs,)
    got = submission.function(NAME).launch(grid, x, y, untouched(len(x), dtype=dtype), n, block)
    kernels.same_but(got.tensors, (x, y), ("x_ptr", "y_ptr"))
    return got


def summed(submission: Submission, x: torch.Tensor, y: torch.Tensor, what: str = "", **how: Any) -> None:
    """Raises CheckFailed unless the sums are right."""
    close(launched(submission, x, y, **how).tensors[2], x + y, f"the sum{what}")


@easy_case
def adds_one_block(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is a kernel, and adds four numbers in one block."""
    kernels.is_kernel(submission, NAME)
    x, y = draw.normal(8), draw.normal(8)
    if (launched(submission, x[:4], y[:4]).tensors[2] == LEFT).all():
        parts = launched(submission, x, y).tensors[2].view(2, 4) != LEFT
        submission.note(*(bool(part.any()) for part in parts))
        raise CheckFailed("For 4 numbers in one block, nothing is written to `out_ptr`.")
    summed(submission, x[:4], y[:4], " of one block")


@check("values", points=0.5)
def test_one_block(submission: Submission, draw: Draw) -> None:
    """It is a Triton kernel, and adds two vectors that fit into one block."""
    adds_one_block(submission, draw)
    for block in (1, 8, 32):
        summed(submission, draw.normal(block), draw.normal(block), f" of one block of {block}", block=block)


@check("values", points=1)
def test_several_blocks(submission: Submission, draw: Draw) -> None:
    """Several programs add one block each, for blocks of any power of two."""
    adds_one_block(submission, draw)
    for n, block in ((8, 4), (32, 8), (6, 1), (48, 16), (64, 2)):
        x, y = draw.normal(n), draw.normal(n)
        summed(submission, x, y, f" of {n} numbers in blocks of {block}", block=block)


@check("values", points=0.5)
def test_each_program(submission: Submission, draw: Draw) -> None:
    """Program i adds block i and nothing else: where fewer programs run, the later blocks stay as they were."""
    adds_one_block(submission, draw)
    for n, block, programs in ((20, 4, 2), (24, 8, 1), (15, 2, 5)):
        x, y, end = draw.normal(n), draw.normal(n), block * programs
        got = launched(submission, x, y, block=block, programs=programs).tensors[2]
        close(got[:end], (x + y)[:end], f"the sum of the first {programs} of {blocks(n, block)} blocks")
        if not (got[end:] == LEFT).all():
            raise CheckFailed(f"With {programs} of {blocks(n, block)} programs it writes more than {programs} blocks.")


@check("masking", points=1)
def test_tail(submission: Submission, draw: Draw) -> None:
    """Where BLOCK does not divide n, the last program adds what is left, and accesses nothing behind the end."""
    adds_one_block(submission, draw)
    for n, block in ((11, 4), (3, 8), (17, 16), (1, 2)):
        x, y = draw.normal(n), draw.normal(n)
        summed(submission, x, y, f" of {n} numbers in blocks of {block}", block=block)


@check("masking", points=0.5)
def test_what_is_behind(submission: Submission, draw: Draw) -> None:
    """Numbers that lie behind the n-th, in memory that belongs to others, stay as they are."""
    adds_one_block(submission, draw)
    for n, block in ((11, 4), (5, 8), (8, 4)):
        x, y = draw.normal(24), draw.normal(24)
        got = launched(submission, x, y, n, block).tensors[2]
        close(got[:n], (x + y)[:n], f"the sum of {n} numbers in blocks of {block}")
        if not (got[n:] == LEFT).all():
            raise CheckFailed(
                f"For n = {n} in blocks of {block} it writes behind the n-th number: mask the store, too."
            )


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float16 and whole numbers are added as they are."""
    adds_one_block(submission, draw)
    for dtype in (torch.float64, torch.float16):
        x, y = draw.normal(8, dtype=dtype), draw.normal(8, dtype=dtype)
        close(launched(submission, x, y, dtype=dtype).tensors[2], x.double() + y.double(), dtype=dtype)
    x, y = (torch.tensor([draw.integer(2**24, 2**30) for _ in range(8)], dtype=torch.int32) for _ in range(2))
    if not torch.equal(launched(submission, x, y, dtype=torch.int32).tensors[2], x + y):
        raise CheckFailed("Whole numbers of nine digits are not added exactly: load and store them as they are.")


@check("mode", points=0.125, witnessed=True)
def test_accesses(submission: Submission, draw: Draw) -> None:
    """Each number is read once and written once, by the program of its block, and none behind the n-th."""
    adds_one_block(submission, draw)
    for n, block in ((12, 4), (11, 4)):
        x, y = draw.normal(24), draw.normal(24)
        got = launched(submission, x, y, n, block)
        allowed = (torch.arange(24) < n).int()
        within = [bool((counts <= allowed).all()) for counts in (*got.reads[:2], got.writes[2])]
        submission.note(*within)
        for name, counts in zip(("x_ptr", "y_ptr"), got.reads, strict=False):
            kernels.most(
                counts, allowed, f"For n = {n}, the numbers of `{name}` up to n are to be read once, others never."
            )
        kernels.most(got.writes[2], allowed, f"For n = {n}, the numbers of `out_ptr` up to n are to be written once.")
        right = torch.arange(24) // block
        kernels.by_program(
            submission, got.writers[2], right, "Program i is to add the numbers that lie side by side in block i."
        )


@check("mode", points=0.125, witnessed=True)
def test_compiles(submission: Submission, draw: Draw) -> None:
    """A GPU could run it, too: Triton's compiler takes what the interpreter runs."""
    adds_one_block(submission, draw)
    for dtype in (torch.float32, torch.float16):
        one = draw.normal(1, dtype=dtype)
        submission.function(NAME).compile(one, one, one, 50, 32)
