"""Reads the replies that come back from the sandbox, and compares each with its request.

A reply with missing, extra, wrongly typed or wrongly named parts is refused here with a `wire.WireError`. No code
outside this module handles a dict or a list that a submission's process has made.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeGuard, TypeVar

from .inside import arrays, wire
from .inside.held import MOST_NUMBERS
from .inside.later import torch
from .inside.worlds import DID, MOST_CHANGES, MOST_NAME

T = TypeVar("T")
Shapes: TypeAlias = Mapping[str, Any]  # the shapes of parameters by name

MAX_NUMBERS = 2**18  # in the tensors of one answer: eight times as many as in the largest right answer
MAX_ARGUMENTS = 16  # of a question
NAME = re.compile(rf"[^\W\d]\w{{0,{MOST_NAME - 1}}}")
CELL = re.compile(r"code cell \d{1,4}|your file|the missing cell [\w-]{1,80}")  # the names of cells in tracebacks
KINDS = ("class", "callable", "other")  # of what a name may be, if it is defined
DEVICES = ("cpu", "meta", "cuda")


@dataclass(frozen=True)
class Call:
    """The result of a call: its value, and what the submission's process witnessed.

    `changed`: whether an input was changed in place; `replaced`: whether a module that was passed now has other
    parameter objects than before; `drew`: whether torch's own generator was used or seeded; `products`: the number of
    products and softmaxes, if these were counted; `work`: how many numbers its operations multiplied, read or made, if
    it was weighed; `largest`: how many numbers the largest tensor had that it made, and
    `kept`: how many it keeps for its gradients, if it was watched. If the call was differentiated, `inputs` holds a
    gradient or None for each input that requires one, in order, and `parameters` holds those of a module by name.
    """

    value: Any
    devices: list[str]
    changed: bool
    replaced: bool
    drew: bool
    products: int
    work: int
    largest: int
    kept: int = 0
    inputs: list[torch.Tensor | None] = field(default_factory=list)
    parameters: dict[str, torch.Tensor | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """What a later cell did, one of DID, to a name that an answer uses; `cell` names the cell, if that is known."""

    name: str
    did: str
    cell: str = ""


@dataclass(frozen=True)
class World:
    """What later cells have changed of what an answer reaches at its check cell.

    `is_apart`: whether they have, or may have; `is_moved`: whether a name means something else, used or not.
    """

    is_apart: bool
    is_moved: bool
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class SeenCall:
    """One call of a stub model, as the model noted it.

    That is: the tokens (b, t), the targets or None, whether it was in train mode, and whether a graph was recorded.
    """

    idx: torch.Tensor
    targets: torch.Tensor | None
    training: bool
    graph: bool


@dataclass(frozen=True)
class Held:
    """The contents of an object's tensors: how many numbers (`size`), and which but 0, each once, in order.

    `numbers` is (n,) in float64.
    """

    size: int
    numbers: torch.Tensor


@dataclass(frozen=True)
class Launched:
    """The tensors that a kernel was launched with, as it left them, and how often it read and wrote each number.

    `writers` are the programs that wrote each number last, counted first along the first axis of the grid; -1 is none.
    All but the `tensors` is witnessed: int32 tensors of their shapes.
    """

    tensors: list[torch.Tensor]
    reads: list[torch.Tensor]
    writes: list[torch.Tensor]
    writers: list[torch.Tensor]


@dataclass(frozen=True)
class Learnt:
    """What training gave: the loss before each step, (steps,) in float64, and the multiplications of one of them."""

    losses: torch.Tensor
    products: int


@dataclass(frozen=True)
class Place:
    """A line of the submission's code."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Failure:
    """The error that a request ended with: its type, its message, and its place in the submission's code, if known.

    `done` is the number of earlier requests that were served. `value_error`: whether it is a ValueError, by its own
    class or a subclass; `by_kit`: whether the kit raised it, and not the submission's code.
    """

    type: str
    message: str
    where: Place | None
    done: int
    value_error: bool = False
    by_kit: bool = False


