"""What goes wrong in `padding_mask(lengths, max_len=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "padding_mask",
    places={
        "RANK": """if lengths.dim() != 1:
        raise ValueError(f"expected lengths of shape (b,), got {tuple(lengths.shape)}")
    """,
        "NEGATIVE": """if shortest < 0:
        raise ValueError(f"a length can't be below 0, got {shortest}")
    """,
        "WIDTH": """if max_len is None:
        max_len = longest
    """,
        "TOO_LONG": """if longest > max_len:
        raise ValueError(f"a sequence of length {longest} does not fit into max_len = {max_len}")
    """,
        "MASK": "places[None, :] < lengths[:, None]",
    },
    seen_on_a_gpu="inverted",
)
mistake = BANK.mistake

mistake(
    "max-len-renamed",
    "The parameter is not called `max_len`, so a call with `max_len=…` is a TypeError: name it as it is asked for.",
    {"lengths, max_len=None):": "lengths, width=None):"},
    WIDTH="max_len = longest if width is None else width\n    ",
)

# --- the mask -------------------------------------------------------------------------------------

mistake(
    "inverted",
    says("inverted", WHAT="the padding is", MEANS="a real token"),
    MASK="places[None, :] >= lengths[:, None]",
)
mistake(
    "one-too-many",
    "One place too many is True in each row: places are counted from 0, so they are below the length and not equal to"
    " it.",
    MASK="places[None, :] <= lengths[:, None]",
)
mistake(
    "one-too-few",
    "One place too few is True in each row: places are counted from 0, and the last real one is the length minus 1.",
    MASK="places[None, :] < lengths[:, None] - 1",
)
mistake(
    "padding-at-the-start",
    "The real tokens stand at the end of each row: they come first, and the padding after them.",
    MASK="places.flip(0)[None, :] < lengths[:, None]",
)
mistake(
    "turned",
    says("turned", WHAT="mask", TURNED="(max_len, b)", ROWS="sequences, (b, max_len)"),
    MASK="places[:, None] < lengths[None, :]",
)
mistake(
    "dimension-too-many",
    "The mask has a dimension too many: its shape should be (b, max_len).",
    MASK="places[None, None, :] < lengths[:, None, None]",
)

# --- its width and dtype --------------------------------------------------------------------------

mistake(
    "max-len-ignored",
    "`max_len` plays no part: the mask is always as wide as the longest sequence, and no length is too long for it.",
    WIDTH="max_len = longest\n    ",
)
mistake(
    "max-len-not-optional",
    "It needs `max_len`: when that is None, the longest of the lengths is the width.",
    WIDTH="",
)
mistake(
    "zero-taken-for-none",
    "A `max_len` of 0 is taken for none at all (`max_len or ...`, `if not max_len`): compare with `is None`.",
    {"if max_len is None:": "if not max_len:"},
)
mistake(
    "batch-as-width",
    "The width is the number of sequences where it should be the longest length: `lengths.max()`, not `len(lengths)`.",
    {"max_len = longest\n": "max_len = len(lengths)\n"},
    TOO_LONG="",
)
mistake(
    "numbers-not-boolean",
    says("numbers-not-boolean"),
    MASK="({MASK}).float()",
)

# --- what is refused ------------------------------------------------------------------------------

mistake(
    "too-long-not-refused",
    "A length above `max_len` is accepted: raise a `ValueError` with both numbers, for such a sequence was cut short.",
    TOO_LONG="",
)
mistake(
    "message-without-numbers",
    says("message-without-numbers", WHAT="a length above `max_len`", BOTH="which length came, and what was the most"),
    {'f"a sequence of length {longest} does not fit into max_len = {max_len}"': '"a length is too large"'},
)
mistake(
    "assert-for-valueerror",
    says("assert-for-valueerror", WHAT="A length above `max_len` or below 0"),
    NEGATIVE="assert shortest >= 0\n    ",
    TOO_LONG="assert longest <= max_len\n    ",
)
mistake("negative-not-refused", "A length below 0 is accepted: raise a `ValueError`.", NEGATIVE="")
mistake(
    "zero-refused",
    "A length of 0 is refused: a sequence may be empty, and its row is all False.",
    {"if shortest < 0:": "if shortest <= 0:"},
)
mistake(
    "rank-not-checked",
    says("rank-not-checked", WHAT="`lengths` with no or with two dimensions", DIMS="`lengths.dim()`"),
    RANK="",
    MASK="places < lengths[..., None]",
)

# --- what students of other courses wrote ---------------------------------------------------------

mistake(
    "lengths-changed-in-place",
    "`lengths` is changed in place (`-=`, `sub_`, `clamp_`), and whoever gave it still needs it: make a new tensor.",
    MASK="places[None, :] <= lengths.sub_(1)[:, None]",
)
mistake(
    "lengths-sorted",
    "The lengths are sorted first, so that the rows belong to other sequences: leave them in their order.",
    MASK="places[None, :] < lengths.sort(descending=True).values[:, None]",
)
mistake(
    "width-of-the-first",
    "The width is the first of the lengths where it should be the longest: `lengths.max()`.",
    {"max_len = longest\n": "max_len = int(lengths[0])\n"},
    TOO_LONG="",
)
mistake(
    "one-place-too-wide",
    "Without `max_len` the mask is one place too wide: places are counted from 0, so the longest length is the width.",
    {"max_len = longest\n": "max_len = longest + 1\n"},
)
mistake(
    "lengths-in-int8",
    "The lengths are turned into a smaller dtype, in which large ones overflow: leave them as they are.",
    MASK="places[None, :] < lengths.to(torch.int8)[:, None]",
)
mistake(
    "lengths-compared-without-a-dimension",
    "The lengths are compared with the places side by side, which need as many: give them a second dimension,"
    " `lengths[:, None]`.",
    MASK="places < lengths",
)
mistake(
    "attention-mask-added",
    "The mask holds 0 and a number far below it, such as -inf, to be added to scores: here it says what is real,"
    " True or False.",
    MASK='torch.zeros(len(lengths), max_len).masked_fill(~({MASK}), float("-inf"))',
)
mistake(
    "full-length-refused",
    says("full-length-refused", WHAT="A length of exactly `max_len`"),
    {"if longest > max_len:": "if longest >= max_len:"},
)
mistake(
    "another-error",
    "What is refused raises a TypeError or another error: it should be a `ValueError`.",
    {
        'raise ValueError(f"expected': 'raise TypeError(f"expected',
        'raise ValueError(f"a length': 'raise TypeError(f"a length',
        'raise ValueError(f"a sequence': 'raise TypeError(f"a sequence',
    },
)
mistake(
    "returns-nothing",
    says("returns-nothing", WHAT="the mask"),
    {"return places": "places"},
    price=ALL,
)
mistake(
    "rank-asserted",
    says("rank-asserted", WHAT="A tensor `lengths` with no or with two dimensions"),
    RANK="assert lengths.dim() == 1\n    ",
)
for dtype in ("uint8", "int64"):
    mistake(f"{dtype}-not-boolean", BANK["numbers-not-boolean"].says, MASK=f"({{MASK}}).to(torch.{dtype})")
forms.add_to_mask(BANK, "attention-mask-added")
