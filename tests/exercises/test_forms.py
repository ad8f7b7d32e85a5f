"""A mistake has its name in other forms than the bank's own text: masks that are added, products with infinity."""

import ast

import pytest

from autograder import course
from autograder.exercises.families import forms
from autograder.mistakes import signs
from autograder.mistakes.bank import bank, right_answer
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


@pytest.mark.parametrize("exercise, edits, id", OF_HEADS)
def test_a_mask_that_is_added_has_its_name_in_any_exercise(grader, exercise, edits, id):
    assert named(grader, exercise, replaced(bank(exercise).right, edits)) == [id]


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
    cells = ("FAR = -5e4\nUNUSED = 777", "def own(x):\n    return helper(x) + 512 * 3", "def helper(x):\n    return FAR")
    assert Text(cells[1], cells).numbers == ["-512.0", "-50000.0"]


def test_edits_between_two_texts_are_of_whole_lines_that_occur_once():
    text = "a = 1\nb = 2\na = 1\nc = 3\n"
    assert forms.edits_between(text, "a = 1\nb = 2\na = 5\nc = 3\n") == {"b = 2\na = 1\n": "b = 2\na = 5\n"}