@dataclass(frozen=True)
class Question:
    """A call of a candidate that a student's test asks for, in the middle of a request.

    `handle` is that of a module that is called, in train mode or not, with its parameters in `state`; None for the
    candidate itself. `builds`: whether the candidate is to build a module.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    builds: bool = False
    handle: int | None = None
    training: bool = False
    state: dict[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Examined:
    """Whether a student's test `accepted` a candidate, and the error that it raised if it did not."""

    accepted: bool
    raised: Failure | None


def asks(reply: wire.Message) -> bool:
    """Whether a reply to a request to examine, or to an answer, is a question rather than the end."""
    return succeeded(reply) and "question" in reply


def question(reply: wire.Message, tensors: wire.Tensors) -> Question:
    """The Question in a reply: only tensors, numbers, True, False and None are asked with. Raises WireError."""
    asked = _field(dict, reply, "question")
    if asked.get("op") not in ("call", "build"):
        raise wire.WireError("a question is none that a candidate answers")
    args, kwargs = wire.unpack(asked.get("args"), tensors), wire.unpack(asked.get("kwargs"), tensors)
    if not isinstance(args, tuple) or not isinstance(kwargs, dict) or len(args) + len(kwargs) > MAX_ARGUMENTS:
        raise wire.WireError("a question has no arguments, or too many")
    if not all(_is_asked_with(value) for value in (*args, *kwargs.values())):
        raise wire.WireError("a question has an argument that is no tensor and no number")
    state = wire.unpack(asked.get("state"), tensors)
    if not isinstance(state, dict) or len(state) > MAX_ARGUMENTS or not all(map(_is_tensor, state.values())):
        raise wire.WireError("a question has parameters that are none, or too many")
    if "handle" not in asked:
        return Question(args, kwargs, builds=asked["op"] == "build")
    return Question(args, kwargs, False, _field(int, asked, "handle"), _field(bool, asked, "training"), state)


def examined(reply: wire.Message, tensors: wire.Tensors) -> Examined:
    """What a student's test made of a candidate. Raises WireError."""
    accepted = wire.unpack(reply.get("value"), tensors)
    if type(accepted) is not bool:
        raise wire.WireError("whether a candidate was accepted is not said")
    return Examined(accepted, None if accepted else failure({"error": reply.get("raised")}))


def _is_asked_with(value: object) -> bool:
    if isinstance(value, torch.Tensor):
        return value.device.type == "cpu"
    return value is None or type(value) in (bool, int, float)


def call(
    reply: wire.Message,
    tensors: wire.Tensors,
    given: Sequence[wire.Input],
    differentiated: bool = False,
    named: Shapes | None = None,
) -> Call:
    """The Call that a reply describes.

    `given` are the tensors and arrays that were sent as arguments, in order; `named` are the shapes, by name, of
    parameters that the called module is known to have. Raises WireError.
    """
    changed = _list_of(int, reply, "changed")
    if not all(0 <= place < len(given) for place in changed):
        raise wire.WireError("it says that an input was changed that was not given")
    made = Call(
        value=wire.unpack(reply.get("value"), tensors),
        devices=_list_of(str, reply, "devices", DEVICES),
        changed=bool(changed),
        replaced=_field(bool, reply, "replaced"),
        drew=_field(bool, reply, "drew"),
        products=_field(int, reply, "products"),
        work=_field(int, reply, "work"),
        largest=_field(int, reply, "largest"),
        kept=_field(int, reply, "kept"),
    )
    if not differentiated:
        return made
    gradients = _field(dict, reply, "gradients")
    return replace(
        made,
        inputs=_of_inputs(wire.unpack(gradients.get("inputs"), tensors), given),
        parameters=_of_parameters(wire.unpack(gradients.get("parameters"), tensors), named or {}),
    )


