"""Checks of `get_batch(data, block_size, batch_size, generator=None)`: two (b, t), inputs and targets.

All tokens of the text are different, so that a row tells where it starts. Starts are counted; right answers are
rejected by chance less than once in 10^6 (see `frequencies` in checks/api.py). Every check but the first starts by
asking for plain batches, whose rows have to be tokens in a row. Their shape, their length and their targets are asked
for in two checks alone.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch

from ...checks.api import (
    CheckFailed,
    Draw,
    check,
    frequencies,
    kind_of,
    name_of,
    pair,
    refuses,
    shape,
    tensor,
    unchanged,
)
from ...checks.gates import easy_case
from ...checks.proxies import Counts, Proxy, Submission
from ...sandbox.inside.wire import Generator
from ..families.drawing.checks import generator_told

NO_DEVICE = "Its checks look at the values that are drawn."  # why no check is made on a GPU


def text_of(draw: Draw, n: int) -> torch.Tensor:
    """(n,) tokens below 5n, each one different."""
    return 5 * torch.randperm(n, generator=draw.generator) + torch.randint(5, (n,), generator=draw.generator)


def starts_of(value: Any, data: torch.Tensor, block_size: int, batch_size: int) -> torch.Tensor:
    """Where each row of a batch starts, (b,). Raises CheckFailed unless all rows are blocks and their targets."""
    x, y = pair(value, "`(inputs, targets)`")
    shape(x, (batch_size, block_size), "the inputs")
    shape(y, (batch_size, block_size), "the targets")
    inputs, targets = places(x, data), places(y, data)
    right = inputs[:, :1] + torch.arange(block_size)
    if (inputs < 0).any() or not torch.equal(inputs, right) or right.max() > len(data) - 2:
        raise CheckFailed(
            f"There are inputs that are no {block_size} consecutive tokens of the text with one after them."
        )
    if not torch.equal(targets, right + 1):
        raise CheckFailed(
            "The targets are not the tokens that come next in the text, one for each token of the inputs."
        )
    return inputs[:, 0]


def places(tokens: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    """Where tokens stand in a text of different ones, in their shape; -1 where the text has no such token."""
    table = torch.full((int(data.max()) + 1,), -1)
    table[data] = torch.arange(len(data))
    near = tokens.long().clamp(0, len(table) - 1)
    return torch.where(near == tokens, table[near], -1)


def first_places(value: Any, data: torch.Tensor, batch_size: int) -> torch.Tensor:
    """Where each row starts, (b,), whatever form the batch has. Raises CheckFailed unless rows are tokens in a row."""
    inputs = value[0] if isinstance(value, (tuple, list)) and len(value) > 0 else value
    rows = inputs if isinstance(inputs, (tuple, list)) else []
    if rows and all(isinstance(row, torch.Tensor) and row.shape == rows[0].shape for row in rows):
        inputs = torch.stack(list(rows))
    inputs = tensor(inputs, "the inputs")
    inputs = inputs[0] if inputs.dim() == 3 and len(inputs) == 2 else inputs
    if inputs.dim() == 1 and len(inputs) % batch_size == 0:
        inputs = inputs.reshape(batch_size, -1)
    elif inputs.dim() == 2 and len(inputs) != batch_size:
        inputs = inputs.mT
    if inputs.dim() != 2 or len(inputs) != batch_size or inputs.shape[1] == 0:
        raise CheckFailed(f"There should be {batch_size} blocks; what came is {kind_of(inputs)}.")
    found = places(inputs, data)
    if (found < 0).any() or (found.diff(dim=1) != 1).any():
        raise CheckFailed("There are rows of inputs that are no consecutive tokens of the text.")
    return found[:, 0].contiguous()


def within(starts: torch.Tensor, many: int) -> None:
    """Raises CheckFailed unless the starts are among the first `many`."""
    if starts.max() >= many:
        raise CheckFailed("There are inputs at the end of the text, with no token after them.")


def ready(submission: Submission, draw: Draw) -> Proxy:
    """The function, after two plain batches of it have shown that something is drawn."""
    draws_blocks(submission, draw)
    return submission.function("get_batch")


@easy_case
def draws_blocks(submission: Submission, draw: Draw) -> None:
    """Raises CheckFailed unless two plain batches show that something is drawn.

    Two right batches of 8 out of 1996 starts are the same once in 10^26.
    """
    function, data = submission.function("get_batch"), text_of(draw, 2000)
    values = [function.sample(data, 4, 8, seed=seed) for seed in (0, 1)]
    submission.note(*told(values[0], data))
    one, other = (first_places(value, data, 8) for value in values)
    if torch.equal(one, other) and (is_regular(one, 1996) or not draws(submission, function, data)):
        raise CheckFailed("Two batches had the same rows, in the same order: nothing was drawn by chance.")


def is_regular(starts: torch.Tensor, many: int) -> bool:
    """Whether the starts only rise, only fall, or are about equally far apart, allowing for wrapping at the end."""
    steps = starts.diff()
    apart = (steps - steps[0] + many // 2) % many - many // 2
    return bool((steps >= 0).all() or (steps <= 0).all() or apart.max() - apart.min() <= 2)


def draws(submission: Submission, function: Proxy, data: torch.Tensor) -> bool:
    """Whether the generator matters, or at least torch's own is drawn from or seeded."""
    batches, drew = [], False
    for seed in (0, 1):
        batches.append(first_places(function.sample(data, 4, 8, Generator(seed), seed=seed), data, 8))
        drew |= submission.last.drew
    submission.note(drew)
    return drew or not torch.equal(*batches)


