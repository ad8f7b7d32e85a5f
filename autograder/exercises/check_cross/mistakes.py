"""What goes wrong in `check_cross(candidate)`, a test of CrossAttention."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL

BANK = Bank(
    "check_cross",
    places={
        "X": "torch.randn(2, 3, 6, generator=generator)",
        "CONTEXT": "torch.randn(2, 5, 7, generator=generator)",
        "SOME": "torch.tensor([[True, False, True, True, False], [False, True, True, False, True]])",
        "LAYER": "candidate(6, 7, 4)",
        "MASKS": "(None, some)",
        "SHAPE": 'assert output.shape == (2, 3, 4), f"the shape is {tuple(output.shape)}"',
        "OWN": 'assert torch.allclose(output, expected, atol=1e-4), "torch\'s own function differs"',
    },
    beside=("attention", "CrossAttention"),
)
mistake = BANK.mistake

mistake(
    "lets-everything-through",
    "It refuses nothing at all, as no `assert` is ever reached, or what it raises is caught again.",
    price=ALL,
    LAYER="None\n    return",
    SHAPE="",
    OWN="",
)
mistake(
    "shapes-only",
    "It looks at the shape alone, which nearly all wrong answers have right, or its tolerance is so large that wrong"
    " numbers fit: compare numbers.",
    OWN="",
)
mistake(
    "never-with-a-mask",
    "It never gives the candidate a mask, so it can't see what a candidate makes of one.",
    MASKS="(None,)",
)
mistake(
    "context-is-x",
    "The context is x itself, so nothing shows which side anything comes from: draw two, with different sizes.",
    CONTEXT="x",
    LAYER="candidate(6, 6, 4)",
    MASKS="(None, some[:, :3])",
)
mistake(
    "one-wide",
    "With a width of 1 its root is 1, so a scale that is missing doesn't show: use a wider layer.",
    LAYER="candidate(6, 7, 1)",
    SHAPE="",
)
mistake(
    "one-key",
    "The context has one token, whose weight is 1 whatever the scores are: take several.",
    CONTEXT="torch.randn(2, 1, 7, generator=generator)",
    MASKS="(None,)",
)
mistake(
    "last-query-only",
    "It compares the last query alone, and a triangle hides little from that: compare all numbers.",
    OWN='assert torch.allclose(output[:, -1], expected[:, -1], atol=1e-4), "the last token is wrong"',
    CONTEXT="torch.randn(2, 3, 7, generator=generator)",
    MASKS="(None, some[:, :3])",
)
mistake(
    "refuses-everything",
    "It refuses everything, right answers as well: run it on your own class, and read what it raises. It may compare to"
    " the last digit, or ask for another shape.",
    SHAPE='assert output.shape == (2, 5, 4), f"the shape is {tuple(output.shape)}"',
)
