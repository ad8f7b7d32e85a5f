"""Checks of `PagedCache(num_blocks, block_size)`: `append`, `read`, `fork`, `free` and `used`.

A check plays a row of calls on the student's cache and on `reference.pages`, and compares what is read. How many blocks
are used has checks of its own, so that a slip in counting costs these alone. What is only about blocks starts with
`pages`, an easy case: texts that are kept as they come, without any, can be read as well.
"""

from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    close,
    kind_of,
    number,
    on_cuda,
    on_meta,
    pair,
    refuses,
    shape,
    stayed_on_cuda,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Submission
from ..families.caches import found_in
from ..families.refusals import ended
from ..reference.pages import Pages

METHODS = ("append", "read", "fork", "free")  # what is asked of it, in place of `forward`
NO_TENSORS = "It keeps tensors and gives them back."  # why it is not tried with tensors of random values

H, D, DV = 2, 3, 4  # heads, width of a key, width of a value: all different
BLOCK = 4  # tokens, where a check asks for nothing else
ROOM = 16  # numbers for each block, beside what is written into it: such as its place and how many texts hold it


class Played:
    """A student's cache beside the reference, through the same calls."""

    def __init__(
        self,
        submission: Submission,
        draw: Draw,
        num_blocks: int = 8,
        block_size: int = BLOCK,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.cache = submission.build("PagedCache", num_blocks, block_size)
        self.right, self.draw, self.dtype = Pages(num_blocks, block_size), draw, dtype

    def tokens(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of n tokens."""
        return self.draw.normal(H, n, D, dtype=self.dtype), self.draw.normal(H, n, DV, dtype=self.dtype)

    def append(self, text: str, n: int) -> None:
        keys, values = self.tokens(n)
        self.cache.method("append").do(text, keys, values)
        self.right.append(text, keys, values)

    def fork(self, text: str, new: str) -> None:
        self.cache.method("fork").do(text, new)
        self.right.fork(text, new)

    def free(self, text: str) -> None:
        self.cache.method("free").do(text)
        self.right.free(text)

    def read(self, *texts: str, **how: Any) -> None:
        """Raises CheckFailed unless these texts are read as they were written; all of them without names."""
        names = texts or tuple(self.right.tokens)
        got = [self.cache.method("read")(text) for text in names]
        for text, one in zip(names, got, strict=True):
            read = pair(one, "`(keys, values)`")
            for what, part, expected in zip(("keys", "values"), read, self.right.read(text), strict=True):
                shape(part, expected.shape, f"the {what} of a text of {expected.shape[1]} tokens")
                close(part, expected.double(), f"the {what} of a text of {expected.shape[1]} tokens", **how)

    def count(self, when: str) -> None:
        """Raises CheckFailed unless as many blocks are used as should be."""
        used = number(self.cache.attribute("used"))
        if isinstance(used, bool) or not isinstance(used, (int, float)):
            raise CheckFailed(f"`used` should be a number, but it is {kind_of(used)}.")
        if used != self.right.used:
            raise CheckFailed(f"{when} `used` is {used}, and {self.right.used} blocks are held by a text.")


def keeps(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a small text is read as it was written, and a new cache knows nothing of another."""
    reads_what_was_written(submission, draw)
    new_caches_are_empty(submission, draw)


@easy_case
def reads_what_was_written(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a text that fits into one block is read as it was written."""
    played = Played(submission, draw)
    played.append("first", 3)
    played.read("first")


@easy_case
def new_caches_are_empty(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two caches that are given a text of the same name keep it apart."""
    for n in (2, 1):
        played = Played(submission, draw)
        played.append("same", n)
        got = pair(played.cache.method("read")("same"), "`(keys, values)`")[0]
        if not isinstance(got, torch.Tensor) or got.shape != (H, n, D):
            raise CheckFailed("A new cache holds what went into another one: each has its own texts.")


def pages(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless a small text is read as it was written, and is kept in blocks."""
    keeps(submission, draw)
    in_blocks(submission, draw)
    in_one_pool(submission, draw)


@easy_case
def in_blocks(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless tokens are held in blocks: there is memory for a whole one, or a table that counts.

    Blocks may be lists of tokens. Then nothing shows them but their number after a fork, and that an append to a long
    text makes no more than one to a short text.
    """
    cache, (keys, values) = submission.build("PagedCache", 8, BLOCK), some_tokens(draw, BLOCK - 1)
    cache.method("append").do("a", keys, values)
    held = cache.held()
    missing, blocks = not (found_in(held.numbers, keys) and found_in(held.numbers, values)), False
    if not missing:
        seen = len(submission.transcript.entries)
        whole = held.size >= BLOCK * H * (D + DV)
        blocks = whole or (counts_blocks(submission, draw) and appends_to_blocks(submission, draw))
        submission.settle()
        del submission.transcript.entries[seen:]  # of right answers some are asked more than others
    submission.note(missing, blocks)
    if missing:
        raise CheckFailed("The cache does not hold the keys and values that were written.")
    if not blocks:
        raise CheckFailed(
            f"Tokens are not in blocks: {BLOCK - 1} of them in a block of {BLOCK} take no more room than they need, and"
            " texts that share a beginning are joined or counted each by itself."
        )


def counts_blocks(submission: Submission, draw: Draw) -> bool:
    """Whether a fork takes no block, and an append to it one, for the copy of the last."""
    played, used = Played(submission, draw), []
    played.append("a", 2 * BLOCK + 2)
    played.fork("a", "b")
    used.append((number(played.cache.attribute("used")), played.right.used))
    played.append("b", 1)
    used.append((number(played.cache.attribute("used")), played.right.used))
    return all(isinstance(got, (int, float)) and got == expected for got, expected in used)


def appends_to_blocks(submission: Submission, draw: Draw) -> bool:
    """Whether an append to a long text copies nothing of what is there, or as much as one to a short text does."""
    played, made = Played(submission, draw, 16), []
    played.append("long", 9 * BLOCK)
    played.append("short", BLOCK)
    for text in ("long", "short"):
        played.cache.method("append").watched(text, *played.tokens(BLOCK))
        made.append(submission.last.largest)
    return made[0] < 9 * BLOCK * H * D or made[0] <= made[1]


@easy_case
def in_one_pool(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed if texts are held that a pool has no room for: there is one pool, and texts share its blocks.

    What ends in an error, because no block is left, is not held.
    """
    blocks, most = 16, 16 * (BLOCK * H * (D + DV) + ROOM)
    for texts, shared, own in (("ab", 0, BLOCK - 1), ("abcdef", 40, BLOCK)):
        cache = submission.build("PagedCache", blocks, BLOCK)
        calls = [("append", texts[0], *some_tokens(draw, shared))] if shared else []
        calls += [("fork", texts[0], text) for text in texts[1:] if shared]
        calls += [("append", text, *some_tokens(draw, own)) for text in texts]
        for method, *given in calls:
            if ended(submission, cache.method(method), *given) is not None:
                break
        size = cache.held().size
        submission.note(size > most)
        if size > most:
            raise CheckFailed(
                f"With {len(texts)} texts, whose first {shared} tokens are the same, it holds {size} numbers, and its"
                f" {blocks} blocks have room for {most}: texts are not in blocks of one pool, which they share."
            )


def some_tokens(draw: Draw, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of n tokens."""
    return draw.normal(H, n, D), draw.normal(H, n, DV)


@check("values", points=1.25)
def test_texts(submission: Submission, draw: Draw) -> None:
    """Texts that come in parts, in turn, are read as if each had been joined by itself."""
    keeps(submission, draw)
    played = Played(submission, draw, 12)
    for text, n in (("a", 3), ("b", 1), ("a", 1), ("b", 9), ("a", 1), ("c", 4), ("a", 6), ("c", 4), ("b", 2)):
        played.append(text, n)
    played.read()
    small = Played(submission, draw, 9, 1)
    for text in "abab":
        small.append(text, 2)
    small.read()


@check("values", points=0.75)
def test_blocks_in_use(submission: Submission, draw: Draw) -> None:
    """`used` counts the blocks that are held: as few as hold each text, 0 at first."""
    pages(submission, draw)
    played = Played(submission, draw, 12)
    played.count("At first")
    for text, n in (("a", 4), ("a", 1), ("b", 3), ("b", 1), ("a", 7), ("c", 1)):
        played.append(text, n)
        played.count(f"After {n} more tokens of one of {len(played.right.tokens)} texts")


@check("values", points=0.5)
def test_freeing(submission: Submission, draw: Draw) -> None:
    """What a text held can be used again after it is freed, and other texts stay as they are."""
    pages(submission, draw)
    played = Played(submission, draw, 6)
    played.append("a", 9)
    played.append("b", 10)
    played.free("a")
    for text, n in (("c", 5), ("b", 3)):
        played.append(text, n)
        played.read()
    played.free("b")
    played.append("a", 12)
    played.read()


@check("values", points=0.5)
def test_forks(submission: Submission, draw: Draw) -> None:
    """After `fork` both names read the same text, and freeing one leaves the other."""
    pages(submission, draw)
    played = Played(submission, draw)
    played.append("a", 10)
    played.fork("a", "b")
    played.fork("b", "c")
    played.read()
    played.free("a")
    played.read()


@check("values", points=1)
def test_forks_go_apart(submission: Submission, draw: Draw) -> None:
    """What one of two texts with a shared beginning appends is not seen by the other."""
    pages(submission, draw)
    played = Played(submission, draw, 16)
    played.append("a", 10)
    played.fork("a", "b")
    played.fork("a", "c")
    for text, n in (("b", 1), ("a", 1), ("c", 3), ("b", 5), ("a", 2)):
        played.append(text, n)
        played.read()
    played.free("b")
    played.append("d", 9)
    played.read()


@check("values", points=0.75)
def test_shared_blocks_count_once(submission: Submission, draw: Draw) -> None:
    """A fork takes no block, writing into a shared one takes one, and freeing gives back what nobody else holds."""
    pages(submission, draw)
    played = Played(submission, draw, 16)
    played.append("a", 10)
    for text in "bc":
        played.fork("a", text)
        played.count("After a fork")
    for text, n in (("b", 1), ("c", 1), ("a", 1), ("a", 2)):
        played.append(text, n)
        played.count("After a text with a shared beginning went on")
    for text in "abc":
        played.free(text)
        played.count("After one of several texts with a shared beginning was freed")


@check("values", points=0.375)
def test_full_blocks_are_not_copied(submission: Submission, draw: Draw) -> None:
    """A shared last block that is full is not copied, and the last holder of a block writes into it."""
    pages(submission, draw)
    full = Played(submission, draw, 4)
    full.append("a", 8)
    full.fork("a", "b")
    full.append("a", 1)
    full.append("b", 1)  # which leaves no block
    full.read()
    alone = Played(submission, draw, 2)
    alone.append("a", 6)
    alone.fork("a", "b")
    alone.free("a")
    alone.append("b", 2)
    alone.read()


@check("arguments", points=0.5)
def test_no_block_left(submission: Submission, draw: Draw) -> None:
    """Where no block is left, `append` raises a `RuntimeError`, and nothing has changed."""
    pages(submission, draw)
    played = Played(submission, draw, 3)
    played.append("a", 6)
    played.fork("a", "b")
    append = played.cache.method("append")
    errors = [ended(submission, append, text, *played.tokens(n)) for text, n in (("a", 7), ("c", 5), ("b", 9))]
    unknown = ended(submission, played.cache.method("read"), "c")
    played.append("b", 1)
    errors.append(ended(submission, append, "c", *played.tokens(1)))
    played.append("a", 2)  # the last holder of the block
    played.read()
    full = Played(submission, draw, 2)
    full.append("a", 6)
    full.fork("a", "b")
    errors.append(ended(submission, full.cache.method("append"), "b", *full.tokens(1)))  # no block for the copy
    full.read()
    for error in errors:
        if error is None or error.type != "RuntimeError":
            what = "was accepted" if error is None else f"ended in a {error.type}"
            raise CheckFailed(
                f"More tokens than the blocks that are left can hold should raise a RuntimeError: it {what}."
            )
    if unknown is None:
        raise CheckFailed("A text whose first tokens were refused can be read: it should not have begun.")


@check("arguments", points=0.25)
def test_names(submission: Submission, draw: Draw) -> None:
    """An unknown name is a `KeyError` in `read`, `fork` and `free`; a name that is taken a `ValueError` in `fork`."""
    keeps(submission, draw)
    played = Played(submission, draw)
    played.append("a", 5)
    played.append("b", 2)
    method = played.cache.method
    unknown = [
        ended(submission, method(name), *given) for name, *given in (("read", "x"), ("fork", "x", "y"), ("free", "x"))
    ]
    taken = {new: ended(submission, method("fork"), "a", new) for new in ("b", "a")}
    played.free("b")
    unknown.append(ended(submission, method("free"), "b"))
    played.read()
    for error in unknown:
        if error is None or error.type != "KeyError":
            raise CheckFailed("A name that nobody has should raise a KeyError, in `read`, `fork` and `free`.")
    for new, error in taken.items():
        refuses(error, f"a fork of 'a' to the name {new!r}, which is taken,")


@check("arguments", points=0.125)
def test_sizes(submission: Submission, draw: Draw) -> None:
    """`num_blocks` and `block_size` below 1 are refused with a `ValueError`."""
    keeps(submission, draw)
    wrong = ((0, 4), (4, 0), (-1, 2))
    errors = [submission.function("PagedCache").refused(*sizes) for sizes in wrong]
    for error, sizes in zip(errors, wrong, strict=True):
        refuses(error, f"PagedCache{sizes}")


@check("mode", points=0.25)
def test_caches_are_apart(submission: Submission, draw: Draw) -> None:
    """Two caches hold nothing of each other."""
    keeps(submission, draw)
    one, other = Played(submission, draw), Played(submission, draw, 3)
    for played, n in ((one, 6), (other, 3), (one, 2), (other, 4)):
        played.append("a", n)
    one.read()
    other.read()
    other.free("a")
    one.read()


@check("numerics", points=0.125)
def test_dtypes(submission: Submission, draw: Draw) -> None:
    """float64, float32, float16 and bfloat16 are kept as they are."""
    keeps(submission, draw)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        played = Played(submission, draw, dtype=dtype)
        played.append("a", 6)
        played.read("a", dtype=dtype)


@check("device", points=0.125)
def test_device(submission: Submission, draw: Draw) -> None:
    """What is read is on the device of what was written (tried on `meta`)."""
    keeps(submission, draw)
    cache = submission.build("PagedCache", 4, 4)
    for n in (5, 2):
        cache.method("append").on("meta", "a", draw.normal(H, n, D), draw.normal(H, n, DV))
    keys, values = pair(cache.method("read").on("meta", "a"), "`(keys, values)`")
    on_meta(keys, (H, 7, D), "the keys")
    on_meta(values, (H, 7, DV), "the values")


@check("mode", points=0.5, witnessed=True)
def test_the_pool_stays(submission: Submission, draw: Draw) -> None:
    """The pool alone holds what was written, nothing as large is made after it, and what was given stays as it was."""
    pages(submission, draw)
    cache, blocks, size = submission.build("PagedCache", 64, 4), 64, 4
    pool, largest = blocks * size * H * D, []
    cache.method("append").do("a", draw.normal(H, 5, D), draw.normal(H, 5, DV))
    cache.method("fork").do("a", "b")
    for text, n in (("a", 1), ("b", 6), ("a", 3)):
        cache.method("append").watched(text, draw.normal(H, n, D), draw.normal(H, n, DV))
        unchanged(submission)
        largest.append(submission.last.largest)
    cache.method("read").watched("a")
    largest.append(submission.last.largest)
    submission.note([made >= pool for made in largest])
    for made in largest:
        if made >= pool:
            raise CheckFailed(
                f"A pool of {blocks} blocks of {size} tokens holds {pool} numbers as keys, and a tensor of {made} is"
                " made for a few tokens: write into the pool, and read the blocks of one text alone."
            )
    holds_its_pool_alone(submission, draw)


def holds_its_pool_alone(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless what was written is held, and many texts that share blocks take no more than these."""
    played, texts = Played(submission, draw, 16), "abcdef"
    played.append("a", 40)
    for text in texts[1:]:
        played.fork("a", text)
    for text in texts[1:]:
        played.append(text, 1)
    held, written = played.cache.held(), [part for text in texts for part in played.right.read(text)]
    missing, most = not all(found_in(held.numbers, part) for part in written), 16 * (BLOCK * H * (D + DV) + ROOM)
    submission.note(missing, held.size > most)
    if missing:
        raise CheckFailed("The cache does not hold the keys and values that were written.")
    if held.size > most:
        raise CheckFailed(
            f"With {len(texts)} texts that share their first 40 tokens it holds {held.size} numbers, and {most} are"
            " those of its blocks: texts share their blocks, and nothing is kept beside them."
        )


@check("device", points=0)
def test_cuda(submission: Submission, draw: Draw) -> None:
    """On a GPU what was written is read."""
    on_cuda(submission)
    cache, keys, values = submission.build("PagedCache", 4, 4), draw.normal(H, 6, D), draw.normal(H, 6, DV)
    for part in (slice(0, 5), slice(5, 6)):
        cache.method("append").on("cuda", "a", keys[:, part].clone(), values[:, part].clone())
    got = pair(cache.method("read").on("cuda", "a"), "`(keys, values)`")
    stayed_on_cuda(submission)
    close(got[0], keys.double(), "the keys")
    close(got[1], values.double(), "the values")
