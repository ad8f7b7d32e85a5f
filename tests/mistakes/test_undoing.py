"""What undoes slips that hide all else: found in code of any length, and whatever the names in it."""

import ast
import textwrap

import pytest

from autograder import course
from autograder.grading.seeds import new_seed
from autograder.mistakes import repair, undoing
from autograder.mistakes.bank import bank
from autograder.mistakes.edits import edits_in, made
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.prices import HALF, PRICES

SEED = new_seed()


def undone(text):
    """The programs that such edits make of a text, without blanks."""
    text = textwrap.dedent(text).strip() + "\n"
    tree = ast.parse(text)
    edits = made(text, edits_in(tree, undoing.undone(tree)))
    return {_plain(one.source): one.kind for one in (*edits, *undoing.kept(text), *undoing.meant(text, {"gone"}))}


def _plain(text):
    return ast.unparse(ast.parse(textwrap.dedent(text)))


CLASS = """class A(nn.Module):
    def __init__(self, d, n):
        "What it is."
        {0}
        {1}

    def forward(self, x):
        return {2}
"""


def a_class(made="self.f = nn.Linear(d, n)", returned="self.f(x)", first="super().__init__()"):
    return CLASS.format(first, made, returned)


@pytest.mark.parametrize(
    "wrong, right, kind",
    [
        (a_class(first=""), a_class(), undoing.CONSTRUCTOR),
        (a_class(first="super.__init__()"), a_class(), undoing.CONSTRUCTOR),
        (a_class(first="super().__init()"), a_class(), undoing.CONSTRUCTOR),
        (
            a_class("self.f = [g(d) for g in n]"),
            a_class("self.f = nn.ModuleList([g(d) for g in n])"),
            undoing.REGISTERED,
        ),
        (a_class("self.f = []"), a_class("self.f = nn.ModuleList([])"), undoing.REGISTERED),
        (a_class("self.f = L([B(d)] * n)"), a_class("self.f = L([B(d) for _ in range(n)])"), undoing.APART),
        (
            a_class("g = B(d)\n        self.f = L([g for _ in range(n)])"),
            a_class("g = B(d)\n        self.f = L([B(d) for _ in range(n)])"),
            undoing.APART,
        ),
        (a_class("self.f = self.g = B(d)"), a_class("self.f = B(d)\n        self.g = B(d)"), undoing.APART),
        (
            a_class("self.g = B(d)\n        self.f = self.g"),
            a_class("self.g = B(d)\n        self.f = B(d)"),
            undoing.APART,
        ),
        (a_class("self.f = d"), a_class("self.f = nn.Dropout(d)"), undoing.LAYER),
        (a_class(returned="x[:n]"), a_class("self.f = nn.Linear(d, n)\n        self.n = n", "x[:self.n]"), undoing.OWN),
        ("def f(x):\n    assert x, 'no'", "def f(x):\n    if not x:\n        raise ValueError('no')", undoing.REFUSAL),
        ("def f(x):\n    raise TypeError('no')", "def f(x):\n    raise ValueError('no')", undoing.REFUSAL),
        ("def f(x, y):\n    return x + gone", "def f(x, y):\n    return x + y", undoing.MEANT),
        (
            "def f(x, a, b, c):\n    ones = 1\n    return ones * gone",
            "def f(x, a, b, c):\n    ones = 1\n    return ones * ones",
            undoing.MEANT,
        ),
        ("def f(x, y):\n    return g(x)", "def f(x, y):\n    return g(x, y)", undoing.ARGUMENT),
        ("def f(x):\n    return x - x.max(-1)", "def f(x):\n    return x - x.max(-1).values", undoing.PART),
        ("def f(x):\n    return x / torch.sqrt(len(x))", "def f(x):\n    return x / len(x) ** 0.5", undoing.ROOT),
        (
            "def f(x, m):\n    return x + (1 - m) * -torch.inf",
            "def f(x, m):\n    return x.masked_fill((1 - m) != 0, -torch.inf)",
            undoing.FILLED,
        ),
        (
            "def f(x, m):\n    return float('-inf') * ~m + x",
            "def f(x, m):\n    return x.masked_fill(~m != 0, float('-inf'))",
            undoing.FILLED,
        ),
    ],
)
def test_each_slip_has_what_undoes_it(wrong, right, kind):
    assert undone(wrong).get(_plain(right)) == kind, "\n\n".join(undone(wrong))


@pytest.mark.parametrize(
    "right",
    [
        a_class(),
        a_class("self.f = nn.ModuleList([B(d) for _ in range(n)])"),
        "def f(x, n):\n    return x.max(-1).values / math.sqrt(n)",
        "def f(x, m):\n    return x.masked_fill(m, -torch.inf)",
    ],
)
def test_what_is_right_has_nothing_to_undo(right):
    assert not undone(right)


def test_there_is_a_sentence_for_each_and_few_are_tried():
    kinds = {value for name, value in vars(undoing).items() if name.isupper() and isinstance(value, str)}
    assert kinds == undoing.CHANGES.keys() < repair.CHANGES.keys()
    for exercise in course.exercises():
        tree = ast.parse(bank(exercise).right) if hasattr(bank(exercise), "right") else ast.parse("")
        assert len(list(edits_in(tree, undoing.undone(tree)))) <= repair.MOST_UNDONE, exercise


# such a slip, by exercise, and what it costs: the same in short code and in long
SLIPS = [
    ("SelfAttention", "one-projection", PRICES["values"]),
    ("StackedHeads", "plain-list", PRICES["values"]),
    ("AlternatingCoAttention", "one-set-three-times", PRICES["values"]),
    ("AlternatingCoAttention", "max-used-as-a-tensor", HALF),
    ("CoAttentionStreams", "the-same-module-twice", PRICES["values"]),
    ("MultiHeadAttention", "super-forgotten", HALF),
    ("MultiHeadAttention", "dropout-is-a-number", HALF),
    ("MultiHeadAttention", "length-from-a-global", HALF),
    ("SelfAttention", "root-of-an-int", HALF),
    ("CharTokenizer", "not-kept-on-self", HALF),
    ("causal_mask", "size-from-a-global", HALF),
    ("masked_weights", "zero-times-infinity", PRICES["values"]),
]


@pytest.mark.drawn(3, "slips that hide all else")
@pytest.mark.parametrize("exercise, id, price", SLIPS, ids=[f"{exercise}-{id}" for exercise, id, _ in SLIPS])
def test_a_slip_that_hides_all_else_is_paid_once(grader, exercise, id, price):
    (outcome,) = grader.grade_cells(
        cells_for(exercise, bank(exercise)[id].source), [course.exercises()[exercise]], SEED
    ).verdict.exercises
    assert outcome.by_prices == pytest.approx((1 - price) * outcome.max_score), outcome.diagnosis
    assert outcome.diagnosis[-1].id == id and outcome.diagnosis[-1].line


JUNK = """class SelfAttention(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        {first}self.W_query = self.W_key = self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (n, d_in) or (b, n, d_in), got {{tuple(x.shape)}}")
        return self.W_value(x)
"""


@pytest.mark.parametrize("first", ["", "super().__init__()\n        "], ids=["two slips", "nothing behind one"])
def test_what_is_behind_it_has_to_be_right(grader, first):
    wanted = [course.exercises()["SelfAttention"]]
    (outcome,) = grader.grade_cells(
        cells_for("SelfAttention", JUNK.format(first=first)), wanted, SEED
    ).verdict.exercises
    assert outcome.by_prices == 0 and not any(one.has_price for one in outcome.diagnosis)
