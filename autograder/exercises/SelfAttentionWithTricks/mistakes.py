"""What goes wrong in `SelfAttentionWithTricks(k, heads=8)`, as edits of the course's own answer."""

import textwrap

from ...mistakes.bank import Bank
from ..families import roles
from ..families.attention import mistakes as attention
from ..families.many_heads import mistakes as family

BANK = Bank(
    "SelfAttentionWithTricks",
    places=family.PLACES_OF_WIDE_HEADS
    | {
        "CHECK": "b, t, k = x.size()",  # which refuses other ranks
        "CUT": """keys = keys.transpose(1, 2).contiguous().view(b * h, t, k)        # (b*h, t, k)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, k)  # (b*h, t, k)
        values = values.transpose(1, 2).contiguous().view(b * h, t, k) """,
    },
    words=family.WORDS_OF_WIDE_HEADS
    | {
        "NUMBER_OF_HEADS": "heads",
        "SCORES": "weights",
        "UNCHECKED": "x = x if x.dim() < 4 else x.flatten(0, 1)\n        {CHECK}",
    },
)
mistake = BANK.mistake
START_OF_CLASS, FORWARD = BANK.right.split("    def forward")

# --- the original and its defects -----------------------------------------------------------------

BANK.released(
    "original-002",
    "This is the class as it was given. Its parameter is spelt `neads`, so that `nheads` is not defined"
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
mistake(
    "name-mended-in-one-place",
    "The parameter is called `heads` by now, and the next line still says `nheads`, which is not defined (NameError):"
    " use one name.",
    {"self.k, self.heads = k, heads": "self.k, self.heads = k, nheads"},
    original="002",
)
mistake(
    "neads-beside-heads",
    "The parameter is called `neads`, and the layers are made with `heads`, which is not defined (NameError): the"
    " parameter should be `heads`.",
    {"heads=8": "neads=8", "self.k, self.heads = k, heads": "self.k, self.heads = k, neads"},
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

BANK.share(family.WIDE | attention.HEADS | attention.NO_BIASES)
BANK.share(family.WIDE_WRITTEN_OUT)
BANK.share(roles.of(BANK))
