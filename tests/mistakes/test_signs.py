"""A name is given only where the student's code shows it, where other code gives the same values."""

import ast

import pytest

from autograder import course
from autograder.mistakes import signs
from autograder.mistakes.bank import bank
from autograder.mistakes.name_check import cells_for


def replaced(text, edits):
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


LENGTH = "sum(gradient.double().square().sum() for gradient in gradients if gradient is not None) ** 0.5"
X = "torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))"
# an exercise, an edit of its right answer, a name that would be false, and the true one, if there is one
FALSE = [
    (
        "softmax_kernel",
        {"tl.max(x, axis=0)": "tl.max(tl.where(inside, tl.abs(x), 0.0), axis=0)"},
        "zero-in-the-maximum",
        "largest-of-sizes",
    ),
    ("check_causal", {X: "torch.zeros(2, 5, 6)"}, "shapes-only", "zero-input"),
    ("check_heads", {X: "0 * torch.ones(2, 5, 6)"}, "shapes-only", "zero-input"),
    (
        "clip_gradients",
        {LENGTH: "torch.cat([g.double().flatten() for g in gradients if g is not None]).pow(2).mean().sqrt()"},
        "never-shortened",
        "root-of-the-mean",
    ),
    (
        "RMSNorm",
        {"wide.square().mean": "wide.abs().mean", "(mean + self.eps).sqrt()": "(mean + self.eps)"},
        "eps-outside-the-root",
        "mean-of-sizes",
    ),
    (
        "MultiHeadAttention",
        {"~self.mask[:n, :n]": "torch.triu(torch.ones(n, n), 1).bool()"},
        "mask-is-a-plain-attribute",
        "mask-made-on-the-cpu",
    ),
]


@pytest.mark.parametrize("exercise, edits, false, true", FALSE)
def test_what_the_code_shows_otherwise_is_not_told(grader, exercise, edits, false, true):
    text = replaced(bank(exercise).right, edits)
    (outcome,) = grader.grade_cells(cells_for(exercise, text), [course.exercises()[exercise]], 1).verdict.exercises
    named = [one.id for one in outcome.diagnosis]
    assert false not in named and true in named, outcome


SHOWN = [
    (signs.has("abs"), "y = x.abs()", True),
    (signs.has("abs"), "y = x.max()", False),
    (signs.lacks(signs.has("mean")), "y = x.sum()", True),
    (signs.loads_infinity, "x = tl.load(p, mask=m, other=-float('inf'))", True),
    (signs.loads_infinity, "x = tl.load(p, mask=m, other=0.0)", False),
    (signs.takes_root, "y = x ** -0.5", True),
    (signs.takes_root, "y = x.rsqrt()", True),
    (signs.takes_root, "y = x ** 2", False),
    (signs.makes_zeros, "x = 0 * torch.randn(3)", True),
    (signs.makes_zeros, "x = torch.randn(3)", False),
    (signs.compares_numbers, "assert torch.allclose(a, b, atol=1e-4)", True),
    (signs.compares_numbers, "assert torch.allclose(a, b, atol=10)", False),
    (signs.compares_numbers, "assert (a - b).abs().max() < 1e-4", True),
    (signs.compares_numbers, "assert a.shape == (2, 3)", False),
    (signs.keeps_tensor, "def __init__(self, n):\n    m = torch.ones(n, n)\n    self.mask = m.tril()", True),
    (signs.keeps_tensor, "def __init__(self, n):\n    self.mask = torch.ones(n, n).tril() == 0", True),
    (signs.keeps_tensor, "def __init__(self, n):\n    self.weight = nn.Parameter(torch.ones(n))", False),
    (signs.keeps_tensor, "def forward(self, n):\n    self.mask = torch.ones(n, n)", False),
]


@pytest.mark.parametrize("sign, text, shows", SHOWN)
def test_a_sign_is_read_in_the_code(sign, text, shows):
    assert sign(list(ast.walk(ast.parse(text)))) is shows


def test_each_mistake_has_its_own_sign():
    from autograder.checks.source_text import Source, definition
    from autograder.mistakes.text import Text

    for exercise in course.exercises():
        of = bank(exercise)
        for one in [*of.values(), *getattr(of, "variants", ())]:
            if one.sign:
                text = definition(Source(exercise, (one.source,), 1))
                assert one.sign(Text(text, (one.source,)).nodes), f"{exercise}: {one.id}"
