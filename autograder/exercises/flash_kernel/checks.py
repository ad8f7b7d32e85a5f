"""Checks of `flash_kernel(q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, t, scale, CAUSAL, D, BLOCK_M, BLOCK_N)`.

Program (i, h) makes block i of the queries of head h: (heads, t, D) three times give (heads, t, D) and the lse,
(heads, t). Blocks of queries and keys are asked for after a single one was right. What is read is the interpreter's
word, in the student's process; all else is judged by the memory that the kernel leaves.
"""

import math
from collections.abc import Sequence

import torch

from ...checks.api import HUGE, HUGE_TOLERANCE, CheckFailed, Draw, check, close
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ...sandbox.replies import Launched
from ..families import kernels
from ..families.kernels import LEFT, blocks, untouched
from ..reference import heads as masks

NAME = "flash_kernel"
NO_DEVICE = kernels.NO_DEVICE
TRIES_EDITS = kernels.TRIES_EDITS
ABOUT_MODE = kernels.ABOUT_MODE
D = 4
WIDE = 8  # in float16, where a tensor descriptor asks for 16 bytes a row


def right(given: Sequence[torch.Tensor], scale: float, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The output (heads, t, D) and the lse (heads, t) for q, k and v, in float64."""
    q, k, v = given
    scores = (q.double().unsqueeze(2) * k.double().unsqueeze(1)).sum(3) * scale
    if causal:
        scores = scores.masked_fill(~masks.causal(q.shape[1]), -torch.inf)
    largest = scores.amax(2, keepdim=True)
    new = (scores - largest).exp()
    total = new.sum(2, keepdim=True)
    return (new / total) @ v.double(), (largest + total.log()).squeeze(2)


def inputs(draw: Draw, heads: int, t: int, d: int = D, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [draw.normal(heads, t, d, dtype=dtype) for _ in range(3)]


def scale_for(given: Sequence[torch.Tensor]) -> float:
    """The scale of attention, 1/√d."""
    return 1 / math.sqrt(given[0].shape[2])


def launched(
    submission: Submission,
    given: Sequence[torch.Tensor],
    causal: bool,
    block_m: int,
    block_n: int,
    scale: float | None = None,
    programs: int | None = None,
) -> Launched:
    """The launch for q, k and v; a program for each block of queries of each head, unless said otherwise."""
    heads, t, d = given[0].shape
    scale = scale_for(given) if scale is None else scale
    out, lse = untouched(heads, t, d, dtype=given[0].dtype), untouched(heads, t)
    grid = (blocks(t, block_m) if programs is None else programs, heads)
    kernel = submission.function(NAME)
    got = kernel.launch(grid, *given, out, lse, t, scale, causal, d, block_m, block_n)
    kernels.same_but(got.tensors, given, ("q_ptr", "k_ptr", "v_ptr"))
    return got


def equal(
    submission: Submission,
    given: Sequence[torch.Tensor],
    causal: bool,
    block_m: int,
    block_n: int,
    scale: float | None = None,
    lse: bool = False,
    tolerance: float | None = None,
) -> Launched:
    """Raises CheckFailed unless the output is right, or, if that is asked, the lse."""
    scale = scale_for(given) if scale is None else scale
    got = launched(submission, given, causal, block_m, block_n, scale)
    output, right_lse = right(given, scale, causal)
    where = f" for t = {given[0].shape[1]}, BLOCK_M = {block_m}, BLOCK_N = {block_n}"
    if lse:
        close(got.tensors[4], right_lse, f"the lse{where}", tolerance=tolerance)
    else:
        close(got.tensors[3], output, f"the output{where}", dtype=given[0].dtype, tolerance=tolerance)
    return got


@easy_case
def one_tile(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless it is a kernel, and a single tile without a mask is right."""
    kernels.is_kernel(submission, NAME)
    equal(submission, inputs(draw, 1, 4), False, 4, 4)


@easy_case
def several_tiles(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless several tiles of keys without a mask are right."""
    one_tile(submission, draw)
    equal(submission, inputs(draw, 1, 8), False, 4, 4)


@easy_case
def causal_tiles(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless several tiles with a mask are right as well."""
    several_tiles(submission, draw)
    equal(submission, inputs(draw, 1, 8), True, 4, 4)


@check("values", points=0.5)
def test_one_tile(submission: Submission, draw: Draw) -> None:
    """It is a Triton kernel, and one tile is attention: a softmax of the scores times `scale`, times the values."""
    one_tile(submission, draw)
    equal(submission, inputs(draw, 1, 8), False, 8, 8)
    equal(submission, inputs(draw, 1, 4, d=8), False, 4, 4, scale=0.3)


@check("values", points=1.25)
def test_tiles(submission: Submission, draw: Draw) -> None:
    """Several tiles of keys give what all at once give, for several blocks of queries and several heads."""
    one_tile(submission, draw)
    for heads, t, block_m, block_n in ((2, 8, 4, 4), (1, 8, 8, 4), (1, 8, 4, 8)):
        equal(submission, inputs(draw, heads, t), False, block_m, block_n)


@check("masking", points=0.75)
def test_tail(submission: Submission, draw: Draw) -> None:
    """Where blocks don't divide t, keys behind the end get no weight, and nothing is accessed there."""
    several_tiles(submission, draw)
    for heads, t, block_m, block_n in ((2, 6, 4, 4), (1, 9, 8, 8), (1, 3, 8, 4)):
        given = inputs(draw, heads, t)
        given[0] -= 2 * given[1].mean(1, keepdim=True)
        equal(submission, given, False, block_m, block_n)


@check("masking", points=0.75)
def test_causal(submission: Submission, draw: Draw) -> None:
    """With CAUSAL query i sees the keys 0 to i, also where BLOCK_M and BLOCK_N differ."""
    several_tiles(submission, draw)
    for heads, t, block_m, block_n in ((2, 8, 4, 4), (1, 16, 8, 4), (1, 8, 4, 8)):
        equal(submission, inputs(draw, heads, t), True, block_m, block_n)


@check("masking", points=0.5)
def test_causal_tail(submission: Submission, draw: Draw) -> None:
    """With CAUSAL, too, blocks need not divide t."""
    causal_tiles(submission, draw)
    for heads, t, block_m, block_n in ((1, 7, 4, 4), (2, 6, 4, 8), (1, 1, 2, 2)):
        equal(submission, inputs(draw, heads, t), True, block_m, block_n)


@check("values", points=0.75)
def test_lse(submission: Submission, draw: Draw) -> None:
    """The lse is the natural logarithm of each query's sum of exponentials of its scores."""
    one_tile(submission, draw)
    for heads, t, causal in ((1, 8, False), (2, 8, True)):
        equal(submission, inputs(draw, heads, t), causal, 4, 4, lse=True)


@check("values", points=0.25)
def test_each_program(submission: Submission, draw: Draw) -> None:
    """Program (i, h) makes block i of head h and nothing else: later blocks stay as they were."""
    several_tiles(submission, draw)
    given = inputs(draw, 2, 8)
    got = launched(submission, given, False, 4, 4, programs=1)
    output, _ = right(given, scale_for(given), False)
    close(got.tensors[3][:, :4], output[:, :4], "the output of the first block")
    if not ((got.tensors[3][:, 4:] == LEFT).all() and (got.tensors[4][:, 4:] == LEFT).all()):
        raise CheckFailed("With one of two programs for each head it writes more than the first block of queries.")


@check("numerics", points=1.25)
def test_extreme_scores(submission: Submission, draw: Draw) -> None:
    """Scores of ±10,000 give no NaN and no infinity, in whichever tile they are."""
    several_tiles(submission, draw)
    q, k, v = inputs(draw, 1, 8)
    q *= HUGE * D**0.5 / (q @ k.mT).abs().max().item()
    low = -(q.abs() + 1), 1 + 3e-4 * draw.normal(1, 8, D), v
    low[0].mul_(HUGE * D**0.5 / (low[0] @ low[1].mT).abs().max().item())
    for given in ((q, k, v), low):
        got = equal(submission, given, False, 4, 4, tolerance=HUGE_TOLERANCE)
        close(got.tensors[4], right(given, scale_for(given), False)[1], "the lse")


@check("numerics", points=0.25)
def test_hidden_beside_extreme(submission: Submission, draw: Draw) -> None:
    """Beside scores of −10,000, too, keys behind the end and after a query get no weight."""
    causal_tiles(submission, draw)
    for t, causal in ((6, False), (8, True)):
        q, k = -1 - draw.normal(1, t, D).abs(), (1 + draw.normal(1, 1, D).abs()).expand(1, t, D).contiguous()
        q *= -1.0005 * HUGE * D**0.5 / (q * k).sum(2, keepdim=True)
        equal(submission, (q, k, draw.normal(1, t, D)), causal, 4, 4, tolerance=HUGE_TOLERANCE)


@check("numerics", points=0.25)
def test_half_precision(submission: Submission, draw: Draw) -> None:
    """float16 in, float16 out, and an lse in float32."""
    several_tiles(submission, draw)
    given = inputs(draw, 1, 8, WIDE, torch.float16)
    got = equal(submission, given, False, 4, 4)
    close(got.tensors[4], right(given, scale_for(given), False)[1], "the lse for float16", tolerance=5e-3)


@check("masking", points=0.75)
def test_tiles_above_the_diagonal(submission: Submission, draw: Draw) -> None:
    """With CAUSAL what tiles above the diagonal hold does not matter, be it NaN: they are not loaded."""
    causal_tiles(submission, draw)
    for heads, t, block_m, block_n, seen in ((1, 12, 4, 4, 8), (1, 16, 4, 8, 8)):
        q, k, v = inputs(draw, heads, t)
        k[:, seen:], v[:, seen:] = torch.nan, torch.nan
        got = launched(submission, (q, k, v), True, block_m, block_n).tensors
        output, _ = right([x[:, :seen] for x in (q, k, v)], scale_for((q, k, v)), True)
        where = f"BLOCK_M = {block_m}, BLOCK_N = {block_n}"
        if got[3][:, :seen].isnan().any():
            raise CheckFailed(
                f"With NaN in the keys and values from {seen} on, queries before them get NaN for {where}: a tile above"
                " the diagonal is loaded, and 0 · NaN is NaN. Leave it out."
            )
        close(got[3][:, :seen], output, f"the output before tiles of NaN for {where}")


@check("mode", points=0.5, witnessed=True)
def test_accesses(submission: Submission, draw: Draw) -> None:
    """Of keys and values, a block of queries reads the tiles that it sees once, and no others; queries are read once.

    Program (i, h) writes block i of head h.
    """
    several_tiles(submission, draw)
    for causal, t, block_m, block_n in ((False, 8, 4, 4), (True, 8, 4, 4), (True, 14, 4, 8)):
        got = launched(submission, inputs(draw, 1, t), causal, block_m, block_n)
        begins = torch.arange(t) // block_n * block_n  # where the tile of each key begins
        ends = torch.arange(block_m, t + block_m, block_m).clamp(max=t)  # where each block of queries ends
        tiles = (begins[:, None] < ends).sum(1) if causal else torch.full((t,), len(ends))
        allowed = tiles[:, None].expand(1, t, D)
        once = torch.ones(())
        limits = (got.reads[1], allowed), (got.reads[2], allowed), (got.reads[0], once), (got.writes[3], once)
        submission.note(*(bool((counts <= limit).all()) for counts, limit in limits))
        where = f"CAUSAL = {causal}, t = {t}, BLOCK_M = {block_m}, BLOCK_N = {block_n}"
        for name, (counts, limit) in zip(("keys", "values"), limits, strict=False):
            kernels.most(counts, limit, f"{where}: of the {name}, more tiles are loaded than queries see.")
        kernels.most(got.reads[0], 1, f"{where}: the queries are read more than once.")
        kernels.most(got.writes[3], 1, f"{where}: the output is written more than once.")
        kernels.most(got.writes[4], 1, f"{where}: the lse is written more than once.")
        right = (torch.arange(t) // block_m).unsqueeze(0)
        says = f"{where}: program (i, h) is to make block i of the queries of head h, which lie side by side."
        kernels.by_program(submission, got.writers[4], right, says, width=blocks(t, block_m))


@check("mode", points=0.25, witnessed=True)
def test_compiles(submission: Submission, draw: Draw) -> None:
    """A GPU could run it, too: Triton's compiler takes what the interpreter runs."""
    one_tile(submission, draw)
    for dtype, causal in ((torch.float32, True), (torch.float16, False)):
        given, lse = [draw.normal(1, dtype=dtype) for _ in range(4)], draw.normal(1)
        submission.function(NAME).compile(*given, lse, 50, 0.3, causal, 16, 32, 16)
