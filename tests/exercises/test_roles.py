"""Roles that have changed places have a name and one price in whatever style they are written."""

import ast

import pytest

from autograder import course
from autograder.exercises.families import roles
from autograder.mistakes.bank import answer_path, bank, edited, styles_of
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.prices import PRICES

KEYS_AND_VALUES = "keys-and-values-exchanged"


def definition_of(exercise, text):
    (node,) = (node for node in ast.parse(text).body if getattr(node, "name", "") == exercise)
    return node


MODULES = [
    name
    for name in course.exercises()
    if KEYS_AND_VALUES in bank(name) and isinstance(definition_of(name, bank(name).right), ast.ClassDef)
]


def exchanged(exercise, style):
    """The right answer in that style with the layers of keys and values exchanged; None if it names none in methods."""
    text = answer_path(exercise, style).read_text(encoding="utf-8")
    pair = bank(exercise)[KEYS_AND_VALUES].says.split("`")[1:4:2]
    node = definition_of(exercise, text)
    used = {layer.attr for layer in roles._layers_used(node)}
    is_by_name = used.issuperset(pair) and "parameters" not in used
    return (
        edited(text, roles._layers_replaced(text, node, dict(zip(pair, pair[::-1], strict=True))), style)
        if is_by_name
        else None
    )


# in these, dropout draws in another order than in the course's answer, which looks like a second mistake
DRAWN_OTHERWISE = {("Head", "loops"), ("Head", "transposed"), ("CausalAttention", "loops")}
WRONG = [
    pytest.param(exercise, wrong, id=f"{exercise}-{style}")
    for exercise in MODULES
    for style in styles_of(exercise)
    if (exercise, style) not in DRAWN_OTHERWISE and (wrong := exchanged(exercise, style))
]


def test_most_modules_have_styles_to_try():
    assert len({param.values[0] for param in WRONG}) > 0.8 * len(MODULES)


@pytest.mark.drawn(2, "right answers with keys and values exchanged")
@pytest.mark.parametrize("exercise, wrong", WRONG)
def test_keys_and_values_exchanged_is_one_slip_in_any_style(grader, exercise, wrong):
    (outcome,) = grader.grade_cells(cells_for(exercise, wrong), [course.exercises()[exercise]], 1).verdict.exercises
    assert [(one.id, one.price) for one in outcome.diagnosis] == [(KEYS_AND_VALUES, PRICES["values"])]
    assert outcome.by_prices == pytest.approx((1 - PRICES["values"]) * outcome.max_score)


@pytest.mark.parametrize("name", MODULES)
def test_layers_change_places_where_they_are_used_alone(name):
    right, wrong = bank(name).right, bank(name)[KEYS_AND_VALUES].source
    made = [line for line in right.splitlines() if "nn.Linear(" in line]
    assert wrong != right and made == [line for line in wrong.splitlines() if "nn.Linear(" in line]
    assert sorted(wrong) == sorted(right)
