"""What goes wrong in `SelfAttentionWithTricks(k, heads=8)`, as edits of the course's own answer."""

import textwrap

from ...mistakes.bank import Bank
from ..families.many_heads import mistakes as family

LAYERS = """self.tokeys = nn.Linear(k, k * heads, bias=False)
        self.toqueries = nn.Linear(k, k * heads, bias=False)
        self.tovalues = nn.Linear(k, k * heads, bias=False)"""

BANK = Bank(
    "SelfAttentionWithTricks",
    places={
        "SUPER": "super().__init__()",
        "LAYERS": LAYERS,
        "OUT": "nn.Linear(heads * k, k",
        "START": "b, t, k = x.size()",
        "SIZES": "b, t, k = x.size()",
        "NUMBER": "h = self.heads",
        "QUERIES": "self.toqueries(x)",
        "KEYS": "self.tokeys(x)",
        "VALUES": "self.tovalues(x)",
        "CUT": """keys = keys.transpose(1, 2).contiguous().view(b * h, t, k)        # (b*h, t, k)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)  # (b*h, t, k)
        values = values.transpose(1, 2).contiguous().view(b * h, t, k) """,
        "SCALE": "queries = queries / (k ** (1 / 4))\n        keys = keys / (k ** (1 / 4))",
        "SOFTMAX": "F.softmax(weights, dim=2)",
        "MERGE": "out.transpose(1, 2).contiguous().view(b, t, h * k)",
        "END": "self.unifyheads(out)",
    },
    words=family.WORDS_OF_WIDE_HEADS
    | {
        "NUMBER_OF_HEADS": "heads",
        "BIASED": LAYERS.replace(", bias=False", ""),
        "NARROW_LAYERS": LAYERS.replace("k * heads", "k"),
        "SCORES": "weights",
        "ONE": "h, k = 1, k * self.heads",
        "SOFTMAX_OVER_HEADS": "F.softmax(weights.view(b, h, t, t), dim=1).view(b * h, t, t)",
    },
)
mistake = BANK.mistake
START_OF_CLASS, FORWARD = BANK.right.split("    def forward")

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-002",
    "This is notebook 002's class as it was given. Its parameter is spelt `neads`, so that `nheads` is not defined"
    " (NameError). Two more mistakes wait behind that one.",
    "002",
)
mistake(
    "heads-never-set",
    "The number of heads is stored as `self.nheads` and read as `self.heads`, which does not exist (AttributeError):"
    " use one name.",
    {"self.k, self.heads = k, heads": "self.k, self.nheads = k, heads"},
    original="002",
)
BANK.rewritten(
    "forward-outside-of-the-class",
    "`forward` is a function beside the class, so the module has none (NotImplementedError): indent it, so that it"
    " belongs to the class.",
    START_OF_CLASS + textwrap.dedent("    def forward" + FORWARD),
    original="002",
)
mistake(
    "neads",
    "The second parameter is still called `neads`: the exercise asks for `heads`.",
    {"heads=8": "neads=8", "self.k, self.heads = k, heads": "self.k, self.heads = k, heads = k, neads"},
    original="002",
)

# --- others ---------------------------------------------------------------------------------------

BANK.share(family.WIDE)
BANK.share(family.EVERYWHERE)
BANK.share(family.NEVER_BIASED)
