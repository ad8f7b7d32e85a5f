"""Checks of `get_batch(data, block_size, batch_size, generator=None)`: two (b, t), inputs and targets.

All tokens of the text are different, so that a row tells where it starts. Starts are counted; right answers are
rejected by chance less than once in 10^6 (see `frequencies` in checks/api.py). Every check but the first starts by
asking for a plain batch.
"""

import re

import torch

from ...checks.api import CheckFailed, check, frequencies, kind_of, name_of, pair, refuses, shape, unchanged
from ...checks.proxies import Counts
from ...sandbox.inside.wire import Generator
from ..reference import language

NO_DEVICE = "Its checks look at the values that are drawn."  # why no check is made on a GPU


def text_of(draw, n):
    """(n,) tokens, each one different."""
    return torch.randperm(5 * n, generator=draw.generator)[:n]


def starts_of(value, data, block_size, batch_size):
    """Where each row of a batch starts, (b,). Raises CheckFailed unless all rows are blocks and their targets."""
    x, y = pair(value, "`(inputs, targets)`")
    shape(x, (batch_size, block_size), "the inputs")
    shape(y, (batch_size, block_size), "the targets")
    inputs, targets = language.blocks(data, block_size)
    place = {first: start for start, first in enumerate(inputs[:, 0].tolist())}
    starts = torch.tensor([place.get(first, -1) for first in x[:, 0].tolist()])
    if (starts < 0).any() or not torch.equal(inputs[starts].double(), x.double()):
        raise CheckFailed(
            f"There are inputs that are no {block_size} consecutive tokens of the text with one after them."
        )
    if not torch.equal(targets[starts].double(), y.double()):
        raise CheckFailed(
            "The targets are not the tokens that come next in the text, one for each token of the inputs."
        )
    return starts


def ready(submission, draw):
    """The function, after it has made two plain batches that show that something is drawn.

    Two right batches of 8 out of 296 starts are the same once in 10^19.
    """
    function, data = submission.function("get_batch"), text_of(draw, 300)
    values = [function.sample(data, 4, 8, seed=seed) for seed in (0, 1)]
    submission.note(*told(values[0], data))
    one, other = (starts_of(value, data, 4, 8) for value in values)
    if torch.equal(one, other) and (is_regular(one, 296) or not draws(submission, function, data)):
        raise CheckFailed("Two batches had the same rows, in the same order: nothing was drawn by chance.")
    return function


