"""What goes wrong in `get_batch(data, block_size, batch_size, generator=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import has
from ..families.drawing import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "get_batch",
    places={
        "START": "possible = len(data) - block_size",
        "REFUSE": """if possible < 1:
        raise ValueError(f"a text of {len(data)} tokens is too short: block_size = {block_size} needs one token more")
    """,
        "MANY": "torch.randint(possible,",
        "STARTS": "torch.randint(possible, (batch_size,), generator=generator)",
        "HANDED": ", generator=generator",
        "PLACES": "starts[:, None] + torch.arange(block_size)",
        "PAIR": "data[places], data[places + 1]",
        "INPUTS": "data[places]",
        "TARGETS": "data[places + 1]",
    },
    words={"DRAW": "torch.randint", "THESE": "batch comes"},
)
mistake = BANK.mistake

# --- inputs and targets ---------------------------------------------------------------------------

BANK.share(family.BLOCKS)
mistake(
    "targets-turned-round",
    "Within each row the targets are only moved round: the last target is the token after the block.",
    TARGETS="data[places].roll(-1, dims=1)",
)
mistake(
    "last-target-alone",
    "There is one target for each block: every position of it has one, the token after it.",
    TARGETS="data[starts + block_size]",
)
mistake(
    "one-token-less",
    "The blocks are one token too short: inputs and targets both have `block_size` tokens.",
    PLACES="starts[:, None] + torch.arange(block_size - 1)",
)
mistake(
    "one-token-more",
    "The inputs are `block_size` + 1 tokens long: the last of them is a target only.",
    INPUTS="data[starts[:, None] + torch.arange(block_size + 1)]",
)
mistake(
    "sizes-swapped",
    "`block_size` and `batch_size` are swapped: rows are blocks, (batch_size, block_size).",
    {"block_size, batch_size, generator=None": "batch_size, block_size, generator=None"},
)
mistake(
    "turned",
    says("turned", WHAT="batch", TURNED="(t, b)", ROWS="blocks, (b, t)"),
    PAIR="data[places].T, data[places + 1].T",
)
mistake(
    "flat",
    "The batch is one long row of tokens: it should have the shape (b, t).",
    PAIR="data[places].flatten(), data[places + 1].flatten()",
)
mistake(
    "inputs-alone",
    "Only the inputs come back: return the pair of inputs and targets.",
    PAIR="data[places]",
)
mistake(
    "in-one-tensor",
    "Inputs and targets come in one tensor: return the pair, each of shape (b, t).",
    PAIR="torch.stack([data[places], data[places + 1]])",
)
mistake(
    "numbers-not-whole",
    says("numbers-not-whole"),
    PAIR="data[places].float(), data[places + 1].float()",
)
mistake(
    "other-whole-numbers",
    says("other-whole-numbers"),
    PAIR="data[places].int(), data[places + 1].int()",
)
mistake(
    "not-stacked",
    "Inputs and targets come as lists of blocks: put them together with `torch.stack`, (b, t).",
    PAIR="[data[s : s + block_size] for s in starts], [data[s + 1 : s + 1 + block_size] for s in starts]",
)
mistake(
    "device-from-outside",
    says("device-from-outside", WHAT="the text"),
    {"return {PAIR}": "x, y = {PAIR}\n    x, y = x.to(device), y.to(device)\n    return x, y"},
    original="003",
)
mistake(
    "gaps",
    "The tokens of a row are drawn one by one or with gaps: a block is `block_size` consecutive tokens.",
    STARTS="torch.randint(len(data) - 1, (batch_size, block_size), generator=generator)",
    PLACES="starts.sort(dim=1).values",
)

# --- where blocks start ---------------------------------------------------------------------------

mistake(
    "last-start-missing",
    "The last start is never drawn: there are len(data) - block_size of them, and `torch.randint` leaves out its upper"
    " end already.",
    MANY="torch.randint(max(1, possible - 1),",
)
mistake(
    "last-start-missing-crash",
    "The last start is never drawn, so a text of block_size + 1 tokens has none and is an error: there are"
    " len(data) - block_size starts.",
    MANY="torch.randint(possible - 1,",
)
mistake(
    "first-start-missing",
    "The text's first token never starts a block: starts are counted from 0.",
    MANY="torch.randint(min(1, possible - 1), possible,",
)
mistake(
    "past-the-end",
    "Blocks are drawn from starts so late that they run past the end: the last start is len(data) - block_size - 1.",
    MANY="torch.randint(len(data),",
)
mistake(
    "targets-past-the-end",
    "From the last start drawn, the targets run past the end by one: they need a token more than the inputs.",
    MANY="torch.randint(possible + 1,",
)
mistake(
    "wrapped-round",
    "Blocks run over the end of the text and go on at its beginning: such a block stands nowhere in the text.",
    MANY="torch.randint(len(data),",
    PLACES="({PLACES}) % len(data)",
    TARGETS="data[(places + 1) % len(data)]",
)
mistake(
    "whole-blocks-only",
    "Blocks start at multiples of `block_size` only: every token but the last few may start one.",
    STARTS="torch.randint((possible - 1) // block_size + 1, (batch_size,), generator=generator) * block_size",
)
mistake(
    "part-of-the-text",
    "Only the first nine tenths of the text are drawn from: splitting off validation data is the caller's affair.",
    MANY="torch.randint(max(1, int(0.9 * len(data)) - block_size),",
)
mistake(
    "always-the-beginning",
    says("always-the-beginning"),
    price=ALL,
    STARTS="torch.arange(batch_size) % possible",
)
mistake(
    "one-start-for-all",
    "One start serves the whole batch, so all rows are the same: draw one for each row.",
    STARTS="torch.randint(possible, (1,), generator=generator).expand(batch_size)",
)
mistake(
    "neighbouring-starts",
    "One start is drawn, and the rows follow from it one after the other: draw one for each row.",
    STARTS="(torch.randint(possible, (1,), generator=generator) + torch.arange(batch_size)) % possible",
)
mistake(
    "without-replacement",
    "No start comes twice in a batch, as in a permutation: draw each one independently, with `torch.randint`.",
    STARTS="""torch.cat(
        [torch.randperm(possible, generator=generator) for _ in range(0, batch_size, possible)]
    )[:batch_size]""",
)
mistake(
    "permutation",
    "The starts are the beginning of a permutation (`torch.randperm`), so none comes twice and a large batch comes out"
    " too small: draw each one independently, with `torch.randint`.",
    STARTS="torch.randperm(possible, generator=generator)[:batch_size]",
)
mistake(
    "starts-in-a-byte",
    "The starts are kept in a byte (uint8), so that none lies beyond 255: leave them int64, as `torch.randint` gives"
    " them.",
    STARTS="{STARTS}.to(torch.uint8).long()",
    sign=has("uint8", "byte"),
)
mistake(
    "starts-too-coarse",
    "Starts are made from random numbers of half precision, which hit few places of a long text: draw whole numbers,"
    " with `torch.randint`.",
    STARTS="(torch.rand(batch_size, generator=generator).half().double() * possible).long().clamp(max=possible - 1)",
)
mistake(
    "one-stretch",
    "One start is drawn, and the rows are the blocks that follow from it: draw a start for each row.",
    STARTS="(torch.randint(possible, (1,), generator=generator) + torch.arange(batch_size) * block_size) % possible",
)
mistake(
    "starts-sorted",
    "The starts are sorted, so that rows hang together: leave them in the order in which they were drawn.",
    STARTS="{STARTS}.sort().values",
)
mistake(
    "more-in-the-middle",
    "Starts in the middle are likelier than others: draw them uniformly, with `torch.randint`.",
    STARTS="(torch.rand(2, batch_size, generator=generator).mean(dim=0) * possible).long()",
)
mistake(
    "rounded-starts",
    "Numbers between 0 and 1 are scaled and rounded, so the first and the last start come half as often: round down.",
    STARTS="(torch.rand(batch_size, generator=generator) * (possible - 1)).round().long()",
)

# --- the generator --------------------------------------------------------------------------------

BANK.share(family.SHARED)
mistake(
    "chance-of-python",
    "The starts come from Python's `random` or from NumPy, which know nothing of `generator`: use `torch.randint`.",
    {"def get_batch(": "import random\n\n\ndef get_batch("},
    STARTS="torch.tensor([random.randrange(possible) for _ in range(batch_size)])",
)
mistake(
    "seeded-from-generator",
    "Torch's own generator is seeded from the one that is given: draw from the given one, and leave torch's alone.",
    START="if generator is not None:\n        torch.manual_seed(generator.initial_seed())\n    {START}",
    HANDED="",
)

# --- texts that are too short, and what is left behind --------------------------------------------

mistake(
    "too-short-not-refused",
    "Nothing refuses a text that is too short, and torch's own error says little: raise a `ValueError` with both"
    " numbers.",
    REFUSE="",
)
mistake(
    "limit-one-too-low",
    "A text of exactly `block_size` tokens gets past the check: its last token has no target, so refuse it too.",
    {"if possible < 1:": "if possible < 0:"},
)
mistake(
    "limit-one-too-high",
    "A text of block_size + 1 tokens is refused: it holds exactly one block with its targets.",
    {"if possible < 1:": "if possible < 2:"},
)
mistake(
    "message-without-numbers",
    says("message-without-numbers", WHAT="a short text", BOTH="how many tokens came, and how many a block has"),
    REFUSE='if possible < 1:\n        raise ValueError("the text is too short")\n    ',
)
mistake(
    "assert-for-valueerror",
    says("assert-for-valueerror", WHAT="A short text"),
    REFUSE='assert possible > 0, f"{len(data)} tokens for blocks of {block_size}"\n    ',
)
mistake(
    "text-changed",
    "The text that was given is changed: make new tensors, and leave `data` as it is.",
    {"return {PAIR}": "x, y = {PAIR}\n    data[0] += 1\n    return x, y"},
)