def seeded(draw: Draw) -> Generator:
    return Generator(draw.integer(0, 2**30))


@check("values", points=1.5)
def test_blocks(submission: Submission, draw: Draw) -> None:
    """Rows of the inputs are blocks of the text, the targets are the same blocks one token further on; both int64."""
    function, data = submission.function("get_batch"), text_of(draw, 2000)
    sizes = [(5, 3), (3, 8), (4, 4), (33, 9), (70, 2)]
    got = [function.sample(data, *size, seeded(draw)) for size in sizes] + [function.sample(data, 6, 2, seed=1)]
    for value, size in zip(got, [*sizes, (6, 2)], strict=True):
        submission.note(*told(value, data))
        starts_of(value, data, *size)
        for part, what in zip(value, ("inputs", "targets"), strict=True):
            if part.dtype != torch.int64:
                raise CheckFailed(
                    f"The dtype of the {what} should be the text's, int64, but it is {name_of(part.dtype)}."
                )


def told(value: Any, data: torch.Tensor) -> list[Any]:
    """What in a batch does not depend on chance: shapes, dtypes, and how far apart in the text its tokens lie."""
    if not isinstance(value, (list, tuple)):
        return [kind_of(value)]
    seen = []
    for part in value[:3]:
        if not isinstance(part, torch.Tensor):
            seen.append(type(part).__name__)
            continue
        seen += [list(part.shape), part.dtype]
        if part.dim() == 2 and 0 < part.shape[1] <= len(data) and len(part) and not part.is_floating_point():
            origin = value[0].flatten()[:1] if isinstance(value[0], torch.Tensor) else part[0, :1]
            row = places(part[0], data)
            seen.append((row - places(origin, data)).tolist())
            seen.append((row - row[0]).tolist())
    return seen