def is_regular(starts, many):
    """Whether the starts only rise, only fall, or are about equally far apart, allowing for wrapping at the end."""
    steps = starts.diff()
    apart = (steps - steps[0] + many // 2) % many - many // 2
    return bool((steps >= 0).all() or (steps <= 0).all() or apart.max() - apart.min() <= 2)


def draws(submission, function, data):
    """Whether the generator matters, or at least torch's own is drawn from or seeded."""
    batches, drew = [], False
    for seed in (0, 1):
        batches.append(starts_of(function.sample(data, 4, 8, Generator(seed), seed=seed), data, 4, 8))
        drew |= submission.last.drew
    submission.note(drew)
    return drew or not torch.equal(*batches)


def seeded(draw):
    return Generator(draw.integer(0, 2**30))


@check("values", points=1.5)
def test_blocks(submission, draw):
    """Rows of the inputs are blocks of the text, the targets are the same blocks one token further on; both int64."""
    function, data = submission.function("get_batch"), text_of(draw, 40)
    sizes = [(5, 3), (3, 8), (4, 4)]
    got = [function.sample(data, *size, seeded(draw)) for size in sizes] + [function.sample(data, 6, 2, seed=1)]
    for value, size in zip(got, [*sizes, (6, 2)], strict=True):
        submission.note(*told(value, data))
        starts_of(value, data, *size)
        for part, what in zip(value, ("inputs", "targets"), strict=True):
            if part.dtype != torch.int64:
                raise CheckFailed(
                    f"The dtype of the {what} should be the text's, int64, but it is {name_of(part.dtype)}."
                )


def told(value, data):
    """What in a batch does not depend on chance: shapes, dtypes, and how far apart in the text its tokens lie."""
    place = {token: i for i, token in enumerate(data.tolist())}
    if not isinstance(value, (list, tuple)):
        return [kind_of(value)]
    seen = []
    for part in value[:3]:
        if not isinstance(part, torch.Tensor):
            seen.append(type(part).__name__)
            continue
        seen += [list(part.shape), part.dtype]
        if part.dim() == 2 and 0 < part.shape[1] <= len(data) and len(part) and not part.is_floating_point():
            origin = value[0].flatten()[0] if isinstance(value[0], torch.Tensor) else part[0, 0]
            row = [place.get(token, -1) for token in part[0].tolist()]
            seen.append([at - place.get(int(origin), -1) for at in row])
            seen.append([at - row[0] for at in row])
    return seen


@check("values", points=1)
def test_every_start(submission, draw):
    """Every start is equally likely: all len(data) - block_size of them, the first and the last among them.

    3000 draws; see `kit.frequencies`.
    """
    function, n, block_size, b = ready(submission, draw), 15, 4, 3000
    data = text_of(draw, n)
    starts = starts_of(function.sample(data, block_size, b, seeded(draw)), data, block_size, b)
    many = n - block_size
    counts = torch.bincount(starts, minlength=many)
    submission.note(Counts(counts))
    frequencies(
        counts, torch.full((many,), 1 / many), "blocks", [f"those from start {i} of {many}" for i in range(many)]
    )


@check("values", points=0.5)
def test_independent(submission, draw):
    """Starts are drawn independently of one another: a start may come twice, and a row says nothing of the next.

    Of 4000 rows, pairs are counted (see `kit.frequencies`). 60 rows with 60 starts are all different once in 10^24.
    """
    function = ready(submission, draw)
    data = text_of(draw, 64)
    sixty = starts_of(function.sample(data, 4, 60, seeded(draw)), data, 4, 60)
    data, many, b = text_of(draw, 9), 5, 4000
    starts = starts_of(function.sample(data, 4, b, seeded(draw)), data, 4, b)
    counts = torch.bincount(starts[0::2] * many + starts[1::2], minlength=many**2)
    repeated = len(sixty.unique()) < 60
    submission.note(repeated, Counts(counts))
    if not repeated:
        raise CheckFailed("In a batch of 60 from 60 starts, none came twice.")
    names = [f"the starts {i} and {j}" for i in range(many) for j in range(many)]
    frequencies(counts, torch.full((many**2,), 1 / many**2), "pairs of neighbouring rows", names)


@check("arguments", points=0.5)
def test_generator(submission, draw):
    """Chance comes from `generator`: one seed, the same batch; without one, torch's own generator is drawn from."""
    function, data, size, seed = ready(submission, draw), text_of(draw, 60), (4, 20), draw.integer(0, 2**30)
    first = function.sample(data, *size, generator=Generator(seed), seed=1)
    again = function.sample(data, *size, generator=Generator(seed), seed=2)
    other = function.sample(data, *size, generator=Generator(seed + 1), seed=1)
    alone = [function.sample(data, *size, seed=seed) for seed in (1, 2)]
    first, again, other, *alone = (starts_of(value, data, *size) for value in (first, again, other, *alone))
    seen = torch.equal(first, again), torch.equal(first, other), torch.equal(*alone)
    submission.note(*seen)
    if not seen[0]:
        raise CheckFailed("Two generators of one seed gave different batches.")
    if seen[1]:
        raise CheckFailed("Generators of different seeds gave the same batch.")
    if seen[2]:
        raise CheckFailed("Without a generator, the batch was the same twice, though torch's own was in another state.")


@check("arguments", points=0.5)
def test_too_short(submission, draw):
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
def test_small_and_odd(submission, draw):
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
def test_leaves_no_trace(submission, draw):
    """The text is not changed, and with a generator torch's own stays as it was."""
    function, data = ready(submission, draw), text_of(draw, 30)
    value = function.sample(data, 4, 3, seeded(draw), seed=2)
    drew = submission.last.drew
    submission.note(drew)
    unchanged(submission)
    starts_of(value, data, 4, 3)
    if drew:
        raise CheckFailed("Torch's own generator was drawn from or seeded, though a generator was given.")
