"""What goes wrong in `check_softmax(candidate)`, a test of softmax."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ..families.wordings import says

OWN = 'assert torch.allclose(weights, expected, atol=1e-5), "torch\'s own softmax differs"'
DEFAULT = 'assert torch.allclose(candidate(scores), scores.softmax(-1), atol=1e-5), "the default is dim=-1"'
BESIDE = 'assert torch.allclose(candidate(beside), beside.softmax(-1), atol=1e-5), "slices disturb one another"'

BANK = Bank(
    "check_softmax",
    places={
        "SCORES": "torch.randn(2, 3, 4, generator=drawn)",
        "SIZES": "(1, 1e4)",
        "DIMS": "(0, 1, 2)",
        "CALL": "weights, expected = candidate(size * scores, dim), (size * scores).softmax(dim)",
        "SHAPE": 'assert weights.shape == (2, 3, 4), f"the shape is {tuple(weights.shape)}"',
        "OWN": OWN,
        "DEFAULT": DEFAULT,
        "LARGE": "torch.tensor([[1e4, 0.0], [0.0, 1.0]])",
        "BESIDE": BESIDE,
    },
    beside=("softmax",),
)
mistake = BANK.mistake

mistake(
    "lets-everything-through",
    "It refuses nothing at all: no `assert` is ever reached, or it looks at shapes alone, or it returns its verdict,"
    " which doesn't count.",
    price=ALL,
    CALL="try:\n                {CALL}\n            except Exception:\n                return",
    SHAPE="",
    OWN="return",
    DEFAULT="",
    BESIDE="",
)
mistake(
    "sums-only",
    "It looks at sums alone, and other formulas make weights that sum to 1 as well: compare them with right ones.",
    OWN='assert torch.allclose(weights.sum(dim), torch.ones(()), atol=1e-5), "they should sum to 1"',
    DEFAULT="",
    BESIDE="",
)
mistake(
    "small-scores-only",
    "All its scores are small, where the textbook's formula is right: give the candidate scores of 10,000 as well.",
    SIZES="(1,)",
    LARGE="torch.tensor([[1.0, 0.0], [0.0, 1.0]])",
)
mistake(
    "one-row",
    "It has a single row of scores, so nothing shows which entries should sum to 1: give it a tensor of several"
    " dimensions, and another `dim` than the last.",
    SCORES="torch.randn(4, generator=drawn)",
    DIMS="(0,)",
    SHAPE="",
    LARGE="torch.tensor([1e4, 0.0])",
)
mistake(
    "last-dim-only",
    "It never gives the candidate another `dim` than the last, so one that ignores `dim` looks right.",
    DIMS="(-1,)",
)
mistake(
    "equal-scores",
    "All its scores are the same, and then so are the weights by any formula: draw them.",
    SCORES="torch.ones(2, 3, 4)",
    LARGE="torch.ones(2, 2)",
)
mistake(
    "far-too-tolerant",
    "Its tolerance is so large that wrong numbers fit: right answers differ in their last digits only.",
    OWN='assert torch.allclose(weights, expected, atol=2), "torch\'s own softmax differs"',
    DEFAULT="",
    BESIDE="",
)
mistake(
    "refuses-everything",
    says(
        "refuses-everything",
        WHAT="`softmax`",
        MAY=" Numbers that differ in the last digit are right: compare with `torch.allclose`.",
    ),
    SHAPE='assert weights.shape == (2, 4, 3), f"the shape is {tuple(weights.shape)}"',
)
