"""What goes wrong in `check_cross(candidate)`, a test of CrossAttention."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import compares_numbers, lacks, makes_zeros
from ..families.wordings import says

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
    says("shapes-only"),
    sign=lacks(compares_numbers),
    OWN="",
)
mistake(
    "zero-input",
    says("zero-input", WHAT="The input and the context are"),
    X="torch.zeros(2, 3, 6)",
    CONTEXT="torch.zeros(2, 5, 7)",
    sign=makes_zeros,
)
mistake(
    "never-with-a-mask",
    says("never-with-a-mask"),
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
    says("one-wide"),
    LAYER="candidate(6, 7, 1)",
    SHAPE="",
)
mistake(
    "one-key",
    says("one-key"),
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
    says("refuses-everything", WHAT="class", MAY=" It may compare to the last digit, or ask for another shape."),
    SHAPE='assert output.shape == (2, 5, 4), f"the shape is {tuple(output.shape)}"',
)