def _of_inputs(gradients: object, given: Sequence[wire.Input]) -> list[torch.Tensor | None]:
    """A gradient or None for each of the `given` tensors that requires one."""
    asked = [one for one in given if isinstance(one, torch.Tensor) and one.requires_grad]
    if not isinstance(gradients, list) or len(gradients) != len(asked):
        raise wire.WireError(f"there is not one gradient for each of {len(asked)} inputs")
    for gradient, tensor in zip(gradients, asked, strict=True):
        if gradient is not None and not (_is_tensor(gradient, tensor.shape) and gradient.dtype == tensor.dtype):
            raise wire.WireError("the gradient of an input has another shape or dtype")
    return gradients


def _of_parameters(gradients: object, named: Shapes) -> dict[str, torch.Tensor | None]:
    """A gradient or None for each parameter by name, at least for those in `named`, {name: shape}."""
    if not isinstance(gradients, dict) or not gradients.keys() >= named.keys():
        raise wire.WireError("there is not one gradient for each parameter")
    for name, gradient in gradients.items():
        if gradient is not None and not _is_tensor(gradient, named.get(name)):
            raise wire.WireError("the gradient of a parameter has another shape")
    return gradients


def parameters(reply: wire.Message, tensors: wire.Tensors, named: Shapes) -> dict[str, torch.Tensor]:
    """The parameters of a module by name, including those in `named`, {name: shape}. Raises WireError."""
    found = wire.unpack(reply.get("parameters"), tensors)
    if not isinstance(found, dict) or not found.keys() >= named.keys():
        raise wire.WireError("the parameters are not all there")
    if not all(_is_tensor(tensor, named.get(name)) for name, tensor in found.items()):
        raise wire.WireError("a parameter is not a tensor of its shape")
    return found


def frozen(reply: wire.Message, tensors: wire.Tensors) -> set[str]:
    """The names of the parameters that do not require a gradient. Raises WireError."""
    names = wire.unpack(reply.get("frozen"), tensors)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise wire.WireError("the names of frozen parameters are not a list")
    if not set(names) <= parameters(reply, tensors, {}).keys():
        raise wire.WireError("a parameter that is not there is said to be frozen")
    return set(names)


def attribute(reply: wire.Message, tensors: wire.Tensors) -> Any:
    """The value of an attribute. Raises WireError."""
    return wire.unpack(reply.get("value"), tensors)


def training(reply: wire.Message) -> bool:
    """Whether a module is in train mode. Raises WireError."""
    return _field(bool, reply, "training")


def seen(reply: wire.Message, tensors: wire.Tensors) -> list[SeenCall]:
    """The first calls of a stub model, as it noted them. Raises WireError."""
    calls = wire.unpack(reply.get("seen"), tensors)
    if not isinstance(calls, list):
        raise wire.WireError("what a model saw is not a list")
    return [_seen_call(call) for call in calls]


def _seen_call(call: object) -> SeenCall:
    if isinstance(call, dict) and call.keys() == {"idx", "targets", "training", "graph"}:
        idx, targets, training, graph = call["idx"], call["targets"], call["training"], call["graph"]
        witnessed = isinstance(training, bool) and isinstance(graph, bool)
        if witnessed and _is_tensor(idx) and (targets is None or _is_tensor(targets)):
            return SeenCall(idx, targets, training, graph)
    raise wire.WireError("what a model saw is not what it notes")


def held(reply: wire.Message, tensors: wire.Tensors) -> Held:
    """The contents of an object's tensors. Raises WireError."""
    size, numbers = _field(int, reply, "size"), wire.unpack(reply.get("numbers"), tensors)
    is_row = _is_tensor(numbers) and numbers.dim() == 1 and numbers.dtype == torch.float64
    if size < 0 or not is_row or len(numbers) > MOST_NUMBERS or (numbers.diff() <= 0).any():
        raise wire.WireError("what an object holds is not described by numbers")
    return Held(size, numbers)


