"""Checks of `padding_mask(lengths, max_len=None)`: (b,) -> (b, max_len), boolean, True where there is a real token.

There is no check on `meta`: the function has to look at the lengths. What a slip in the pattern or in the width costs,
it costs once: checks about something else start with `tells_lengths_apart`.
"""

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    boolean,
    check,
    on_cuda,
    pattern,
    refuses,
    shape,
    stayed_on_cuda,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Proxy, Submission
from ..reference import causal

B = 5


def some_lengths(draw: Draw, longest: int = 8, b: int = B) -> torch.Tensor:
    """Unsorted lengths from 1 to `longest`, which is among them but not the first or the last: (b,)."""
    lengths = torch.tensor([draw.integer(1, longest - 1) for _ in range(b)])
    lengths[draw.integer(1, b - 2)] = longest
    return lengths


def tells_lengths_apart(submission: Submission, draw: Draw) -> tuple[Proxy, torch.Tensor]:
    """The function and a mask of its, after that was seen to go by the lengths."""
    return submission.function("padding_mask"), mask_by_lengths(submission, draw)


@easy_case
def mask_by_lengths(submission: Submission, draw: Draw) -> torch.Tensor:
    """A mask of the function's, in whose rows as many entries are True, or False, as the length says, or one off.

    The mask may be turned, or have dimensions of 1 too many. It is asked for with a `max_len`.
    """
    function, lengths = submission.function("padding_mask"), some_lengths(draw)
    lengths[0] = 1
    mask = tensor(function(lengths, 9), "the mask")
    rows = (mask != 0).squeeze()
    rows = rows.mT if tuple(rows.shape) == (9, B) else rows
    if tuple(rows.shape) != (B, 9):
        shape(mask, (B, 9), "the mask")
    if all(((kind.sum(-1) - lengths).abs() > 1).any() for kind in (rows, ~rows)):
        raise CheckFailed("The rows of the mask do not go by the lengths.")
    return mask


@check("values", points=0.5)
def test_real_tokens(submission: Submission, draw: Draw) -> None:
    """As many places as the length says are True in each row, from the first on; the longest length is the width."""
    padding_mask, cases = submission.function("padding_mask"), [some_lengths(draw), some_lengths(draw, 90, b=9)]
    got = [padding_mask(lengths) for lengths in cases]
    for one, lengths in zip(got, cases, strict=True):
        pattern(one, causal.padding_mask(lengths))


@check("values", points=0.5)
def test_max_len(submission: Submission, draw: Draw) -> None:
    """With `max_len` given, the mask is that wide, whether a sequence fills it or not."""
    padding_mask, lengths, many = submission.function("padding_mask"), some_lengths(draw), some_lengths(draw, 60, b=33)
    cases = [(lengths, 11), (lengths, 8), (lengths, None), (lengths[:1], 9), (many, draw.integer(65, 130)), (many, 60)]
    got = [padding_mask(given, max_len) for given, max_len in cases]
    cases.append((lengths, 10))
    got.append(padding_mask(lengths, max_len=10))
    for one, (given, max_len) in zip(got, cases, strict=True):
        pattern(one, causal.padding_mask(given, max_len), f"the mask for max_len = {max_len}")


@check("values", points=0.5)
def test_boolean(submission: Submission, draw: Draw) -> None:
    """The mask holds booleans, not numbers."""
    _, mask = tells_lengths_apart(submission, draw)
    boolean(mask, mask != 0)


@check("shape", points=0.5)
def test_small_and_odd_inputs(submission: Submission, draw: Draw) -> None:
    """A length of 0, a batch of one, lengths of any integer dtype and lengths that are not contiguous work as well."""
    padding_mask, lengths = submission.function("padding_mask"), some_lengths(draw)
    with_zero, long = lengths.clone(), some_lengths(draw, longest=120)
    with_zero[0] = 0
    cases = {
        "with a length of 0": (with_zero, 8),
        "of a batch of one": (lengths[:1], int(lengths[0])),
        "of lengths in int32": (lengths.to(torch.int32), 8),
        "of lengths in int8": (long.to(torch.int8), 126),
        "of lengths in uint8": ((2 * long).to(torch.uint8), 250),
        "of lengths that are not contiguous": (torch.stack([lengths, lengths], dim=1)[:, 0], 8),
        "of lengths that are all 0": (torch.zeros(3, dtype=torch.int64), None),
    }
    for what, given in cases.items():
        pattern(padding_mask(*given), causal.padding_mask(*given), f"the mask {what}")
        unchanged(submission)


@check("arguments", points=0.5)
def test_too_long(submission: Submission, draw: Draw) -> None:
    """A length above `max_len` is refused with a `ValueError` that holds both numbers, also where `max_len` is 0."""
    (padding_mask, _), lengths = tells_lengths_apart(submission, draw), some_lengths(draw, longest=17)
    alone = lengths * (lengths == 17)  # the others are 0, so there is only one to refuse
    too_narrow, no_width = padding_mask.error(lengths, 16), padding_mask.error(alone, 0)
    refuses(too_narrow, "a length of 17 with max_len = 16", 17, 16)
    refuses(no_width, "a length of 17 with max_len = 0", 17, 0)


@check("arguments", points=0.5)
def test_no_lengths(submission: Submission, draw: Draw) -> None:
    """A length below 0, and `lengths` that has not exactly one dimension, are refused with a `ValueError`."""
    (padding_mask, _), lengths = tells_lengths_apart(submission, draw), some_lengths(draw)
    negative = lengths.clone()
    negative[draw.integer(0, B - 1)] = -1
    refused = {
        "a length of -1": padding_mask.error(negative),
        "a length of -1 with max_len = 9": padding_mask.error(negative, 9),
        "a length of -1 alone": padding_mask.error(-lengths[:1].sign(), 9),  # a ragged list would be a ValueError too
        "a single length without a dimension": padding_mask.error(lengths[0]),
        "lengths with two dimensions": padding_mask.error(lengths[None]),
    }
    for what, error in refused.items():
        refuses(error, what)


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU the mask is the same, and lies where the lengths lie."""
    on_cuda(submission)
    lengths = some_lengths(draw)
    got = submission.function("padding_mask").on("cuda", lengths)
    pattern(got, causal.padding_mask(lengths))
    stayed_on_cuda(submission, "The mask is", "where the lengths are")
