"""A mistake has its name in other forms than the bank's own text: masks that are added, products with infinity."""

import ast

import pytest

from autograder import course
from autograder.exercises.families import forms
from autograder.mistakes import signs
from autograder.mistakes.bank import answer_path, bank, right_answer
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.text import Text


def outcome_of(grader, exercise, text):
    (outcome,) = grader.grade_cells(cells_for(exercise, text), [course.exercises()[exercise]], 1).verdict.exercises
    return outcome


def named(grader, exercise, text):
    return [one.id for one in outcome_of(grader, exercise, text).diagnosis]


def replaced(text, edits):
    for old, new in edits.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


ATTENTION = """
import torch


NEG = -{number}


def attention(query, key, value, mask=None):
    for t in (query, key, value):
        if t.dim() < 2:
            raise ValueError(f"needs 2 dimensions, got {{tuple(t.shape)}}")
    scores = query / key.shape[-1] ** 0.5 @ key.transpose(-2, -1)
    if mask is not None:
        {hide}
    weights = scores.softmax(-1)
    return weights @ value, weights
"""
ADDED = [  # how it is added, the number, what it is named
    ("scores = scores + (1.0 - mask.to(scores.dtype)) * -{number}", "10000.0", "mask-fills-with-ten-thousand"),
    ("scores = scores + (1.0 - mask.to(scores.dtype)) * NEG", "20000", "mask-fills-with-ten-thousand"),
    ("scores = scores - (1 - mask.type_as(scores)).mul({number})", "65000.0", "mask-fills-with-ten-thousand"),
    ("scores = scores + (mask.to(scores.dtype) - 1) * {number}", "1e9", "lowest-number-in-empty-rows"),
    ("scores += torch.where(mask, 0.0, NEG).to(scores.dtype)", "1e7", "lowest-number-in-empty-rows"),
    (
        "scores = scores + (1.0 - mask.to(scores.dtype)) * torch.finfo(scores.dtype).min",
        "1",
        "lowest-number-in-empty-rows",
    ),
]


@pytest.mark.parametrize("hide, number, id", ADDED)
def test_a_finite_number_that_is_added_has_the_name_of_one_that_is_filled_in(grader, hide, number, id):
    text = ATTENTION.format(hide=hide.format(number=number), number=number)
    assert named(grader, "attention", text) == [id]


OF_HEADS = [
    (
        "MultiHeadAttention",
        {
            'scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))': "scores = scores + (1 -"
            " self.mask[:n, :n].to(scores.dtype)) * -15000.0",
        },
        "mask-filled-with-a-finite-number",
    ),
    (
        "GroupedQueryAttention",
        {
            "scores.masked_fill(~past, -torch.inf)": "(scores - 12345.0 * (~past).to(scores.dtype))",
        },
        "mask-filled-with-a-finite-number",
    ),
    (
        "MultiHeadCrossAttention",
        {"scores.masked_fill(~allowed, -torch.inf)": "(scores + (~allowed).to(scores.dtype) * -1e4)"},
        "context-mask-filled-with-a-finite-number",
    ),
    (
        "MultiHeadAttention",
        {
            'scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))': "scores = scores +"
            ' torch.triu(torch.ones(n, n, device=x.device), 1).to(scores.dtype) * float("-inf")',
        },
        "zero-times-infinity",
    ),
    (
        "KVCache",
        {"scores.masked_fill(~past, -torch.inf)": "(scores + past.logical_not().float().mul(-torch.inf))"},
        "zero-times-infinity",
    ),
    (
        "capped_attention",
        {"scores = scores.masked_fill(~mask, -torch.inf)": "scores = scores - (1 - mask.float()) * torch.inf"},
        "zero-times-infinity",
    ),
]


@pytest.mark.drawn(2, "exercises whose masks are added", each="test")
@pytest.mark.parametrize("exercise, edits, id", OF_HEADS)
def test_a_mask_that_is_added_has_its_name_in_any_exercise(grader, exercise, edits, id):
    assert named(grader, exercise, replaced(bank(exercise).right, edits)) == [id]


