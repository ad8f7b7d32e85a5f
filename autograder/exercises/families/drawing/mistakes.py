"""Mistakes in drawing from a `generator` that may be None, and in cutting blocks out of a text.

Places: `START` is the first statement, `HANDED` is the argument that passes the generator to `{DRAW}`. In blocks of a
text, `TARGETS` are the tokens that follow those of the inputs, and `PAIR` is inputs and targets together.
"""

from ....mistakes.bank import shared
from ..wordings import says

SHARED = {
    "generator-ignored": shared(
        says("generator-ignored"),
        HANDED="",
    ),
    "seed-of-its-own": shared(
        "It seeds torch itself, so the same {THESE} whoever asks: seeds are the caller's affair.",
        START="torch.manual_seed(1337)\n    {START}",
        HANDED="",
    ),
    "seeded-as-well": shared(
        "It seeds torch itself as well, so without a generator the same {THESE} each time: seeds are the caller's"
        " affair.",
        START="torch.manual_seed(1337)\n    {START}",
    ),
    "seeded-afresh": shared(
        "Without a generator it makes one of a seed of its own, so that nobody can repeat what was drawn: pass `None`"
        " on instead, then torch's own is drawn from.",
        START="if generator is None:\n        generator = torch.Generator()\n        generator.seed()\n    {START}",
    ),
    "fixed-without-generator": shared(
        "Without a generator it makes one of a fixed seed, so that the same {THESE} each time: pass `None` on instead.",
        START="if generator is None:\n        generator = torch.Generator().manual_seed(1337)\n    {START}",
    ),
}

BLOCKS = {
    "targets-not-shifted": shared(
        "The targets are the inputs themselves, so that a model only learns to copy: they come one token later.",
        TARGETS="data[places]",
    ),
    "shifted-twice": shared(
        "The targets are two tokens ahead of the inputs: it should be one.",
        TARGETS="data.roll(-2)[places]",
    ),
    "targets-behind": shared(
        "The targets are the tokens before the inputs, or the two have changed places: the model should learn what"
        " comes next.",
        PAIR="data[places + 1], data[places]",
    ),
}