@check("values", points=1)
def test_every_start(submission: Submission, draw: Draw) -> None:
    """Every start is equally likely: all len(data) - block_size of them, the first and the last among them.

    3000 draws, and 1200 from a text of 70,000 tokens; see `kit.frequencies`.
    """
    function, n, block_size, b = ready(submission, draw), 15, 4, 3000
    data, far, parts = text_of(draw, n), text_of(draw, 70_000), 16
    starts = first_places(function.sample(data, block_size, b, seeded(draw)), data, b)
    long = first_places(function.sample(far, block_size, 1200, seeded(draw)), far, 1200)
    many, all_parts = n - block_size, (len(far) - block_size) // parts * parts  # so that each part is as large
    within(starts, many)
    counts, inside = torch.bincount(starts, minlength=many), long[long < all_parts]
    of_parts = torch.bincount(inside * parts // all_parts, minlength=parts)
    few = len(long.unique()) < 1100  # right starts are 1190 different ones, with a standard deviation of 3
    submission.note(Counts(counts), Counts(of_parts), few)
    equally(counts, "blocks", [f"those from start {i} of {many}" for i in range(many)])
    what = f"blocks of a text of {len(far)} tokens"
    equally(of_parts, what, [f"those from the text's {i + 1}. part of {parts}" for i in range(parts)])
    if few:
        raise CheckFailed(f"Of 1200 {what}, only {len(long.unique())} start at different places.")


def equally(counts: torch.Tensor, what: str, names: Sequence[str]) -> None:
    """Raises CheckFailed unless all outcomes may be equally likely."""
    frequencies(counts, torch.full((len(names),), 1 / len(names)), what, names)


@check("values", points=0.5)
def test_independent(submission: Submission, draw: Draw) -> None:
    """Starts are drawn independently of one another: a start may come twice, and a row says nothing of the next.

    Of 4000 rows, pairs are counted (see `kit.frequencies`), and in 2 batches of 240 rows from 2400 starts, which of two
    neighbours comes first. That none of these batches holds a start twice happens once in 10^10.
    """
    function = ready(submission, draw)
    data, batches = text_of(draw, 2404), []
    for _ in range(2):
        batches.append(first_places(function.sample(data, 4, 240, seeded(draw)), data, 240))
    pairs = torch.stack(batches).reshape(-1, 2)
    order = torch.bincount((pairs[:, 1] - pairs[:, 0]).sign() + 1, minlength=3)
    repeated = any(len(starts.unique()) < 240 for starts in batches)
    data, many, b = text_of(draw, 9), 5, 4000
    starts = first_places(function.sample(data, 4, b, seeded(draw)), data, b)
    within(starts, many)
    counts = torch.bincount(starts[0::2] * many + starts[1::2], minlength=many**2)
    submission.note(repeated, Counts(order), Counts(counts))
    if not repeated:
        raise CheckFailed("In 2 batches of 240 from 2400 starts, none came twice in a batch.")
    unequal = (1 - 1 / 2400) / 2
    names = ["with an earlier second one", "with the same start", "with a later second one"]
    frequencies(order, torch.tensor([unequal, 1 / 2400, unequal]), "pairs of neighbouring rows", names)
    equally(counts, "pairs of neighbouring rows", [f"the starts {i} and {j}" for i in range(many) for j in range(many)])


@check("arguments", points=0.5)
def test_generator(submission: Submission, draw: Draw) -> None:
    """Chance comes from `generator`: one seed, the same batch; without one, from torch's own, which is never seeded."""
    function, data, size = ready(submission, draw), text_of(draw, 2000), (2, 6)
    seed, other = draw.integer(0, 2**30), draw.integer(2**30, 2**31)

    def drawn(**chance: Any) -> torch.Tensor:
        return first_places(function.sample(data, *size, **chance), data, size[1])

    first, again = (drawn(generator=Generator(seed), seed=torchs) for torchs in (1, 2))
    another = drawn(generator=Generator(other), seed=1)
    one, next_one = drawn(seed=seed), drawn()  # the second goes on where the first has left torch's own generator
    two, next_two, repeated = drawn(seed=other), drawn(), drawn(seed=seed)
    generator_told(
        submission,
        "rows",
        not torch.equal(first, again),
        torch.equal(first, another),
        torch.equal(one, two),
        not torch.equal(one, repeated),
        torch.equal(one, next_one) or torch.equal(next_one, next_two),
    )


@check("arguments", points=0.5)
def test_too_short(submission: Submission, draw: Draw) -> None:
    """A text of `block_size` tokens or fewer holds no block with its targets: a `ValueError` that says both numbers."""
    function, errors = ready(submission, draw), {}
    few, as_many, one_less = draw.integer(10, 19), draw.integer(20, 29), draw.integer(40, 49)
    for n, block_size in [(few, few + 20), (as_many, as_many), (one_less, one_less + 1)]:
        errors[n, block_size] = function.refused(text_of(draw, n), block_size, 2)
    for (n, block_size), error in errors.items():
        what = f"a text of {n} tokens for blocks of {block_size}"
        refuses(error, what, n)
        numbers = re.findall(r"\d+", error.message)
        if not {str(block_size), str(block_size + 1)} & set(numbers) or (
            n == block_size and str(n + 1) not in numbers and numbers.count(str(n)) < 2
        ):
            raise CheckFailed(f"The ValueError for {what} should say both numbers; it says {error.message[:200]!r}.")


@check("shape", points=0.5)
def test_small_and_odd(submission: Submission, draw: Draw) -> None:
    """A text of block_size + 1 tokens holds one block; blocks of one token and batches of one row work."""
    function, got = ready(submission, draw), {}
    for n, block_size, batch_size in [(7, 6, 4), (2, 1, 3), (20, 1, 1), (20, 19, 1), (9, 5, 30)]:
        data = text_of(draw, n)
        got[n, block_size, batch_size] = data, function.sample(data, block_size, batch_size, seeded(draw))
    data = text_of(draw, 24)
    apart = torch.stack([data, data], dim=1)[:, 0]
    got[24, 5, 4] = data, function.sample(apart, 5, 4, seeded(draw))
    for (_, block_size, batch_size), (data, value) in got.items():
        starts_of(value, data, block_size, batch_size)


@check("mode", points=0.5, witnessed=True)
def test_leaves_no_trace(submission: Submission, draw: Draw) -> None:
    """The text is not changed, and with a generator torch's own stays as it was."""
    function, data = ready(submission, draw), text_of(draw, 2000)
    value = function.sample(data, 4, 3, seeded(draw), seed=2)
    drew = submission.last.drew
    submission.note(drew)
    unchanged(submission)
    first_places(value, data, 3)
    if drew:
        raise CheckFailed("Torch's own generator was drawn from or seeded, though a generator was given.")