IN_STYLES = [  # an exercise, one of its right answers, an edit of that, what it is named
    (
        "apply_rope",
        "rotate_half",
        {".float() / d)": ".float()) / d"},
        "exponent-without-brackets",
    ),
    (
        "apply_rope",
        "rotate_half",
        {
            "1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))": "base ** -torch.arange("
            "d // 2, device=x.device) / (d / 2)"
        },
        "exponent-without-brackets",
    ),
    (
        "yarn_frequencies",
        "masks",
        {
            "base ** (torch.arange(0, head_dim, 2).float() / head_dim)": "base ** torch.arange("
            "0, head_dim, 2).float() / head_dim"
        },
        "exponent-without-brackets",
    ),
    (
        "apply_rope",
        "rotate_half",
        {"x * cos + rotate_half(x) * sin": "(x * cos + rotate_half(x)) * sin"},
        "sine-times-the-sum",
    ),
    (
        "apply_rope",
        "rotate_half",
        {"x * cos + rotate_half(x) * sin": "x * (cos + rotate_half(x) * sin)"},
        "sine-times-the-sum",
    ),
    (
        "apply_rope",
        "with_einops",
        {"(z * cos + _swap(z) * sin)": "(z * (cos + _swap(z)) * sin)"},
        "sine-times-the-sum",
    ),
    ("flash_attention", "places", {"dz.mT @ q[..": "q.shape[-1] ** 0.5 * dz.mT @ q[.."}, "no-scale-for-keys-backward"),
    ("flash_attention", "places", {"dz @ k[..": "dz * q.shape[-1] ** 0.5 @ k[.."}, "no-scale-for-queries-backward"),
    ("flash_attention", "places", {"mean = (g * output)": "mean = (g * g)"}, "share-of-the-gradient"),
    (
        "cached_attention",
        "by_hand",
        {"torch.ones(t, s,": "torch.ones(t, t,", "diagonal=s - t + 1": "diagonal=1"},
        "mask-of-the-new-tokens",
    ),
    (
        "KVCache",
        "plain",
        {
            "torch.ones(t, keys.shape[2],": "torch.ones(t, t,",
            ".tril(start)": ".tril()",
            "scores.masked_fill(~past, -torch.inf)": "(scores + past.logical_not().type_as(scores) * -1e30)",
        },
        "mask-of-the-new-tokens",
    ),
    (
        "KVCache",
        "plain",
        {"torch.ones(t, keys.shape[2],": "torch.ones(t, t,", ".tril(start)": ".tril()"},
        "mask-of-the-new-tokens",
    ),
    (
        "indexed_attention",
        "sdpa",
        {"order.argsort": "index_scores.argsort"},
        "later-keys-take-places",
    ),
    (
        "indexed_attention",
        "ranks",
        {" & past[None, :, None, :]": "", '"-inf")).softmax(-1)': '"-inf")).softmax(-1).nan_to_num()'},
        "later-keys-take-places",
    ),
    ("indexed_attention", "ranks", {" & past[None, :, None, :]": ""}, "later-keys-take-places"),
]


@pytest.mark.drawn(4, "slips in other styles", each="test")
@pytest.mark.parametrize("exercise, style, edits, id", IN_STYLES)
def test_a_slip_has_its_name_in_other_styles(grader, exercise, style, edits, id):
    text = answer_path(exercise, style).read_text(encoding="utf-8")
    assert named(grader, exercise, replaced(text, edits)) == [id]


@pytest.mark.parametrize(
    "text, shows",
    [
        ("x = 1.0 / (base ** i / d)", True),
        ("x = base ** -2 * i / d", True),
        ("x = torch.pow(base, -i) / d", True),
        ("x = base ** (-2 * i / d)", False),
        ("x = 1 / base ** (i / d)", False),
    ],
)
def test_whether_a_power_is_divided_is_read_in_the_code(text, shows):
    assert signs.divides_power(list(ast.walk(ast.parse(text)))) is shows


MASKS = [
    ("causal_mask", "torch.tril(everything)", '(1 - torch.tril(everything).float()) * float("-inf")'),
    ("causal_mask", "torch.tril(everything)", "torch.where(torch.tril(everything), 0.0, -70000.0)"),
    ("causal_mask", "torch.tril(everything)", "-torch.inf * torch.triu(everything, 1)"),
]


