"""What makes a submission cheap must change nothing: joined requests, remembered values, bytes made by hand."""

import pytest
import torch
from cachetools import LRUCache
from IPython.core.inputtransformer2 import TransformerManager
from safetensors.torch import load
from torch import nn

from autograder.checks.proxies import Local, StudentError, Submission
from autograder.exercises.reference import qkv, remembered
from autograder.sandbox.inside import wire
from autograder.sandbox.inside.shell import MAYBE_SPECIAL


class Counted(Local):
    """A Local that notes the requests it gets, each with those before it."""

    def __init__(self, namespace):
        super().__init__(namespace)
        self.asked = []

    def ask(self, message, tensors):
        self.asked.append([*(earlier["op"] for earlier in message["before"]), message["op"]])
        return super().ask(message, tensors)


class Strict(nn.Linear):
    def __init__(self, width):
        if width < 1:
            raise ValueError(f"no width: {width}")
        super().__init__(width, width, bias=False)


@pytest.fixture
def submission():
    return Submission(Counted({"Strict": Strict, "refuse": lambda: int("x")}))


# --- requests that go together --------------------------------------------------------------------


def test_building_and_loading_go_with_the_call(submission):
    module = submission.build("Strict", 2)
    module.load({"weight": 2 * torch.eye(2)})
    assert submission.transport.asked == []
    assert torch.equal(module(torch.ones(1, 2)), torch.full((1, 2), 2.0))
    module(torch.ones(1, 2))
    assert submission.transport.asked == [["build", "load", "call"], ["call"]]
    assert [entry[0] for entry in submission.transcript.entries] == ["built", "called", "called"]


def test_what_is_loaded_is_what_it_was_when_it_was_loaded(submission):
    module, weight = submission.build("Strict", 2), torch.eye(2)
    module.load({"weight": weight})
    weight.zero_()
    assert torch.equal(module.parameters()["weight"], torch.eye(2))


def test_an_error_comes_with_the_next_answer_and_ends_what_follows(submission):
    good, bad = submission.build("Strict", 2), submission.build("Strict", 0)
    good.freeze("weight")
    with pytest.raises(StudentError, match="no width: 0"):
        good(torch.ones(1, 2))
    assert [entry[:2] for entry in submission.transcript.entries] == [("built",), ("error", "ValueError")]
    with pytest.raises(StudentError, match="no width: 0"):  # which is why there is no such object
        bad(torch.ones(1, 2))
    assert good.frozen() == set()


@pytest.mark.parametrize("ask", ["error", "refused"])
def test_an_error_that_should_come_is_of_the_call_alone(submission, ask):
    submission.build("Strict", 0)
    with pytest.raises(StudentError, match="no width: 0"):
        getattr(submission.function("refuse"), ask)()
    assert "invalid literal" in getattr(submission.function("refuse"), ask)().message


def test_settling_asks_for_what_waits_and_for_nothing_else(submission):
    submission.settle()
    assert submission.transport.asked == []
    submission.build("Strict", 0)
    with pytest.raises(StudentError, match="no width: 0"):
        submission.settle()
    submission.settle()
    assert submission.transport.asked == [["build", "nothing"]]


@pytest.mark.parametrize("place", [-1, 5, True, "0", None, [0], 10**30])
def test_a_place_of_failure_that_is_none_is_no_place(place):
    class Liar(Local):
        def ask(self, message, tensors):
            return {"ok": False, "failed": place, "error": {"type": "ValueError", "message": "3"}}, []

    submission = Submission(Liar({}))
    submission.build("Strict", 1)
    with pytest.raises(StudentError):
        submission.settle()
    assert [entry[0] for entry in submission.transcript.entries] == ["built", "error"]


# --- values that are remembered -------------------------------------------------------------------


@pytest.fixture
def calls():
    return []


@pytest.fixture
def scaled(calls):
    @remembered.remembered
    def scaled(x, state=None, times=2):
        calls.append(times)
        return x * times, [state]

    return scaled