def launched(reply: wire.Message, tensors: wire.Tensors, given: Sequence[torch.Tensor]) -> Launched:
    """What a kernel did with the tensors `given`. Raises WireError."""
    parts = [wire.unpack(reply.get(name), tensors) for name in ("value", "reads", "writes", "writers")]
    for place, found in enumerate(parts):
        if not isinstance(found, list) or len(found) != len(given):
            raise wire.WireError("what a kernel left is not one tensor for each that it was given")
        for one, before in zip(found, given, strict=True):
            dtype = torch.int32 if place else before.dtype
            if not (_is_tensor(one, before.shape) and one.dtype == dtype and one.device.type == "cpu"):
                raise wire.WireError("what a kernel left has another shape or dtype than what it was given")
    return Launched(*parts)


def learnt(reply: wire.Message, tensors: wire.Tensors, steps: int) -> Learnt:
    """What training for so many steps gave. Raises WireError."""
    losses, products = wire.unpack(reply.get("losses"), tensors), _field(int, reply, "products")
    if not _is_tensor(losses, torch.Size([steps])) or losses.dtype != torch.float64 or products < 0:
        raise wire.WireError("the losses of training are not one number for each step")
    return Learnt(losses, products)


def logits(reply: wire.Message, tensors: wire.Tensors, texts: int) -> torch.Tensor:
    """The logits for the next token of so many texts, (texts, vocabulary). Raises WireError."""
    found = wire.unpack(reply.get("value"), tensors)
    if not _is_tensor(found) or found.dim() != 2 or len(found) != texts or found.device.type != "cpu":
        raise wire.WireError("the logits are not one row for each text")
    return found


def memory(reply: wire.Message, tensors: wire.Tensors, most: int) -> list[torch.Tensor] | None:
    """The state of a model that reads: tensors that hold `most` numbers at most, none of them empty.

    None if it has more. Raises WireError.
    """
    found, many = wire.unpack(reply.get("value"), tensors), _field(int, reply, "numbers")
    if many > most:
        return None
    if not isinstance(found, list) or not all(_is_tensor(part) and part.device.type == "cpu" for part in found):
        raise wire.WireError("a state is not a list of tensors")
    if any(part.numel() == 0 for part in found) or sum(part.numel() for part in found) != many:
        raise wire.WireError("a tensor of the state is empty, or not there")
    return found


def compiler(reply: wire.Message) -> bool:
    """Whether there was a compiler to ask. Raises WireError."""
    return _field(bool, reply, "compiler")


def devices(reply: wire.Message) -> list[str]:
    """The devices that are available. Raises WireError."""
    return _list_of(str, reply, "devices", DEVICES)


def kinds(reply: wire.Message, names: Iterable[str]) -> dict[str, str]:
    """The kind of each of the `names`: one of KINDS, or "missing" if the reply names none of these."""
    said = reply.get("kinds")
    said = said if isinstance(said, dict) else {}
    return {name: next((kind for kind in KINDS if kind == said.get(name)), "missing") for name in names}


def worlds(reply: wire.Message, exercises: Iterable[str]) -> dict[str, World]:
    """The World of each exercise. Where the reply says nothing that can be read, everything may have changed."""
    said = reply.get("worlds")
    said = said if isinstance(said, dict) else {}
    return {name: _world(said.get(name)) for name in exercises}


def _world(said: object) -> World:
    if not isinstance(said, dict) or type(said.get("apart")) is not bool or type(said.get("moved")) is not bool:
        return World(True, True)
    named = said.get("names")
    named = named if isinstance(named, list) else []
    changes = tuple(change for one in named[:MOST_CHANGES] if (change := _change(one)))
    return World(said["apart"], said["moved"], changes)


def _change(said: object) -> Change | None:
    if not isinstance(said, list) or len(said) != 3 or not all(isinstance(part, str) for part in said):
        return None
    name, did, cell = said
    if not NAME.fullmatch(name) or did not in DID:
        return None
    return Change(name, did, cell if CELL.fullmatch(cell) else "")


