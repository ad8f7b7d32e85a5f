"""Candidates answer what they may be asked, within limits, and nothing else comes out of them."""

import pytest
import torch

from autograder.checks.candidates import (
    LARGEST_NUMBER,
    LONGEST,
    MOST_QUESTIONS,
    MOST_WORK_IN_ALL,
    TWICE,
    Candidate,
    work,
)
from autograder.sandbox.inside import wire
from autograder.sandbox.inside.candidates import ERRORS

SECRET = "the secret of the code"


class OwnError(ValueError):
    pass


def attention(query, key=None, mask=None):
    if isinstance(query, int):
        raise {0: OwnError, 1: KeyError, 2: SystemError}[query](SECRET)
    if mask is False:
        return {"hidden": SECRET}, SECRET, attention
    if mask is True:
        return query.expand(1000, 1000, *query.shape)
    return [query, 2 * query], (1.5, None)


def interview():
    return Candidate("attention", lambda: {"attention": attention}).interview()


def question(*args, op="call", **kwargs):
    sent = []
    packed = {"op": op, "args": wire.pack(args, sent), "kwargs": wire.pack(kwargs, sent), "state": {"dict": []}}
    return {"ok": True, "question": packed}, sent


def answered(*args, of=None, **kwargs):
    answer, tensors = (of or interview()).answer(*question(*args, **kwargs))
    return wire.unpack(answer["value"], tensors) if "value" in answer else answer


def test_an_answer_is_tensors_and_numbers():
    x = torch.ones(2, 3)
    (one, two), rest = answered(x)
    assert torch.equal(one, x) and torch.equal(two, 2 * x) and rest == (1.5, None)


def test_no_text_and_no_object_comes_back():
    answer, tensors = interview().answer(*question(torch.ones(1), mask=False))
    assert SECRET not in str(answer) and "attention" not in str(answer) and not tensors


@pytest.mark.parametrize("which, kind", [(0, "ValueError"), (1, "KeyError"), (2, "RuntimeError")])
def test_of_an_error_only_its_type_comes_back(which, kind):
    assert answered(which) == {"op": "answer", "error": kind} and kind in ERRORS


def test_an_argument_of_another_name_is_no_call():
    assert answered(torch.ones(1), other=1) == {"op": "answer", "error": "TypeError"}


@pytest.mark.parametrize(
    "reply",
    [
        {"question": {}},
        {"question": {"op": "attribute", "args": {"tuple": []}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"list": []}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": []}, "kwargs": {"tuple": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"value": "a text"}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"handle": 1}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"generator": 1}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"tuple": []}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"opaque": "x"}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"meta": [2], "dtype": "float32"}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"tensor": 0}]}, "kwargs": {"dict": []}}},
        {"question": {"op": "call", "args": {"tuple": [{"value": 1}] * 17}, "kwargs": {"dict": []}}},
        {"question": "call"},
    ],
)
def test_what_is_no_question_is_refused(reply):
    with pytest.raises(wire.WireError):
        interview().answer({"ok": True, **reply}, [])


@pytest.mark.parametrize(
    "sizes",
    [[(LONGEST + 1,)], [(1,) * 7], [(64, 64, 64)], [(1, 1024, 2), (1024, 1, 2)], [(1024, 2)] * 2 + [(2**39, 0)]],
)
def test_what_would_take_much_is_not_made(sizes):
    asked = interview()
    asked.local = None  # it is not called
    answer = answered(*(torch.empty(size) for size in sizes), of=asked)
    assert set(answer) == {"op", "limit"}


def test_whole_numbers_may_be_sizes_so_they_have_a_limit():
    assert "whole numbers" in answered(LARGEST_NUMBER + 1)["limit"]


def test_an_answer_has_a_size_too():
    assert "the answer has more than" in answered(torch.ones(4), mask=True)["limit"]


def test_questions_are_counted_and_who_asks_on_gets_none():
    asked, x = interview(), torch.ones(2)
    for _ in range(MOST_QUESTIONS):
        answered(x, of=asked)
    for _ in range((TWICE - 1) * MOST_QUESTIONS):
        assert "200 times" in answered(x, of=asked)["limit"]
    with pytest.raises(wire.WireError, match="goes on asking"):
        answered(x, of=asked)


def test_all_questions_together_have_a_limit():
    asked, x = interview(), torch.ones(1024)
    each = work([x])
    for _ in range(MOST_WORK_IN_ALL // each):
        answered(x, of=asked)
    assert "too much" in answered(x, of=asked)["limit"]
