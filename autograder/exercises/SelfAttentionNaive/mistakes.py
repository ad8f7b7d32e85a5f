"""What goes wrong in `SelfAttentionNaive()`, as edits of the course's own answer."""

from ...mistakes.bank import Bank
from ..families.attention import mistakes as attention
from ..families.parameter_free import mistakes as family
from ..families.wordings import says

BANK = Bank(
    "SelfAttentionNaive",
    places={
        "CHECK": "if inputs.dim() != 2:\n"
        '            raise ValueError(f"expected one sequence of shape (t, d), got {tuple(inputs.shape)}")',
        "PRODUCT": "inputs @ inputs.T",
        "SOFTMAX": "F.softmax(attention_scores, dim=1)",
        "MIX": "attention_weights @ inputs",
        "END": "attention_weights @ inputs",
        "RETURN": "return attention_weights @ inputs",
    },
    words=family.WORDS
    | {
        "X": "inputs",
        "SHAPE": "(t, d)",
        "SCORES": "attention_scores",
        "WEIGHTS": "attention_weights",
        "SCORE": "plain dot product",
        "INDENT": "        ",
        "RANK": "2",
    },
    seen_on_a_gpu="scaled-already",
)
mistake = BANK.mistake

BANK.released(
    "original-004",
    "This is the class as it was given: with `dim=0` the columns of the weights sum to 1 and not the rows,"
    " and nothing refuses a batch.",
    "004",
)
BANK.share(family.WEIGHTS, originals={"softmax-over-the-wrong-tokens": "004"})
BANK.share(family.UNSCALED)
BANK.share(family.AVERAGE, originals=family.ORIGINALS)
BANK.share(family.CARE, originals={"rank-not-checked": "004"})

# --- one sequence, and nothing to learn -----------------------------------------------------------

mistake(
    "batch-accepted",
    "A vector is refused, but a batch is not: only (t, d) is wanted here, so compare `dim()` with 2.",
    {"inputs.dim() != 2": "inputs.dim() < 2"},
    PRODUCT="inputs @ inputs.mT",
    SOFTMAX="F.softmax(attention_scores, dim=-1)",
)
LEFT_TO_TORCH = (
    "Nothing refuses a batch or a vector, they are left to torch, which stops with an error of its own: look at"
    " `inputs.dim()` and raise a `ValueError`."
)
mistake("rank-left-to-torch", LEFT_TO_TORCH, CHECK="")
mistake("rank-left-to-torch-with-minus-one", LEFT_TO_TORCH, CHECK="", SOFTMAX="F.softmax(attention_scores, dim=-1)")
mistake(
    "super-without-brackets",
    says("super-without-brackets"),
    {"def forward": "def __init__(self):\n        super.__init__()\n\n    def forward"},
)
mistake(
    "super-misspelt",
    "The constructor is called `__init__`, with two underscores on either side: `super().__init__()`. Here `__init__`"
    " may be left out as well.",
    {"def forward": "def __init__(self):\n        super().init()\n\n    def forward"},
)
mistake(
    "super-forgotten",
    says("super-forgotten"),
    {
        "def forward": "def __init__(self):\n        self.softmax = nn.Softmax(dim=-1)\n\n    def forward",
        "F.softmax(attention_scores, dim=1)": "self.softmax(attention_scores)",
    },
)
mistake(
    "layers-of-its-own",
    "The module has layers of its own: there is nothing to learn here, so it should have no parameters.",
    {
        "def forward": "def __init__(self):\n        super().__init__()\n"
        "        self.W_query = nn.Linear(6, 6, bias=False)\n\n    def forward"
    },
)
BANK.share(attention.CARE, "batch-added", edits={"batch-added": {"MIX": "({MIX}).unsqueeze(0)"}})