@pytest.mark.parametrize("exercise, old, new", MASKS)
def test_a_mask_of_numbers_that_are_added_has_a_name_and_a_price(grader, exercise, old, new):
    outcome = outcome_of(grader, exercise, replaced(right_answer(exercise), {old: new}))
    (found,) = outcome.diagnosis
    is_product = "*" in new
    assert found.id == ("mask-of-zero-times-infinity" if is_product else "minus-infinity-inside")
    assert found.has_price, outcome


@pytest.mark.parametrize(
    "text, shows",
    [
        ('NEG = float("-inf")\nx = mask * NEG', True),
        ("x = torch.full_like(s, -torch.inf) * mask", True),
        ("x = mask.mul(-math.inf)", True),
        ("x = s.masked_fill(mask, -torch.inf).softmax(-1) * keep", False),
        ("x = s * 2 + float('nan')", False),
    ],
)
def test_whether_infinity_is_multiplied_is_read_in_the_code(text, shows):
    assert signs.multiplies_infinity(list(ast.walk(ast.parse(text)))) is shows


def test_nan_by_another_slip_is_not_said_to_be_a_product_with_infinity(grader):
    text = replaced(bank("Head").right, {"torch.tril(torch.ones(block_size, block_size))": "torch.zeros(99, 99)"})
    assert "zero-times-infinity" not in named(grader, "Head", text)


def test_large_numbers_of_a_text_are_those_of_what_it_names():
    cells = (
        "FAR = -5e4\nUNUSED = 777",
        "def own(x):\n    return helper(x) + 512 * 3",
        "def helper(x):\n    return FAR",
    )
    assert Text(cells[1], cells).numbers == ["-512.0", "-50000.0"]


def test_edits_between_two_texts_are_of_whole_lines_that_occur_once():
    text = "a = 1\nb = 2\na = 1\nc = 3\n"
    assert forms.edits_between(text, "a = 1\nb = 2\na = 5\nc = 3\n") == {"b = 2\na = 1\n": "b = 2\na = 5\n"}


LAYER = """
class Layer(nn.Module):
    def __init__(self):
        self.first, self.second = nn.LayerNorm(4), nn.LayerNorm(4)
        self.mlp = nn.Linear(4, 4)

    def mixed(self, x):
        return self.first(x)

    def forward(self, x):
        x = self.mixed(x)
        return x + self.mlp(self.second(x))

    def step(self, x, state):
        {step}


class Model(nn.Module):
    def __init__(self):
        self.layers = nn.ModuleList([Layer()])

    def forward(self, x):
        return [layer(x) for layer in self.layers]

    def step(self, x):
        return [layer.step(x, None) for layer in self.layers]
"""


@pytest.mark.parametrize(
    "step, left_out",
    [
        ("return self.mixed(x) + self.mlp(x)", [("second", 0, 1)]),
        ("return self.mixed(x)", [("mlp", 0, 1), ("second", 0, 1)]),
        ("return self.mlp(self.second(x))", [("first", 0, 1)]),
        ("return self(x)", []),
        ("return self.forward(self.first(x))", []),
    ],
)
def test_a_layer_that_one_of_two_forms_leaves_out_is_found_in_any_class(step, left_out):
    cell = LAYER.format(step=step)
    definition = cell[cell.index("class Model") :]
    assert sorted(Text(definition, (cell,)).left_out("step", "forward")) == left_out


@pytest.mark.slow("a model is trained")
@pytest.mark.parametrize(
    "old, new, said",
    [
        (
            "            x = x + self.think[layer](self.norms[2 * layer + 1](x))\n"
            "        return self.logits(self.norms[4](x))[:",
            "        return self.logits(self.norms[4](x))[:",
            "`step` does not use `self.think`",
        ),
        (
            "return self.logits(self.norms[4](x))[:, 0]",
            "return self.logits(x)[:, 0]",
            "`step` uses `self.norms` twice, and `forward` 3 times",
        ),
        (
            "return self.out((query @ state).transpose(1, 2).flatten(2)), state",
            "return (query @ state).transpose(1, 2).flatten(2), state",
            "`step` does not use `self.out`",
        ),
    ],
)
def test_what_step_leaves_out_of_forward_is_said(grader, old, new, said):
    text = replaced(answer_path("MyModel", "delta").read_text(encoding="utf-8"), {old: new})
    messages = [one.message for one in outcome_of(grader, "MyModel", text).diagnosis]
    assert any(message.startswith(said) for message in messages), messages
