"""What a language model needs of the kit: generators and stub models as arguments, methods, attributes, modes."""

import pytest
import torch

from autograder.graders.submission import Local, StudentError, Submission
from autograder.sandbox.inside import stubs, wire


class Box:
    """An object that is no module."""

    size = 3

    def __init__(self, text):
        self.text = text

    def upper(self):
        return self.text.upper()

    def fail(self):
        raise KeyError(self.text)


def look(model, idx, generator=None, mode=None):
    if mode is not None:
        model.train(mode)
    with torch.no_grad():
        logits, loss = model(idx)
    return logits, loss, torch.rand(3, generator=generator)


NAMESPACE = {"Box": Box, "look": look, "spoil": lambda model: setattr(model, "seen", [1, "x"])}


@pytest.fixture
def here():
    return Submission(Local(NAMESPACE))


def rolled(submission, v=5, block_size=4):
    profile = [float(i) for i in range(v)]
    return submission.stub("Rolled", profile=profile, weights=list(range(1, block_size + 1)))


def test_methods_and_attributes_of_an_object(here):
    box = here.build("Box", "abc")
    assert box.method("upper")() == "ABC"
    assert box.attribute("size") == 3 and box.attribute("text") == "abc"
    assert box.method("fail").error().type == "KeyError"
    with pytest.raises(StudentError, match="AttributeError"):
        box.attribute("colour")
    assert box.method("colour").error().type == "AttributeError"
    assert isinstance(box.attribute("upper"), wire.Opaque)


def test_generators_can_be_arguments(here):
    model, idx = rolled(here), torch.zeros(1, 2, dtype=torch.int64)
    draws = [here.function("look")(model, idx, wire.Generator(seed))[2] for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert torch.equal(draws[0], torch.rand(3, generator=torch.Generator().manual_seed(1)))
    assert here.last["drew"] is False
    here.function("look")(model, idx)
    assert here.last["drew"] is True


def test_no_generator_is_taken_from_the_sandbox():
    node = wire.pack(wire.Generator(3), [])
    assert isinstance(wire.unpack(node, [], objects={}), torch.Generator)
    with pytest.raises(wire.WireError):
        wire.unpack(node, [])
    for seed in ("x", None, 2**70, [1]):
        with pytest.raises(wire.WireError):
            wire.unpack({"generator": seed}, [], objects={})


def test_modes_can_be_read(here):
    model, idx = rolled(here), torch.zeros(1, 2, dtype=torch.int64)
    assert model.training() is True
    here.function("look")(model, idx, mode=False)
    assert model.training() is False


def test_what_a_stub_saw(here):
    model, idx = rolled(here), torch.tensor([[1, 2, 3]])
    here.function("look")(model, idx, mode=False)
    (call,) = model.seen()
    assert torch.equal(call["idx"], idx)
    assert (call["targets"], call["training"], call["graph"]) == (None, False, False)
    assert model.seen() == []
    here.function("spoil").do(model)
    with pytest.raises(wire.WireError):
        model.seen()


def test_a_stub_remembers_a_bounded_number_of_calls():
    model = stubs.Rolled([0.0, 1.0], [1])
    for _ in range(stubs.MOST_SEEN + 5):
        model(torch.zeros(1, 1, dtype=torch.int64))
    assert len(model.seen) == stubs.MOST_SEEN


@pytest.mark.parametrize("name", stubs.STUBS)
@pytest.mark.parametrize("shape", [(2, 5), (2, 0), (4,)])
def test_a_stub_refuses_what_does_not_fit(name, shape):
    made = {
        "Rolled": lambda: stubs.Rolled([0.0] * 3, [1] * 4),
        "Window": lambda: stubs.Window(vocab_size=3, block_size=4, memory=2, width=2, n_hidden=3),
    }
    with pytest.raises(ValueError):
        made[name]()(torch.zeros(shape, dtype=torch.int64))


def test_rolled_by_hand():
    model = stubs.Rolled([5.0, 0.0, 1.0], [1, 2]).eval()
    logits, loss = model(torch.tensor([[2, 1]]), torch.tensor([[0, 1]]))
    # s is 2, then 1 + 2 · 2 = 5 = 2 (mod 3); so 5.0 stands at 2, 0.0 at 0 and 1.0 at 1
    assert logits.tolist() == [[[0.0, 1.0, 5.0], [0.0, 1.0, 5.0]]]
    right = -torch.tensor([0.0, 1.0, 5.0]).log_softmax(0)[:2].mean()
    assert loss.item() == pytest.approx(right.item())
    assert model.train()(torch.tensor([[2, 1]]))[0][0, 1].tolist() == [5.0, 0.0, 1.0]


def test_it_all_works_in_the_sandbox(grader):
    child = grader.parent.fork()
    try:
        source = (
            "import torch\nclass Box:\n    size = 3\n    def twice(self, x): return [x, 2.0 * x]\n"
            "def draw(model, generator): model.eval(); return torch.rand(2, generator=generator)\n"
        )
        child.request({"op": "cell", "source": source, "name": "cell 1"})
        submission = Submission(type("Transport", (), {"ask": staticmethod(lambda m, t: child.request(m, t))}))
        box = submission.build("Box")
        assert box.method("twice")(1.5) == [1.5, 3.0] and box.attribute("size") == 3
        model = rolled(submission)
        got = submission.function("draw")(model, wire.Generator(5))
        assert torch.equal(got, torch.rand(2, generator=torch.Generator().manual_seed(5)))
        assert model.training() is False and model.seen() == []
    finally:
        child.kill()
