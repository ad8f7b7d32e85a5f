"""Checks of `softmax_kernel(x_ptr, out_ptr, columns, x_stride, out_stride, BLOCK)`: program i makes row i.

Rows lie `x_stride` numbers apart, and `out_stride` where they go. BLOCK, a power of two, is at least `columns`. What
lies between two rows is NaN here. What is read is the interpreter's word, in the student's process; all else is judged
by the memory that the kernel leaves.
"""

from typing import Any

import torch

from ...checks.api import HUGE, CheckFailed, Draw, check, close
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ...sandbox.replies import Launched
from ..families import kernels
from ..families.kernels import LEFT, untouched

NAME = "softmax_kernel"
NO_DEVICE = kernels.NO_DEVICE
TRIES_EDITS = kernels.TRIES_EDITS
ABOUT_MODE = kernels.ABOUT_MODE


def right(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row, (rows, columns), in float64."""
    exponentials = (x.double() - x.double().amax(1, keepdim=True)).exp()
    return exponentials / exponentials.sum(1, keepdim=True)


def padded(x: torch.Tensor, stride: int) -> torch.Tensor:
    """The rows of x, (rows, columns), `stride` apart, with NaN between them."""
    apart = torch.full((len(x), stride), torch.nan, dtype=x.dtype)
    apart[:, : x.shape[1]] = x
    return apart


def launched(
    submission: Submission,
    x: torch.Tensor,
    block: int | None = None,
    x_stride: int | None = None,
    out_stride: int | None = None,
    programs: int | None = None,
) -> Launched:
    """The launch for the rows of x: by default they lie side by side, and fill a block."""
    rows, columns = x.shape
    x_stride, out_stride = x_stride or columns, out_stride or columns
    block = block or 1 << (columns - 1).bit_length()
    given, out = padded(x, x_stride), untouched(rows, out_stride, dtype=x.dtype)
    grid = (rows if programs is None else programs,)
    got = submission.function(NAME).launch(grid, given, out, columns, x_stride, out_stride, block)
    kernels.same_but(got.tensors, (given,), ("x_ptr",))
    return got


def equal(
    submission: Submission, x: torch.Tensor, what: str = "", tolerance: float | None = None, **how: Any
) -> torch.Tensor:
    """Raises CheckFailed unless the rows are right."""
    out = launched(submission, x, **how).tensors[1]
    close(out[:, : x.shape[1]], right(x), f"the softmax{what}", dtype=x.dtype, tolerance=tolerance)
    return out


@easy_case
def one_row(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is a kernel, and a row of four numbers that fills its block is right."""
    kernels.is_kernel(submission, NAME)
    equal(submission, draw.normal(1, 4), " of one row")


@check("values", points=1.25)
def test_whole_rows(submission: Submission, draw: Draw) -> None:
    """It is a Triton kernel, and makes the softmax of each row, where rows fill their blocks."""
    one_row(submission, draw)
    for rows, columns in ((1, 8), (3, 4), (5, 16), (2, 1)):
        equal(submission, draw.normal(rows, columns), f" of {rows} rows of {columns}")


@check("masking", points=1.5)
def test_tail(submission: Submission, draw: Draw) -> None:
    """Where a row is shorter than BLOCK, what is behind its end counts for nothing, and is not accessed."""
    one_row(submission, draw)
    for rows, columns, block in ((1, 3, 4), (3, 5, 8), (2, 9, 16), (3, 4, 16)):
        x = draw.normal(rows, columns) - 3.0
        equal(submission, x, f" of {rows} rows of {columns} in blocks of {block}", block=block)


@check("shape", points=1)
def test_strides(submission: Submission, draw: Draw) -> None:
    """Rows that lie apart are found by their strides, and what lies between them stays as it is."""
    one_row(submission, draw)
    for rows, columns, x_stride, out_stride in ((3, 4, 7, 6), (4, 4, 4, 9), (3, 8, 11, 8)):
        where = {"x_stride": x_stride, "out_stride": out_stride}
        out = equal(submission, draw.normal(rows, columns), f" of rows {x_stride} and {out_stride} apart", **where)
        if not (out[:, columns:] == LEFT).all():
            raise CheckFailed(f"With rows of {columns} numbers {out_stride} apart it writes between the rows.")


@check("values", points=0.5)
def test_each_program(submission: Submission, draw: Draw) -> None:
    """Program i makes row i and nothing else: where fewer programs run, the later rows stay as they were."""
    one_row(submission, draw)
    x = draw.normal(5, 8)
    for programs in (1, 3):
        out = launched(submission, x, programs=programs).tensors[1]
        close(out[:programs], right(x)[:programs], f"the softmax by {programs} programs")
        if not (out[programs:] == LEFT).all():
            raise CheckFailed(f"With {programs} of 5 programs it writes more than {programs} rows.")


@check("numerics", points=0.5)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """±10,000 gives no NaN and no infinity, also in rows of very negative numbers; −∞ beside others gets 0."""
    one_row(submission, draw)
    x = draw.normal(3, 8)
    x[0] *= HUGE / x[0].abs().max()
    x[1] = -HUGE + x[1]
    x[2, :3] = -torch.inf
    equal(submission, x, " of extreme scores", tolerance=2e-3)


@check("numerics", points=0.5)
def test_extreme_tail(submission: Submission, draw: Draw) -> None:
    """Very negative rows that are shorter than BLOCK are right, too: what is behind their end counts for nothing."""
    one_row(submission, draw)
    for rows, columns, block in ((2, 3, 4), (1, 5, 16)):
        x = -HUGE - draw.normal(rows, columns).abs()
        equal(submission, x, " of very negative rows that are shorter than BLOCK", block=block, tolerance=2e-3)


@check("numerics", points=0.25)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float16 in, float16 out, as accurate as it allows."""
    one_row(submission, draw)
    for rows, columns in ((2, 8), (1, 64)):
        equal(submission, draw.normal(rows, columns, dtype=torch.float16, scale=3.0), " in float16")


@check("mode", points=0.25, witnessed=True)
def test_accesses(submission: Submission, draw: Draw) -> None:
    """One pass: each number of row i is read once and written once, by program i."""
    one_row(submission, draw)
    for rows, columns, block in ((1, 8, 8), (3, 8, 8), (2, 5, 8)):
        got = launched(submission, draw.normal(rows, columns), block=block, x_stride=9, out_stride=9)
        allowed = (torch.arange(9) < columns).int().expand(rows, 9)
        submission.note(bool((got.reads[0] <= allowed).all()), bool((got.writes[1] <= allowed).all()))
        kernels.most(got.reads[0], allowed, "Each number of a row is to be read once, and what is between rows never.")
        kernels.most(
            got.writes[1], allowed, "Each number of a row is to be written once, and what is between rows never."
        )
        right = torch.arange(rows).unsqueeze(1).expand(rows, 9)
        kernels.by_program(submission, got.writers[1], right, "Program i is to make row i.")


@check("mode", points=0.25, witnessed=True)
def test_compiles(submission: Submission, draw: Draw) -> None:
    """A GPU could run it, too: Triton's compiler takes what the interpreter runs."""
    one_row(submission, draw)
    for dtype in (torch.float32, torch.float16):
        one = draw.normal(1, dtype=dtype)
        submission.function(NAME).compile(one, one, 30, 35, 37, 32)
