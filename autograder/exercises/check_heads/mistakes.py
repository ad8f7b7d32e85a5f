"""What goes wrong in `check_heads(candidate)`, a test of MultiHeadAttention."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import compares_numbers, lacks, makes_zeros
from ..families.wordings import says

BANK = Bank(
    "check_heads",
    places={
        "X": "torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))",
        "LAYER": "candidate(6, 8, 5, 0.0, 2)",
        "CUT": "(2, 4)",
        "EXPECTED": "expected, output = layer.out_proj(found), layer(x)",
        "SHAPE": 'assert output.shape == (2, 5, 8), f"the shape is {tuple(output.shape)}"',
        "OWN": 'assert torch.allclose(output, expected, atol=1e-4), "torch\'s own function differs"',
    },
    beside=("MultiHeadAttention",),
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
    says("zero-input", WHAT="The input is"),
    X="torch.zeros(2, 5, 6)",
    sign=makes_zeros,
)
mistake(
    "future-only",
    says("future-only"),
    OWN="later = layer(torch.cat([x[:, :4], -x[:, 4:]], dim=1))\n"
    '    assert torch.allclose(later[:, :4], output[:, :4], atol=1e-5), "the past changes"',
)
mistake(
    "one-head-tried",
    "It builds one head, where nothing can be cut or merged wrongly: try several.",
    LAYER="candidate(6, 8, 5, 0.0, 1)",
    CUT="(1, 8)",
)
mistake(
    "heads-one-wide",
    "Its heads are one wide, where features can't be mixed, and a scale that is missing doesn't show: make them wider.",
    LAYER="candidate(6, 8, 5, 0.0, 8)",
    CUT="(8, 1)",
)
mistake(
    "one-token",
    says("one-token"),
    X="torch.randn(2, 1, 6, generator=torch.Generator().manual_seed(0))",
    SHAPE="",
)
mistake(
    "all-features-alike",
    "All weights of a layer are the same, so heads can be cut in any way: leave them as they are drawn.",
    LAYER="candidate(6, 8, 5, 0.0, 2)\n    for number, parameter in enumerate(layer.parameters()):\n"
    "        parameter.data.fill_(0.1 * number)",
)
mistake(
    "refuses-everything",
    says("refuses-everything", WHAT="class", MAY=" It may compare to the last digit, or leave a dropout on."),
    SHAPE='assert output.shape == (2, 8, 5), f"the shape is {tuple(output.shape)}"',
)
