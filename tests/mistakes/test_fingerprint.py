"""Fingerprints of wrong answers: equal for equal answers, however they are written, and for no others."""

import json

import pytest
import torch

from autograder.checks.proxies import Counts, Local, Transcript
from autograder.checks.runner import Graders
from autograder.groups import alike
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.fingerprint import MOST, Print, fingerprint

RIGHT = """
def attention(query, key, value, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(f"two dimensions or more: {query.dim()} {key.dim()} {value.dim()}")
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    hidden = torch.zeros_like(scores, dtype=torch.bool) if mask is None else (mask == 0).expand_as(scores)
    empty = hidden.all(-1, keepdim=True)
    weights = scores.masked_fill(hidden & ~empty, float("-inf")).softmax(-1).masked_fill(empty, 0.0)
    return weights @ value, weights
"""
LESS = RIGHT.replace("return weights @ value", "return weights @ value * 0.9")
ALSO = LESS.replace("weights @ value * 0.9", "0.9 * torch.einsum('...ts,...sd->...td', weights, value)")
OTHER = RIGHT.replace("return weights @ value", "return weights @ value * 0.8")


@pytest.fixture(scope="module")
def graders():
    return Graders()


def graded(graders, source, seed=1):
    namespace = {}
    exec("import torch\n" + source, namespace)
    run = graders.run("attention", Local(namespace, source), seed)
    assert run.failed()
    return run


def test_equal_answers_have_equal_fingerprints(graders):
    first, second, other = (fingerprint(graded(graders, source), None) for source in (LESS, ALSO, OTHER))
    assert first and alike.equal(first, second) and not alike.equal(first, other)
    assert not alike.equal(first, fingerprint(graded(graders, LESS, seed=2), None)), "other inputs, other values"
    assert len(first) < MOST / 4


def test_a_named_answer_has_none(graders):
    run = graded(graders, RIGHT.replace(" / query.shape[-1] ** 0.5", ""))
    assert Diagnostician(graders).diagnose(run) and run.fingerprint == ""


def printed(*entries):
    made = Print()
    made.add([tuple(entry) for entry in entries])
    return json.dumps({"check": [made.form, made.rounding, *made.sums]})


X = torch.linspace(-1.0, 1.0, 60).reshape(3, 20)
SAME = [
    ([("called", [X])], [("called", [X * (1 + 1e-6)])]),
    ([("called", [X * 1e-9])], [("called", [torch.zeros_like(X)])]),  # rounding alone
    ([("value", 0.5)], [("value", 0.5000001)]),
    ([("called", [X / 0])], [("called", [X / 0])]),
    ([("called", [X[:0]])], [("called", [X[:0]])]),
    ([("called", [X.to("meta")])], [("called", [X.to("meta")])]),
]
OTHERS = [
    [("called", [X * 1.01])],
    [("called", [-X])],
    [("called", [X.double()])],
    [("called", [X.reshape(20, 3)])],
    [("called", [X.T.contiguous().reshape(3, 20)])],
    [("called", [X.where(X < 1, torch.tensor(torch.nan))])],
    [("called", [X.where(X < 1, torch.tensor(torch.inf))])],
    [("called", [(X > 0)])],
    [("called", [X.where(X < 0.99, torch.tensor(0.5))])],
    [("called", [X, X])],
    [("called", (X,))],
    [("called", None)],
    [("called", {"a": X})],
    [("called", {"b": X})],
    [("error", "RuntimeError", "no")],
    [("error", "RuntimeError", "not")],
    [("called", [X]), ("training", True)],
    [("called", [X]), ("training", False)],
    [("called", [X]), ("training", 1)],
    [],
]


@pytest.mark.parametrize("one, other", SAME)
def test_rounding_makes_no_difference(one, other):
    assert alike.equal(printed(*one), printed(*other))


HUGE = torch.full((3, 20), 1.7e308, dtype=torch.float64)


def test_sums_of_huge_numbers_are_told_apart():
    """Sums that overflowed were infinitely far apart at most, so all such answers were one group with one name."""
    ramp = torch.linspace(0.1, 1, 60, dtype=torch.float64).reshape(3, 20)
    prints = [printed(("called", [values])) for values in (HUGE, HUGE * ramp, HUGE * ramp.flip(0), -HUGE, HUGE * 0.5)]
    for number, one in enumerate(prints):
        assert [alike.equal(one, other) for other in prints].count(True) == 1, number


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 1e308, 10**400])
def test_a_sum_that_is_not_finite_is_no_fingerprint(number):
    for numbers in ([0.1, number, 1.0], [number, 1.0, 2.0]):
        text = json.dumps({"check": ["form", *numbers]})
        assert alike.parsed(text) is None and not alike.equal(text, json.dumps({"check": ["form", 0.1, 5.0, 1.0]}))


def test_a_print_that_is_not_finite_is_not_kept(graders, monkeypatch):
    monkeypatch.setattr("autograder.mistakes.fingerprint.ROUNDING", {"float32": float("inf")})
    assert fingerprint(graded(graders, LESS), None) == ""


def test_anything_else_does():
    prints = [printed(*entries) for entries in [[("called", [X])], *OTHERS]]
    for number, one in enumerate(prints):
        assert [alike.equal(one, other) for other in prints].count(True) == 1, number


def test_what_chance_did_is_not_compared():
    class Run:
        transcripts = {"a": Transcript([("noted", Counts(torch.tensor([1, 2])))])}
        places = {}

        def rejected(self):
            return [type("Check", (), {"name": "a", "reason": ""})]

    assert fingerprint(Run(), None) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"a": 1}', '{"a": ["x"]}', '{"a": ["x", 1, "y"]}', "[" * 9999])
def test_what_is_no_fingerprint_equals_nothing(text):
    assert alike.parsed(text) is None and not alike.equal(text, text)
