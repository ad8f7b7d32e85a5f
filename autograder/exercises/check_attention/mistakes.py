"""What goes wrong in `check_attention(candidate)`, a test of attention."""

from ...mistakes.bank import Bank
from ...mistakes.prices import ALL
from ...mistakes.signs import compares_numbers, lacks, makes_zeros
from ..families.wordings import says

BANK = Bank(
    "check_attention",
    places={
        "SEED": "generator = torch.Generator().manual_seed(0)",
        "QUERY": "torch.randn(2, 3, 7, generator=generator)",
        "KEY": "torch.randn(2, 5, 7, generator=generator)",
        "VALUE": "torch.randn(2, 5, 6, generator=generator)",
        "MASKS": "(None, some)",
        "CALL": "output, weights = candidate(query, key, value, mask)",
        "OUTPUT_SHAPE": 'assert output.shape == (2, 3, 6), f"the output has shape {tuple(output.shape)}"',
        "WEIGHTS_SHAPE": 'assert weights.shape == (2, 3, 5), f"the weights have shape {tuple(weights.shape)}"',
        "OUTPUT": """assert torch.allclose(output, expected, atol=1e-4), "torch's own function differs\"""",
        "WEIGHTS": """assert torch.allclose(weights @ value, expected, atol=1e-4), "the weights don't fit\"""",
    },
    beside=("attention",),
)
mistake = BANK.mistake

# --- what decides nothing -------------------------------------------------------------------------

mistake(
    "verdict-returned",
    "What it returns doesn't count, and it never raises: write `assert …`, which raises an AssertionError where that is"
    " not true.",
    price=ALL,
    OUTPUT_SHAPE="right = output.shape == (2, 3, 6)",
    WEIGHTS_SHAPE="right = right and weights.shape == (2, 3, 5)",
    OUTPUT="right = right and torch.allclose(output, expected, atol=1e-4)",
    WEIGHTS="return right",
    MASKS="(some,)",
)
mistake(
    "shapes-only",
    says("shapes-only"),
    sign=lacks(compares_numbers),
    OUTPUT="",
    WEIGHTS="",
)
mistake(
    "row-sums-only",
    "It looks at the sums of rows alone: with a wrong scale, or without the mask, they are 1 as well. Compare the"
    " output with that of a right answer.",
    OUTPUT='assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 3), atol=1e-4), "rows should sum to 1"',
    WEIGHTS="",
)
mistake(
    "lets-everything-through",
    "It refuses nothing at all, as no `assert` is ever reached, or what it raises is caught again.",
    price=ALL,
    CALL="try:\n            {CALL}\n            assert output.shape[-1] == 6\n"
    "        except Exception:\n            return",
    OUTPUT_SHAPE="try:\n            assert torch.allclose(output, expected, atol=1e-4)",
    WEIGHTS_SHAPE="except Exception:\n            return",
    OUTPUT="",
    WEIGHTS="",
)

# --- inputs that show little ----------------------------------------------------------------------

mistake(
    "never-with-a-mask",
    says("never-with-a-mask"),
    MASKS="(None,)",
)
mistake(
    "mask-hides-nothing",
    "Its mask hides no key, so a candidate that ignores masks gives the right answer: let some entries be False.",
    {"some[:, :, 0] = True": "some[:] = True"},
)
mistake(
    "one-tensor-for-all",
    "One tensor serves as query, key and value, so no change of places shows: draw three, with different sizes.",
    QUERY="torch.randn(2, 5, 6, generator=generator)",
    KEY="query",
    VALUE="query",
    OUTPUT_SHAPE="",
    WEIGHTS_SHAPE="",
    MASKS="(None, torch.ones(5, 5, dtype=torch.bool).tril())",
)
mistake(
    "never-a-batch",
    "It has no batch, and without one `dim=1` is the dimension of the keys: the published mistake is right there. Give"
    " the tensors a leading dimension.",
    QUERY="torch.randn(3, 7, generator=generator)",
    KEY="torch.randn(5, 7, generator=generator)",
    VALUE="torch.randn(5, 6, generator=generator)",
    OUTPUT_SHAPE="",
    WEIGHTS_SHAPE="",
    MASKS="(None, some[0])",
)
mistake(
    "one-wide",
    says("one-wide"),
    QUERY="torch.randn(2, 3, 1, generator=generator)",
    KEY="torch.randn(2, 5, 1, generator=generator)",
)
mistake(
    "one-key",
    says("one-key"),
    KEY="torch.randn(2, 1, 7, generator=generator)",
    VALUE="torch.randn(2, 1, 6, generator=generator)",
    WEIGHTS_SHAPE="",
    MASKS="(None, torch.ones(2, 3, 1, dtype=torch.bool))",
)
mistake(
    "zeros",
    "All queries are 0, and then all scores: neither a scale nor an order of query and key shows. Draw them.",
    QUERY="torch.zeros(2, 3, 7)",
    sign=makes_zeros,
)

# --- what is looked at ----------------------------------------------------------------------------

mistake(
    "far-too-tolerant",
    "Its tolerance is so large that wrong numbers fit: right answers differ in their last digits only.",
    OUTPUT='assert torch.allclose(output, expected, atol=10), "the output is far off"',
    WEIGHTS="",
)

# --- what refuses right answers -------------------------------------------------------------------

mistake(
    "equal-to-the-bit",
    "It asks for equality to the last digit, and right answers round in different ways: use `torch.allclose`, with an"
    " `atol` of 1e-5 or so for numbers near 0.",
    OUTPUT='assert torch.equal(output, expected), "torch\'s own function differs"',
)
mistake(
    "refuses-everything",
    says("refuses-everything", WHAT="`attention`", MAY=""),
    WEIGHTS_SHAPE='assert weights.shape == (2, 5, 3), f"the weights have shape {tuple(weights.shape)}"',
)