def succeeded(reply: wire.Message) -> bool:
    """Whether a request and those sent before it were served without an error."""
    return reply.get("ok") is True


def failure(reply: wire.Message, before: int = 0) -> Failure:
    """The Failure in a reply to a request sent with `before` earlier ones; malformed parts are left out."""
    error = reply.get("error")
    error = error if isinstance(error, dict) else {}
    where = error.get("where")
    if isinstance(where, dict) and type(where.get("line")) is int:
        where = Place(str(where.get("file"))[:100], where["line"], str(where.get("code"))[:200])
    else:
        where = None
    place = reply.get("failed")
    done = place if type(place) is int and 0 <= place < before else before
    return Failure(
        type=str(error.get("type", "an error"))[:100],
        message=str(error.get("message", ""))[:1000],
        where=where,
        done=done,
        value_error=error.get("value_error") is True,
        by_kit=error.get("by_kit") is True,
    )


def compared(reply: wire.Message, tensors: wire.Tensors, values: bool) -> tuple[Any, ...]:
    """All that the reply to a request that succeeded says, in a form that can be compared with another's.

    Of values it says only the kind, if not `values`; of parameters the shapes, since they may be random. Raises
    WireError.
    """
    bounded(tensors)
    gradients = reply.get("gradients")
    gradients = gradients if isinstance(gradients, dict) else {}
    value, inputs, parameters, state = (
        None if part is None else wire.unpack(part, tensors)
        for part in (reply.get("value"), gradients.get("inputs"), gradients.get("parameters"), reply.get("parameters"))
    )
    shapes = {n: list(p.shape) for n, p in state.items() if _is_tensor(p)} if isinstance(state, dict) else None
    seen = [value, inputs, parameters] if values else type(value).__name__
    return "answer", seen, shapes, bool(reply.get("changed")), reply.get("training") is True


def bounded(tensors: wire.Tensors) -> wire.Tensors:
    """The tensors of one answer, if they hold at most MAX_NUMBERS numbers in all. Raises WireError."""
    many = sum(map(arrays.numbers_in, tensors))
    if many > MAX_NUMBERS:
        raise wire.WireError(f"it holds {many} numbers, many times as many as a right answer")
    return tensors


def split(reply: wire.Message, tensors: wire.Tensors, number: int) -> list[tuple[wire.Message, wire.Tensors]]:
    """The replies to `number` requests that were sent as one: [(reply, tensors)]. Raises WireError."""
    replies, shares = _list_of(dict, reply, "replies"), _list_of(int, reply, "tensors")
    if not len(replies) == len(shares) == number:
        raise wire.WireError("there are not as many replies as requests")
    if any(share < 0 for share in shares) or sum(shares) != len(tensors):
        raise wire.WireError("there are not as many tensors as the replies hold")
    left = iter(tensors)
    return [(one, list(itertools.islice(left, share))) for one, share in zip(replies, shares, strict=True)]


def _field(kind: type[T], reply: wire.Message, name: str) -> T:
    """The part of a reply called `name`, if it has exactly that type. Raises WireError."""
    value = reply.get(name)
    if type(value) is not kind:
        raise wire.WireError(f"a reply lacks its part {name!r}")
    return value


def _list_of(kind: type[T], reply: wire.Message, name: str, allowed: Iterable[T] | None = None) -> list[T]:
    """The part of a reply called `name`, if it is a list of that type, with `allowed` values only. Raises WireError."""
    values = _field(list, reply, name)
    if not all(type(value) is kind for value in values) or (allowed and not set(values) <= set(allowed)):
        raise wire.WireError(f"the part {name!r} of a reply has the wrong type")
    return values


def _is_tensor(value: object, shape: torch.Size | None = None) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor) and (shape is None or value.shape == shape)
