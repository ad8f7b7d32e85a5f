"""Wrong implementations of `get_batch(data, block_size, batch_size, generator=None)`. Each replaces a step of it."""

import torch

from ...mistakes.bank import misconception

# --- the right steps ------------------------------------------------------------------------------


def refuse(data, block_size):
    if len(data) <= block_size:
        raise ValueError(f"{len(data)} tokens hold no block of {block_size} with its targets")


def draw(many, batch_size, generator):
    """Starts out of `many`: (batch_size,)."""
    return torch.randint(many, (batch_size,), generator=generator)


def cut(data, starts, block_size, shift=0):
    """(b, t): the block at each start, moved by `shift`."""
    return data[starts[:, None] + torch.arange(block_size) + shift]


def right(data, block_size, batch_size, generator=None, refuse=refuse, many=None, draw=draw, inputs=cut, targets=None):
    """A batch, of which any step can be replaced."""
    refuse(data, block_size)
    starts = draw(len(data) - block_size if many is None else many, batch_size, generator)
    if targets is None:
        return inputs(data, starts, block_size), cut(data, starts, block_size, 1)
    return inputs(data, starts, block_size), targets(data, starts, block_size)


# --- inputs and targets ---------------------------------------------------------------------------


@misconception(
    "targets-not-shifted",
    "The targets are the inputs themselves: a model would only have to copy. They come one token later.",
)
def targets_not_shifted(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, targets=cut)


@misconception("shifted-twice", "The targets are two tokens ahead of the inputs: it should be one.")
def shifted_twice(data, block_size, batch_size, generator=None):
    def two_on(data, starts, size):
        return torch.stack([data.roll(-2)[i : i + size] for i in starts.tolist()])

    return right(data, block_size, batch_size, generator, targets=two_on)