def test_equal_arguments_are_computed_once(scaled, calls):
    for _ in range(3):
        product, _ = scaled(torch.tensor([1.0, 2.0]), {"a": torch.ones(2)}, times=3)
        assert product.tolist() == [3, 6]
        product.zero_()  # it is the caller's own
    assert calls == [3]


@pytest.mark.parametrize(
    "one, other",
    [
        ((torch.zeros(2),), (torch.tensor([0.0, 1e-30]),)),
        ((torch.zeros(2),), (-torch.zeros(2),)),
        ((torch.zeros(2),), (torch.zeros(2, dtype=torch.float64),)),
        ((torch.zeros(2, 3),), (torch.zeros(3, 2),)),
        ((torch.zeros(1), {"a": 1}), (torch.zeros(1), {"b": 1})),
        ((torch.zeros(1), {"a": 1}), (torch.zeros(1), {"a": True})),
        ((torch.zeros(1), (1, 2)), (torch.zeros(1), [1, 2])),
        ((torch.zeros(1), [torch.zeros(1), torch.zeros(2)]), (torch.zeros(1), [torch.zeros(2), torch.zeros(1)])),
        ((torch.zeros(1), None, 0.0), (torch.zeros(1), None, -0.0)),
        ((torch.zeros(2, dtype=torch.bfloat16),), (torch.zeros(2, dtype=torch.float16),)),
    ],
)
def test_arguments_that_differ_are_told_apart(scaled, calls, one, other):
    scaled(*one)
    scaled(*other)
    scaled(*one)
    assert len(calls) == 2


def test_calls_that_ask_for_gradients_are_made_anew(scaled, calls):
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        scaled(x)[0].sum().backward()
        assert x.grad.tolist() == [2, 2]
    assert len(calls) == 2


def test_what_is_remembered_has_a_bound(scaled, calls, monkeypatch):
    monkeypatch.setattr(remembered, "_kept", LRUCache(50_000, getsizeof=lambda kept: kept[1]))
    for number in range(20):
        scaled(torch.full((1000,), float(number)))
    scaled(torch.full((1000,), 19.0))
    assert len(calls) == 20
    scaled(torch.full((1000,), 0.0))
    assert len(calls) == 21


def test_the_reference_gives_each_its_own(calls):
    query, key, value = torch.rand(3, 2, 4, generator=torch.Generator().manual_seed(0)).unbind()
    first, again = qkv.attention(query, key, value)[0], qkv.attention(query, key, value)[0]
    assert torch.equal(first, again) and first.data_ptr() != again.data_ptr()


# --- bytes and cells ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", wire.DTYPES.values(), ids=wire.DTYPES)
def test_tensors_are_written_as_safetensors_reads_them(dtype):
    tensors = [torch.arange(6).reshape(2, 3).to(dtype), torch.ones((), dtype=dtype), torch.ones(0, 4, dtype=dtype)]
    found = load(wire.tensors_to_bytes(tensors))
    assert len(found) == 3
    for number, tensor in enumerate(tensors):
        got = found[str(number)]
        assert got.dtype == dtype and got.shape == tensor.shape and torch.equal(got, tensor)


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline\nx = 1",
        "if True:\n    %time x",
        "x = %time 3\ny = 1",
        "x = \\\n  %time 3\ny = 1",
        "files = !ls\nb = 1",
        "files =!ls\nb = 1",
        "!ls\nx",
        "torch.softmax?\nx = 1",
        "x = 1\ntorch.softmax??\ny",
        "?torch\nx = 1",
        "/print 1\nx",
        ",print a\nx",
        ";print a\nx",
    ],
)
def test_special_syntax_is_searched_for_where_it_may_be(cell):
    manager = TransformerManager()
    lines = cell.splitlines(keepends=True)
    assert manager.do_token_transforms(lines) != lines
    assert MAYBE_SPECIAL.search(cell)
