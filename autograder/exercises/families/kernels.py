"""What the checks of Triton kernels share: that the text is a kernel's, launches, and what was read and written.

A kernel gets tensors and numbers in the order of the exercise's `def`, and a grid. The grader launches it by Triton's
interpreter, which runs one program after another on the CPU. A tensor that a kernel writes to begins as `LEFT`, so that
what was left out shows.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ...checks import source_text
from ...checks.api import CheckFailed, not_read
from ...checks.proxies import Submission
from ...sandbox.replies import Launched

TRIES_EDITS = False  # the interpreter takes its time
NO_DEVICE = "A kernel is launched by Triton's interpreter, on copies of its tensors, and makes no tensor itself."
ABOUT_MODE = "what is read and written, how often, and whether a GPU could run it"
LEFT = -77.0  # in what a kernel has not written yet


def untouched(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor for a kernel to write to."""
    return torch.full(shape, LEFT, dtype=dtype)


def blocks(many: int, size: int) -> int:
    """How many blocks of that size it takes."""
    return -(-many // size)


def is_kernel(submission: Submission, name: str) -> None:
    """Raises CheckFailed unless the text of `name`, and of what it calls, is what Triton compiles."""
    try:
        found = source_text.outside_triton(submission.source(name))
    except source_text.NoDefinition:
        raise not_read(submission, name) from None
    if found:
        submission.note("no kernel", False)  # which no value shows
        listed = ", ".join(f"`{one}`" for one in found[:5])
        raise CheckFailed(
            f"It uses {listed}, which Triton's compiler does not know: a kernel has `tl`, numbers, and other kernels."
        )
    if source_text.joins_by_words(submission.source(name)):
        submission.note("joined by words", True)  # the interpreter keeps one part: as if there were no other


def most(counts: torch.Tensor, allowed: torch.Tensor | int, sentence: str) -> None:
    """Raises CheckFailed with the sentence if some numbers are accessed more often than is allowed."""
    over = counts > torch.as_tensor(allowed)
    if over.any():
        place, where = _first(over)
        raise CheckFailed(f"{sentence} Number {where} is accessed {counts[place]} times.")


def _first(wrong: torch.Tensor) -> tuple[tuple[int, ...], Any]:
    """(the first place that is True, the same as a message names it: a vector's without parentheses)."""
    place = tuple(wrong.nonzero()[0].tolist())
    return place, place[0] if len(place) == 1 else place


def by_program(
    submission: Submission, writers: torch.Tensor, right: torch.Tensor, sentence: str, width: int = 0
) -> None:
    """Raises CheckFailed with the sentence if another program than is `right` has written a number.

    A program has one number or, where the first axis of its grid has a `width`, two.
    """
    other = (writers != right) & (writers >= 0)
    submission.note("by program", not other.any())
    if other.any():
        place, where = _first(other)
        program = int(writers[place])
        who = (program % width, program // width) if width else program
        raise CheckFailed(f"{sentence} Number {where} is written by program {who}.")


def written(got: torch.Tensor, launched: Launched, number: int) -> torch.Tensor:
    """How often each number of the tensor `number` was written."""
    return launched.writes[number].reshape(got.shape)


def noted(submission: Submission, launched: Launched, *limits: Any) -> None:
    """Keep for the comparison with mistakes whether what was read, or written, is within limits."""
    submission.note(*(bool((counts <= limit).all()) for counts, limit in limits))


def same_but(tensors: Sequence[torch.Tensor], given: Sequence[torch.Tensor], names: Sequence[str]) -> None:
    """Raises CheckFailed if one of the tensors that are only read has changed."""
    for one, before, name in zip(tensors, given, names, strict=False):
        if not torch.equal(one.nan_to_num(nan=LEFT), before.nan_to_num(nan=LEFT)):
            raise CheckFailed(f"It writes to `{name}`, which is only to be read.")
