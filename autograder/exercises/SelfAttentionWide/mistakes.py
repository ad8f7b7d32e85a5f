"""What goes wrong in `SelfAttentionWide(k, n_heads=8)`, as edits of the course's own answer.

The untouched original stops where the class is defined (`nn.module`), so there is nothing to grade: its AttributeError
is the feedback, and tests/exercises/test_many_heads.py tests that. The defects that appear as each crash is mended are
here.
"""

import textwrap

from ...mistakes.bank import Bank
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family

BANK = Bank(
    "SelfAttentionWide",
    places=family.PLACES_OF_WIDE_HEADS
    | {
        "CHECK": """if x.dim() != 3:
            raise ValueError(f"expected a batch of shape (b, t, k), got {tuple(x.shape)}")""",
        "CUT": """queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)
        keys = keys.transpose(1, 2).contiguous().view(b * h, t, k)
        values = values.transpose(1, 2).contiguous().view(b * h, t, k)""",
    },
    words=family.WORDS_OF_WIDE_HEADS | {"NUMBER_OF_HEADS": "n_heads"},
)
mistake = BANK.mistake
START_OF_CLASS, FORWARD = BANK.right.split("    def forward")

# --- the original's defects -----------------------------------------------------------------------

BANK.rewritten(
    "forward-inside-init",
    "`forward` stands inside `__init__`, so it is a local function there and the module has none (NotImplementedError):"
    " move it out to the level of `__init__`.",
    START_OF_CLASS + textwrap.indent("    def forward" + FORWARD, "    "),
    original="000",
)
mistake(
    "crashes-mended",
    "These are the values of the published class with its crashes fixed: keys and values are made from the folded"
    " queries, which mixes tokens with features. `tokeys` and `tovalues` have no part in the output.",
    {"keys = keys.transpose": "keys = queries.transpose", "values = values.transpose": "values = queries.transpose"},
    original="000",
)
mistake(
    "keys-and-values-from-queries",
    "These are the values you get when keys and values are both made from the queries: `tokeys` and `tovalues` have no"
    " part in the output.",
    KEYS="{QUERIES}",
    VALUES="{QUERIES}",
    original="000",
)
mistake(
    "folded-twice",
    "Keys and values are folded a second time: `transpose(1, 2)` of a tensor (b*h, t, k) swaps tokens and features, and"
    " `view` then mixes them.",
    {
        f"{z} = {z}.transpose": f"{z} = {z}.transpose(1, 2).contiguous().view(b * h, t, k).transpose"
        for z in ("keys", "values")
    },
    original="000",
)

mistake(
    "keys-mended-alone",
    "The keys are made from keys by now, and the values still from the folded queries: `tovalues` has no part in the"
    " output.",
    {"values = values.transpose": "values = queries.transpose"},
    original="000",
)
mistake(
    "values-mended-alone",
    "The values are made from values by now, and the keys still from the folded queries: `tokeys` has no part in the"
    " output.",
    {"keys = keys.transpose": "keys = queries.transpose"},
    original="000",
)

# --- others ---------------------------------------------------------------------------------------

BANK.share(family.WIDE | attention.HEADS | attention.NO_BIASES)
BANK.share(family.WIDE_WRITTEN_OUT)
BANK.share(roles.of(BANK))
