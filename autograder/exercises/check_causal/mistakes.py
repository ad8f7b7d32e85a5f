"""What goes wrong in `check_causal(candidate)`, a test of CausalAttention."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import compares_numbers, lacks, makes_zeros
from ..families.wordings import says

BANK = Bank(
    "check_causal",
    places={
        "X": "torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))",
        "LAYER": "candidate(6, 4, 5, 0.0)",
        "LAYERS": "layer.W_query(x), layer.W_key(x), layer.W_value(x)",
        "PAST": "torch.ones(5, 5, dtype=torch.bool).tril()",
        "PADDINGS": "(None, real)",
        "CALL": "output = layer(x, padding)",
        "SHAPE": 'assert output.shape == (2, 5, 4), f"the shape is {tuple(output.shape)}"',
        "OWN": 'assert torch.allclose(output, expected, atol=1e-4), "torch\'s own function differs"',
    },
    beside=("attention", "causal_mask", "CausalAttention"),
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
    OWN="later = torch.cat([x[:, :4], -x[:, 4:]], dim=1)\n"
    '        assert torch.allclose(layer(later, padding)[:, :4], output[:, :4], atol=1e-5), "the past changes"',
)
mistake(
    "never-with-padding",
    "It never gives the candidate a padding mask, so it can't see what a candidate makes of one.",
    PADDINGS="(None,)",
)
mistake(
    "as-wide-as-the-input",
    "Input and output are equally wide, so a scale by the width of the input, as it was published, looks right: let"
    " `d_out` be another number than `d_in`.",
    LAYER="candidate(6, 6, 5, 0.0)",
    SHAPE="",
)
mistake(
    "one-wide",
    says("one-wide"),
    LAYER="candidate(6, 1, 5, 0.0)",
    SHAPE="",
)
mistake(
    "one-token",
    says("one-token"),
    X="torch.randn(2, 1, 6, generator=torch.Generator().manual_seed(0))",
    PAST="torch.ones(1, 1, dtype=torch.bool)",
    SHAPE="",
    PADDINGS="(None,)",
)
mistake(
    "one-matrix-for-all",
    "All weights of the three layers are the same, so no exchange of layers shows: leave them as they are drawn.",
    LAYER="candidate(6, 4, 5, 0.0)\n    for parameter in layer.parameters():\n"
    "        parameter.data = torch.full((4, 6), 0.5).tril()",
)
mistake(
    "refuses-everything",
    says("refuses-everything", WHAT="class", MAY=" It may compare to the last digit, or leave a dropout on."),
    SHAPE='assert output.shape == (2, 4, 5), f"the shape is {tuple(output.shape)}"',
)
