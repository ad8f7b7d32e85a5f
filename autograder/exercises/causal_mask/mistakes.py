"""What goes wrong in `causal_mask(t, device=None)`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families import forms
from ..families.wordings import says

BANK = Bank(
    "causal_mask",
    places={
        "EVERYTHING": "everything = torch.ones(t, t, dtype=torch.bool, device=device)",
        "TRIANGLE": "torch.tril(everything)",
    },
    seen_on_a_gpu="inverted",
)
mistake = BANK.mistake

mistake(
    "diagonal-missing",
    "The diagonal is False, so a token may not attend to itself, and the first one has nothing at all: keep the"
    " diagonal.",
    TRIANGLE="torch.tril(everything, -1)",
)
mistake(
    "one-step-ahead",
    says("one-step-ahead"),
    TRIANGLE="torch.tril(everything, 1)",
)
mistake(
    "upside-down",
    says("upside-down"),
    TRIANGLE="torch.triu(everything)",
    original="004",
)
mistake(
    "inverted",
    says("inverted", WHAT="the future is, as in many buffers", MEANS="may attend"),
    TRIANGLE="torch.triu(everything, 1)",
    original="004",
)
mistake(
    "nothing-hidden",
    "Everything is True, so nothing is hidden: keep the lower triangle only.",
    price=ALL,
    TRIANGLE="everything",
)
mistake(
    "numbers-not-boolean",
    says("numbers-not-boolean"),
    {"dtype=torch.bool, ": ""},
    original="003",
)
mistake(
    "minus-infinity-inside",
    "The mask holds 0 and a number far below it, such as -inf, to be added to scores: here it says who may attend,"
    " True or False.",
    TRIANGLE='torch.zeros(t, t, device=device).masked_fill(~{TRIANGLE}, float("-inf"))',
)
mistake(
    "always-eight",
    says("always-eight"),
    {"torch.ones(t, t,": "torch.ones(8, 8,"},
    original="003",
    price=ALL,
)
mistake(
    "leading-dimension",
    says("leading-dimension", SHAPE="(t, t)"),
    TRIANGLE="{TRIANGLE}[None]",
)
mistake(
    "device-ignored",
    "`device` plays no part, so the mask is always on the CPU: pass it on to what makes the tensor.",
    {", device=device": ""},
)
mistake(
    "half-on-the-device",
    "Two tensors are compared of which only one is made on `device`: make both there.",
    EVERYTHING="keys = torch.arange(t, device=device)",
    TRIANGLE="torch.arange(t)[:, None] >= keys",
)

# --- what students of other courses wrote ---------------------------------------------------------

mistake(
    "size-from-a-global",
    "The size is taken from a global `block_size`, which is not there: the parameter is `t`.",
    {"torch.ones(t, t,": "torch.ones(block_size, block_size,"},
)
mistake(
    "one-place-too-many",
    "The mask has one row and one column too many: for t tokens it is (t, t).",
    {"torch.ones(t, t,": "torch.ones(t + 1, t + 1,"},
)
mistake(
    "one-row-only",
    "The triangle is cut out of a single row, which has no second dimension: begin with a matrix of ones, (t, t).",
    {"torch.ones(t, t,": "torch.ones(t,"},
)
mistake(
    "itself-alone",
    "Each token may attend to itself alone: the past is to be seen as well.",
    price=ALL,
    TRIANGLE="torch.eye(t, dtype=torch.bool, device=device)",
)
mistake(
    "two-leading-dimensions",
    "The mask has two dimensions too many, as if for a batch and heads: its shape should be (t, t), which broadcasts.",
    TRIANGLE="{TRIANGLE}[None, None]",
)
mistake("returns-nothing", says("returns-nothing", WHAT="the mask"), {"return ": ""}, price=ALL)
mistake(
    "list-of-lists",
    says("list-of-lists", WHAT="mask"),
    TRIANGLE="{TRIANGLE}.tolist() if device is None else {TRIANGLE}",
)
for dtype in ("uint8", "int64"):
    mistake(f"{dtype}-not-boolean", BANK["numbers-not-boolean"].says, {"dtype=torch.bool": f"dtype=torch.{dtype}"})
forms.add_to_mask(BANK)