@misconception(
    "targets-behind",
    "The targets are the tokens before the inputs, or the two have changed places: the model should learn what comes"
    " next.",
)
def targets_behind(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return y, x


@misconception(
    "targets-turned-round",
    "Within each row the targets are only moved round: the last target is the token after the block.",
)
def targets_turned_round(data, block_size, batch_size, generator=None):
    return right(
        data, block_size, batch_size, generator, targets=lambda data, starts, size: cut(data, starts, size).roll(-1, 1)
    )


@misconception(
    "last-target-alone",
    "There is one target for each block: every position of it has one, the token after it.",
)
def last_target_alone(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, targets=lambda data, starts, size: data[starts + size])


@misconception(
    "one-token-less",
    "The blocks are one token too short: inputs and targets both have `block_size` tokens.",
)
def one_token_less(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return x[:, :-1], y[:, :-1]


@misconception(
    "one-token-more",
    "The inputs are `block_size` + 1 tokens long: the last of them is a target only.",
)
def one_token_more(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return torch.cat([x, y[:, -1:]], dim=1), y


@misconception("sizes-swapped", "`block_size` and `batch_size` are swapped: rows are blocks, (batch_size, block_size).")
def sizes_swapped(data, block_size, batch_size, generator=None):
    return right(data, batch_size, block_size, generator)


@misconception("turned", "The batch has the shape (t, b): rows are blocks, (b, t).")
def turned(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return x.mT, y.mT


@misconception("flat", "The batch is one long row of tokens: it should have the shape (b, t).")
def flat(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return x.flatten(), y.flatten()


@misconception(
    "inputs-alone",
    "Only the inputs come back: return the pair of inputs and targets.",
)
def inputs_alone(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator)[0]


@misconception("in-one-tensor", "Inputs and targets come in one tensor: return the pair, each of shape (b, t).")
def in_one_tensor(data, block_size, batch_size, generator=None):
    return torch.stack(right(data, block_size, batch_size, generator))


@misconception(
    "numbers-not-whole",
    "The tokens are no whole numbers any more: an embedding needs int64, as the text has it.",
)
def numbers_not_whole(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)
    return x.float(), y.float()


@misconception(
    "gaps",
    "The tokens of a row are drawn one by one or with gaps: a block is `block_size` consecutive tokens.",
)
def gaps(data, block_size, batch_size, generator=None):
    index = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator).sort(1).values
    refuse(data, block_size)
    return data[index], data[index + 1]


# --- where blocks start ---------------------------------------------------------------------------


@misconception(
    "last-start-missing",
    "The last start is never drawn: there are len(data) - block_size of them, and `torch.randint` leaves out its upper"
    " end already.",
)
def last_start_missing(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, many=max(1, len(data) - block_size - 1))


@misconception(
    "last-start-missing-crash",
    "The last start is never drawn, so a text of block_size + 1 tokens has none and is an error: there are"
    " len(data) - block_size starts.",
)
def last_start_missing_crash(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, many=len(data) - block_size - 1)


@misconception("first-start-missing", "The text's first token never starts a block: starts are counted from 0.")
def first_start_missing(data, block_size, batch_size, generator=None):
    def draw(many, batch_size, generator):
        return torch.randint(min(1, many - 1), many, (batch_size,), generator=generator)

    return right(data, block_size, batch_size, generator, draw=draw)


@misconception(
    "past-the-end",
    "Blocks are drawn from starts so late that they run past the end: the last start is len(data) - block_size - 1.",
)
def past_the_end(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, many=len(data))


@misconception(
    "targets-past-the-end",
    "From the last start drawn, the targets run past the end by one: they need a token more than the inputs.",
)
def targets_past_the_end(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, many=len(data) - block_size + 1)


@misconception(
    "wrapped-round",
    "Blocks run over the end of the text and go on at its beginning: such a block stands nowhere in the text.",
)
def wrapped_round(data, block_size, batch_size, generator=None):
    refuse(data, block_size)
    index = draw(len(data), batch_size, generator)[:, None] + torch.arange(block_size + 1)
    rows = data[index % len(data)]
    return rows[:, :-1], rows[:, 1:]


@misconception(
    "whole-blocks-only",
    "Blocks start at multiples of `block_size` only: every token but the last few may start one.",
)
def whole_blocks_only(data, block_size, batch_size, generator=None):
    def draw(many, batch_size, generator):
        return torch.randint((many - 1) // block_size + 1, (batch_size,), generator=generator) * block_size

    return right(data, block_size, batch_size, generator, draw=draw)


@misconception(
    "part-of-the-text",
    "Only the first nine tenths of the text are drawn from: splitting off validation data is the caller's affair.",
)
def part_of_the_text(data, block_size, batch_size, generator=None):
    refuse(data, block_size)
    return right(data[: max(block_size + 1, int(0.9 * len(data)))], block_size, batch_size, generator)


@misconception("always-the-beginning", "Nothing is drawn: the blocks follow one another from the text's beginning.")
def always_the_beginning(data, block_size, batch_size, generator=None):
    return right(
        data,
        block_size,
        batch_size,
        generator,
        draw=lambda many, batch_size, generator: torch.arange(batch_size) % many,
    )


@misconception(
    "one-start-for-all",
    "One start serves the whole batch, so all rows are the same: draw one for each row.",
)
def one_start_for_all(data, block_size, batch_size, generator=None):
    return right(
        data, block_size, batch_size, generator, draw=lambda many, b, generator: draw(many, 1, generator).expand(b)
    )


@misconception(
    "neighbouring-starts",
    "One start is drawn, and the rows follow from it one after the other: draw one for each row.",
)
def neighbouring_starts(data, block_size, batch_size, generator=None):
    def following(many, batch_size, generator):
        return (draw(many, 1, generator) + torch.arange(batch_size)) % many

    return right(data, block_size, batch_size, generator, draw=following)


@misconception(
    "without-replacement",
    "No start comes twice in a batch, as in a permutation: draw each one independently, with `torch.randint`.",
)
def without_replacement(data, block_size, batch_size, generator=None):
    def shuffled(many, batch_size, generator):
        rounds = [torch.randperm(many, generator=generator) for _ in range(-(-batch_size // many))]
        return torch.cat(rounds)[:batch_size]

    return right(data, block_size, batch_size, generator, draw=shuffled)


@misconception(
    "starts-sorted",
    "The starts are sorted, so that rows hang together: leave them in the order in which they were drawn.",
)
def starts_sorted(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, draw=lambda *args: draw(*args).sort().values)


@misconception(
    "more-in-the-middle",
    "Starts in the middle are likelier than others: draw them uniformly, with `torch.randint`.",
)
def more_in_the_middle(data, block_size, batch_size, generator=None):
    def middle(many, batch_size, generator):
        return torch.rand(2, batch_size, generator=generator).mean(0).mul(many).long()

    return right(data, block_size, batch_size, generator, draw=middle)


@misconception(
    "rounded-starts",
    "Numbers between 0 and 1 are scaled and rounded, so the first and the last start come half as often: round down.",
)
def rounded_starts(data, block_size, batch_size, generator=None):
    def rounded(many, batch_size, generator):
        return torch.rand(batch_size, generator=generator).mul(many - 1).round().long()

    return right(data, block_size, batch_size, generator, draw=rounded)


# --- the generator --------------------------------------------------------------------------------


@misconception(
    "generator-ignored",
    "`generator` is not used, so that nobody can repeat what was drawn: hand it on to `torch.randint`.",
)
def generator_ignored(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size)


@misconception(
    "seed-of-its-own",
    "It seeds torch itself, so the same batch comes whoever asks: seeds are the caller's affair.",
)
def seed_of_its_own(data, block_size, batch_size, generator=None):
    torch.default_generator.manual_seed(1337)
    return right(data, block_size, batch_size)


@misconception(
    "fixed-without-generator",
    "Without a generator it makes one of a fixed seed, so that the same batch comes each time: pass `None` on instead.",
)
def fixed_without_generator(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, torch.Generator().manual_seed(1337) if generator is None else generator)


@misconception(
    "seeded-from-generator",
    "Torch's own generator is seeded from the one that is given: draw from the given one, and leave torch's alone.",
)
def seeded_from_generator(data, block_size, batch_size, generator=None):
    if generator is not None:
        torch.default_generator.manual_seed(generator.initial_seed())
    return right(data, block_size, batch_size)


# --- texts that are too short, and what is left behind --------------------------------------------


@misconception(
    "too-short-not-refused",
    "Nothing refuses a text that is too short, and torch's own error says little: raise a `ValueError` with both"
    " numbers.",
)
def too_short_not_refused(data, block_size, batch_size, generator=None):
    return right(data, block_size, batch_size, generator, refuse=lambda data, block_size: None)


@misconception(
    "limit-one-too-low",
    "A text of exactly `block_size` tokens gets past the check: its last token has no target, so refuse it too.",
)
def limit_one_too_low(data, block_size, batch_size, generator=None):
    def shorter(data, block_size):
        if len(data) < block_size:
            raise ValueError(f"{len(data)} tokens, at least {block_size} are needed")

    return right(data, block_size, batch_size, generator, refuse=shorter)


@misconception(
    "limit-one-too-high",
    "A text of block_size + 1 tokens is refused: it holds exactly one block with its targets.",
)
def limit_one_too_high(data, block_size, batch_size, generator=None):
    def longer(data, block_size):
        if len(data) <= block_size + 1:
            raise ValueError(f"{len(data)} tokens are too few for blocks of {block_size}, or {block_size + 1}")

    return right(data, block_size, batch_size, generator, refuse=longer)


@misconception(
    "message-without-numbers",
    "The `ValueError` for a short text does not hold both numbers: how many tokens came, and how many a block has.",
)
def message_without_numbers(data, block_size, batch_size, generator=None):
    def silent(data, block_size):
        if len(data) <= block_size:
            raise ValueError("the text is too short")

    return right(data, block_size, batch_size, generator, refuse=silent)


@misconception(
    "assert-for-valueerror",
    "A short text stops at an `assert`, which raises an AssertionError: raise a `ValueError`.",
)
def assert_for_valueerror(data, block_size, batch_size, generator=None):
    def assertion(data, block_size):
        assert len(data) > block_size, f"{len(data)} tokens for blocks of {block_size}"

    return right(data, block_size, batch_size, generator, refuse=assertion)


@misconception("text-changed", "The text that was given is changed: make new tensors, and leave `data` as it is.")
def text_changed(data, block_size, batch_size, generator=None):
    x, y = right(data, block_size, batch_size, generator)

    data[0] = data[0] + 1
    return x, y
