"""Candidates answer what they may be asked, within limits, and nothing else comes out of them."""

import copy

import pytest
import torch

from autograder.checks.api import Draw
from autograder.checks.candidates import (
    LARGEST_NUMBER,
    LARGEST_SIZE,
    LONGEST,
    MOST_QUESTIONS,
    MOST_WORK_IN_ALL,
    TWICE,
    Candidate,
    work,
)
from autograder.checks.proxies import Examination, Local
from autograder.checks.replay import RecordingTransport, RequestLog
from autograder.checks.runner import checks_of
from autograder.exercises.check_causal.checks import TestCheckCausal as CausalChecks
from autograder.sandbox.inside import candidates as inside
from autograder.sandbox.inside import wire
from autograder.sandbox.inside.candidates import ERRORS
from autograder.sandbox.replies import Examined

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


class Layer(torch.nn.Module):
    def __init__(self, d_in, d_out, dropout=0.0):
        super().__init__()
        self.W_query = torch.nn.Linear(d_in, d_out)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x):
        return self.scale * self.W_query(self.dropout(x))


def layers():
    return Candidate("Layer", lambda: {"Layer": Layer}, builds=True).interview()


def built(asked, *args):
    """A stand-in as the child has it, whose questions the interview answers."""
    interview = inside.Interview(lambda message, sent: asked.answer({"ok": True, "question": message}, sent))
    return inside.Candidate(interview, True)(*args)


def test_a_module_has_its_parameters_there_and_computes_with_them_here():
    layer, x = built(layers(), 3, 2), torch.randn(4, 3)
    assert sorted(dict(layer.named_parameters())) == ["W_query.bias", "W_query.weight", "scale"]
    assert torch.allclose(layer(x), layer.W_query(x))
    with torch.no_grad():
        layer.scale.fill_(2.0)
        layer.W_query.weight.zero_()
    assert torch.allclose(layer(x), (2 * layer.W_query.bias).expand(4, 2))
    assert layer.double()(x.double()).dtype == torch.float64


def test_a_module_has_a_mode():
    layer, x = built(layers(), 3, 200 // 4, 0.5), torch.ones(2, 3)
    assert not torch.equal(layer(x), layer(x))
    assert torch.equal(layer.eval()(x), layer(x))


def test_a_module_can_be_copied_and_asked_apart():
    layer, x = built(layers(), 3, 2), torch.randn(4, 3)
    other = copy.deepcopy(layer)
    with torch.no_grad():
        other.W_query.weight.zero_()
    assert torch.allclose(other(x), other.W_query.bias.expand(4, 2)) and torch.allclose(layer(x), layer.W_query(x))


class Judge:
    """A submission that builds a layer with each candidate, and keeps its first weights."""

    def __init__(self):
        self.seen = []

    def examine(self, name, candidate):
        self.seen.append(built(candidate.interview(), 6, 4, 5, 0.0).W_query.weight.sum().item())
        return Examined(True, None)


def test_first_weights_tell_nothing_of_the_seed_of_a_run():
    """A generator's seed can be computed from what it draws; all inputs and the order follow from that of the run."""
    seen = []
    for seed in (1, 2):
        judge = Judge()
        CausalChecks().outcomes.__wrapped__(CausalChecks(), judge, Draw(seed, "check_causal/x"))
        seen.append(sorted(judge.seen))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("exercise", ["check_causal", "check_cross", "check_heads"])
def test_right_classes_list_their_parameters_in_one_order(exercise):
    """A test may copy weights by their order, and pass its visible check; no right answer may be refused for that."""
    checks = next(one for name, one in vars(checks_of(exercise)).items() if name.startswith("TestCheck"))()
    sizes = {"check_causal": (6, 4, 5, 0.0), "check_cross": (6, 7, 4), "check_heads": (6, 8, 5, 0.0, 2)}[exercise]
    right = [one for key, one in checks._candidates().items() if key.startswith("right/")]
    orders = {tuple(dict(one.make()[one.name](*sizes).named_parameters())) for one in right}
    assert len(orders) == 1


def test_modules_have_limits():
    asked = layers()
    with pytest.raises(inside.LimitReached, match="up to 64"):
        built(asked, 3, LARGEST_SIZE + 1)
    for _ in range(MOST_QUESTIONS - 1):  # the one that was refused counts
        built(asked, 3, 2)
    with pytest.raises(inside.LimitReached, match="built and called 200 times in all"):
        built(asked, 3, 2)


def test_a_module_keeps_its_parameters_and_no_other_is_asked_for():
    asked = layers()
    layer, x = built(asked, 3, 2), torch.ones(1, 3)
    layer.W_query.weight = torch.nn.Parameter(torch.ones(2, 2000))
    with pytest.raises(inside.LimitReached, match="names and shapes"):
        layer(x)
    for wrong in ({"handle": 7}, {"handle": -1}, {"handle": True}, {"handle": "0"}, {"training": 1}, {"op": "state"}):
        message, sent = question(x)
        message["question"] |= {"handle": 0, "training": True} | wrong
        with pytest.raises(wire.WireError):
            asked.answer(message, sent)


def test_a_function_builds_nothing_and_a_class_is_built_first():
    with pytest.raises(wire.WireError):
        interview().answer(*question(torch.ones(1), op="build"))
    with pytest.raises(wire.WireError):
        layers().answer(*question(torch.ones(1)))


def test_what_is_no_number_is_not_sent():
    asked = inside.Candidate(inside.Interview(lambda message, sent: pytest.fail("it was sent")), False)
    for value in ("text", [1], print, {"a": 1}, object()):
        with pytest.raises(TypeError, match="a candidate takes tensors, numbers"):
            asked(value)
    assert repr(asked) == "<a candidate>"


@pytest.mark.parametrize(
    "value", [torch.ones(2, dtype=torch.complex64), torch.ones(2, device="meta"), torch.ones(1).expand(2**25), 2**64]
)
def test_a_value_that_cannot_be_sent_is_refused_here(value):
    """Else the question would be none, and the end of the process that asks it."""
    asked = inside.Candidate(inside.Interview(lambda message, sent: pytest.fail("it was sent")), False)
    for args, named in (((value,), {}), ((), {"query": value})):
        with pytest.raises(TypeError, match="a candidate can't be given"):
            asked(*args, **named)
    layer = built(layers(), 3, 2)
    layer.scale.data = torch.ones((), dtype=torch.complex64)
    with pytest.raises(TypeError, match="a candidate can't be given"):
        layer(torch.ones(1, 3))


def test_an_argument_has_a_name_that_can_be_sent():
    asked = inside.Candidate(inside.Interview(lambda message, sent: pytest.fail("it was sent")), False)
    with pytest.raises(TypeError, match="a candidate can't be given"):
        asked(**{"\udcff": 1})


def test_nothing_is_asked_when_the_test_has_returned():
    talk = inside.Interview(lambda message, sent: pytest.fail("it was sent"))
    talk.close()
    with pytest.raises(inside.LimitReached, match="has returned"):
        inside.Candidate(talk, False)(1)


def test_requests_that_let_candidates_be_judged_are_never_joined():
    """Joined, they would be sent ahead, and no candidate could answer."""
    log, asked = RequestLog(), RecordingTransport(Local({}))
    asked.requests = [(Examination({"op": "examine", "target": "x"}, Candidate("x", dict)), [])]
    log.keep("x", 1, "test_x", asked)
    assert ("x", 1) not in log.known
