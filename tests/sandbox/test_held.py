"""What an object holds is found whatever its class looks like, and told in a few numbers."""

from collections import deque

import pytest
import torch

from autograder.checks.proxies import Local, StudentError, Submission
from autograder.sandbox import replies
from autograder.sandbox.inside import held, wire

KEYS, VALUES = torch.tensor([[3.0, 0.0], [-1.0, 3.0]]), torch.tensor([5.0, 0.25])


class Attributes:
    def __init__(self):
        self.keys, self.values = KEYS.clone(), VALUES.clone()


class Slots:
    __slots__ = ("keys", "missing", "values")

    def __init__(self):
        self.keys, self.values = KEYS.clone(), VALUES.clone()


class Entries(dict):
    def __init__(self):
        super().__init__(chunks=deque([(KEYS[:1].clone(), KEYS[1:].clone())]), values={"all": [VALUES.clone()]})


class Chunks(list):
    def __init__(self):
        super().__init__([KEYS.clone(), VALUES.clone()])


class Buffers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", KEYS.clone())
        self.values = torch.nn.Parameter(VALUES.clone())


def closure():
    kept = [KEYS.clone(), VALUES.clone()]

    def extend():
        return kept

    return extend


CLASSES = [Attributes, Slots, Entries, Chunks, Buffers, closure]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_tensors_are_found_wherever_they_are_kept(kind):
    found = Submission(Local({"Kept": kind})).build("Kept").held()
    assert found.size == 6
    assert found.numbers.tolist() == [-1, 0.25, 3, 5] and found.numbers.dtype is torch.float64


def test_the_owner_of_a_method_and_cycles_are_followed():
    owner = Attributes()
    owner.itself = owner
    found = held.tensors_of([owner.__init__, owner])
    assert sorted(map(id, found)) == sorted(map(id, (owner.keys, owner.values)))


def test_what_views_show_counts_once_and_never_more_than_the_memory():
    memory = torch.arange(12.0)
    assert held.size_of([memory[:4], memory[4:6]]) == 6
    assert held.size_of([memory[:4], memory, memory]) == 12
    assert held.size_of([memory[:2, None].expand(2, 50)]) == 12
    assert held.size_of([memory[:2], memory.double()]) == 14
    assert held.size_of([torch.empty(3, 4, device="meta"), torch.empty(0)]) == 12


def test_numbers_are_told_without_infinities_and_of_no_more_than_there_is_room_for():
    odd = [torch.tensor([1.0, torch.inf, torch.nan, -0.0]), torch.tensor([7]), torch.ones(2, device="meta")]
    assert held.numbers_in(odd).tolist() == [1]
    assert held.numbers_in([]).tolist() == []
    assert len(held.numbers_in([torch.arange(1.0, held.MOST_NUMBERS + 9)])) == held.MOST_NUMBERS


def test_an_object_that_holds_too_many_others_is_refused():
    def endless():
        return [[i] for i in range(held.MOST_OBJECTS + 1)]

    with pytest.raises(StudentError, match="It holds too many objects") as told:
        Submission(Local({"endless": endless})).build("endless").held()
    assert told.value.by_kit
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert held.tensors_of(deep) == []


class Pretends:
    """An object that stops whoever looks into it."""

    @property
    def __dict__(self):
        raise RuntimeError("no")


def test_an_object_that_will_not_be_looked_into_is_an_error_of_its_own():
    with pytest.raises(StudentError, match="RuntimeError: no"):
        Submission(Local({"Pretends": Pretends})).build("Pretends").held()


@pytest.mark.parametrize(
    "size, numbers",
    [
        (None, torch.zeros(0, dtype=torch.float64)),
        (-1, torch.zeros(0, dtype=torch.float64)),
        (True, torch.zeros(0, dtype=torch.float64)),
        (2, [1.0, 2.0]),
        (2, torch.ones(1, 2, dtype=torch.float64)),
        (2, torch.ones(2)),
        (2, torch.tensor([2.0, 1.0], dtype=torch.float64)),
        (2**20, torch.arange(held.MOST_NUMBERS + 1, dtype=torch.float64)),
    ],
)
def test_a_reply_that_tells_it_otherwise_is_refused(size, numbers):
    tensors = []
    reply = {"ok": True, "size": size, "numbers": wire.pack(numbers, tensors)}
    with pytest.raises(wire.WireError):
        replies.held(reply, tensors)


@pytest.mark.parametrize("kind", [Entries, Chunks], ids=lambda kind: kind.__name__)
def test_an_object_that_is_a_container_is_handed_over_as_it_is(kind):
    """What it holds is no input: it may be changed, and stays on its device."""

    def fill(x, kept):
        for tensor in held.tensors_of(kept):
            tensor.add_(1)
        if isinstance(kept, list):
            kept.append(x)
        else:
            kept[len(kept)] = x
        return x + 1

    submission = Submission(Local({"Kept": kind, "fill": fill}))
    kept, call = submission.build("Kept"), submission.function("fill")
    call(torch.ones(3), kept)
    assert not submission.last.changed
    assert kept.held().size == 9
    assert call.on("meta", torch.ones(3), kept).device.type == "meta"
    assert kept.held().size == 12


def test_torchs_own_causal_mask_works_where_a_call_is_watched():
    from torch.nn.attention.bias import causal_lower_right

    def attend(x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, causal_lower_right(x.shape[-2], 3))

    call, x = Submission(Local({"attend": attend})).function("attend"), torch.ones(1, 1, 3, 2)
    assert call.on("meta", x).device.type == "meta"
    assert torch.equal(call.counted(x), x)
