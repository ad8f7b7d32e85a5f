"""Wrong implementations of `padding_mask(lengths, max_len=None)`. Each one replaces a step of `right`."""

import torch

from ...mistakes.bank import misconception


def refuse_rank(lengths):
    if lengths.dim() != 1:
        raise ValueError(f"expected lengths of shape (b,), got {tuple(lengths.shape)}")


def refuse_negative(lengths):
    if int(lengths.min()) < 0:
        raise ValueError(f"a length can't be below 0, got {int(lengths.min())}")


def refuse_long(lengths, max_len):
    if int(lengths.max()) > max_len:
        raise ValueError(f"a length of {int(lengths.max())} is above max_len = {max_len}")


def width(lengths, max_len):
    return int(lengths.max()) if max_len is None else max_len


def compare(lengths, width):
    """(b,) -> (b, width)."""
    return torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]


def nothing(*args):
    pass


def right(
    lengths, max_len=None, rank=refuse_rank, negative=refuse_negative, width=width, long=refuse_long, compare=compare
):
    """The padding mask, of which any step can be replaced."""
    rank(lengths)
    negative(lengths)
    max_len = width(lengths, max_len)
    long(lengths, max_len)
    return compare(lengths, max_len)


@misconception(
    "inverted",
    "True stands where the padding is: here True means a real token, so turn it round.",
)
def inverted(lengths, max_len=None):
    return ~right(lengths, max_len)


@misconception(
    "one-too-many",
    "One place too many is True in each row: places are counted from 0, so they are below the length and not equal to"
    " it.",
)
def one_too_many(lengths, max_len=None):
    return right(lengths, max_len, compare=lambda lengths, width: compare(lengths + 1, width))


@misconception(
    "one-too-few",
    "One place too few is True in each row: places are counted from 0, and the last real one is the length minus 1.",
)
def one_too_few(lengths, max_len=None):
    return right(lengths, max_len, compare=lambda lengths, width: compare(lengths - 1, width))


@misconception(
    "padding-at-the-start",
    "The real tokens stand at the end of each row: they come first, and the padding after them.",
)
def padding_at_the_start(lengths, max_len=None):
    return right(lengths, max_len).flip(1)


@misconception(
    "turned",
    "The mask has the shape (max_len, b): rows are sequences, (b, max_len).",
)
def turned(lengths, max_len=None):
    return right(lengths, max_len).mT


@misconception(
    "dimension-too-many",
    "The mask has a dimension too many: its shape should be (b, max_len).",
)
def dimension_too_many(lengths, max_len=None):
    return right(lengths, max_len)[:, None]


@misconception(
    "max-len-ignored",
    "`max_len` plays no part: the mask is always as wide as the longest sequence, and no length is too long for it.",
)
def max_len_ignored(lengths, max_len=None):
    return right(lengths)


@misconception(
    "max-len-not-optional",
    "It needs `max_len`: when that is None, the longest of the lengths is the width.",
)
def max_len_not_optional(lengths, max_len=None):
    return right(lengths, max_len, width=lambda lengths, max_len: max_len)


@misconception(
    "zero-taken-for-none",
    "A `max_len` of 0 is taken for none at all (`max_len or ...`, `if not max_len`): compare with `is None`.",
)
def zero_taken_for_none(lengths, max_len=None):
    return right(lengths, max_len or None)


@misconception(
    "batch-as-width",
    "The width is the number of sequences where it should be the longest length: `lengths.max()`, not `len(lengths)`.",
)
def batch_as_width(lengths, max_len=None):
    def width(lengths, max_len):
        return len(lengths) if max_len is None else max_len

    return right(lengths, max_len, width=width, long=nothing)


@misconception(
    "numbers-not-boolean",
    "The mask holds numbers: leave it boolean, as a comparison makes it.",
)
def numbers_not_boolean(lengths, max_len=None):
    return right(lengths, max_len).float()


@misconception(
    "too-long-not-refused",
    "A length above `max_len` is accepted: raise a `ValueError` with both numbers, for such a sequence was cut short.",
)
def too_long_not_refused(lengths, max_len=None):
    return right(lengths, max_len, long=nothing)


@misconception(
    "message-without-numbers",
    "The `ValueError` for a length above `max_len` does not hold both numbers: say which length came, and what was the"
    " most.",
)
def message_without_numbers(lengths, max_len=None):
    def long(lengths, max_len):
        if int(lengths.max()) > max_len:
            raise ValueError("a length is too large")

    return right(lengths, max_len, long=long)


@misconception(
    "assert-for-valueerror",
    "A length above `max_len` or below 0 stops at an `assert`, which raises an AssertionError: raise a `ValueError`.",
)
def assert_for_valueerror(lengths, max_len=None):
    def long(lengths, max_len):
        assert int(lengths.max()) <= max_len

    def negative(lengths):
        assert int(lengths.min()) >= 0

    return right(lengths, max_len, long=long, negative=negative)


@misconception(
    "negative-not-refused",
    "A length below 0 is accepted: raise a `ValueError`.",
)
def negative_not_refused(lengths, max_len=None):
    return right(lengths, max_len, negative=nothing)


@misconception(
    "zero-refused",
    "A length of 0 is refused: a sequence may be empty, and its row is all False.",
)
def zero_refused(lengths, max_len=None):
    def negative(lengths):
        if int(lengths.min()) <= 0:
            raise ValueError("lengths must be positive")

    return right(lengths, max_len, negative=negative)


@misconception(
    "rank-not-checked",
    "Nothing refuses `lengths` with no or with two dimensions: look at `lengths.dim()` and raise a `ValueError`.",
)
def rank_not_checked(lengths, max_len=None):
    return right(
        lengths, max_len, rank=nothing, compare=lambda lengths, width: torch.arange(width) < lengths[..., None]
    )
