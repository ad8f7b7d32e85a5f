"""What comes back from the sandbox, read once: each reply is held against what was asked for.

A reply that is less than that, more, of another kind or with other names is refused here, by a `wire.WireError`.
Nothing past this module touches a dict or a list that a submission's process has made.
"""

import itertools
from dataclasses import dataclass

import torch

from .inside import wire

MAX_NUMBERS = 2**18  # in the tensors of one answer: eight times as many as in the largest right one
KINDS = ("class", "callable", "other")  # what a name may stand for, besides nothing
DEVICES = ("cpu", "meta", "cuda")
SEEN = {"idx": torch.Tensor, "targets": (torch.Tensor, type(None)), "training": bool, "graph": bool}


@dataclass(frozen=True)
class Call:
    """What a call came to: its value and what was witnessed of it.

    `changed`: whether a tensor that was given was changed in place; `replaced`: whether a module that was given has
    other parameter objects than before; `drew`: whether torch's own generator was drawn from or seeded; `products`: how
    many products and softmaxes were computed, if these were counted. Of a call that was differentiated, `inputs` holds
    a gradient or None for every input that asked for one, in order, and `parameters` those of a module by name.
    """

    value: object
    devices: list
    changed: bool
    replaced: bool
    drew: bool
    products: int
    inputs: list | None = None
    parameters: dict | None = None


@dataclass(frozen=True)
class Failure:
    """The error that the submission's own code raised: its type, its message, and a place in the code or None.

    `done` says how many of the requests that went before were served.
    """

    type: str
    message: str
    where: dict | None
    done: int


def call(reply, tensors, given, differentiated=False, named=None):
    """The Call that a reply tells of.

    `given` are the tensors that were sent as arguments, in order; `named` the shapes by name of parameters that the
    module called is known to have. Raises WireError.
    """
    changed = _list_of(int, reply, "changed")
    if not all(0 <= place < len(given) for place in changed):
        raise wire.WireError("it says of a tensor that was not given that it was changed")
    found = {
        "value": wire.unpack(reply.get("value"), tensors),
        "devices": _list_of(str, reply, "devices", DEVICES),
        "changed": bool(changed),
        "replaced": _field(bool, reply, "replaced"),
        "drew": _field(bool, reply, "drew"),
        "products": _field(int, reply, "products"),
    }
    if differentiated:
        gradients = _field(dict, reply, "gradients")
        found["inputs"] = _of_inputs(wire.unpack(gradients.get("inputs"), tensors), given)
        found["parameters"] = _of_parameters(wire.unpack(gradients.get("parameters"), tensors), named or {})
    return Call(**found)


def _of_inputs(gradients, given):
    """A gradient or None for each of the `given` tensors that asked for one."""
    asked = [tensor for tensor in given if tensor.requires_grad]
    if not isinstance(gradients, list) or len(gradients) != len(asked):
        raise wire.WireError(f"there is not one gradient for each of {len(asked)} inputs")
    for gradient, tensor in zip(gradients, asked, strict=True):
        if gradient is not None and not (_is_tensor(gradient, tensor.shape) and gradient.dtype == tensor.dtype):
            raise wire.WireError("the gradient of an input is none of its shape and dtype")
    return gradients


def _of_parameters(gradients, named):
    """A gradient or None for each parameter by name: at least for those in `named`, {name: shape}."""
    if not isinstance(gradients, dict) or not gradients.keys() >= named.keys():
        raise wire.WireError("there is not one gradient for each parameter")
    for name, gradient in gradients.items():
        if gradient is not None and not _is_tensor(gradient, named.get(name)):
            raise wire.WireError("the gradient of a parameter is none of its shape")
    return gradients


def parameters(reply, tensors, named):
    """The parameters of a module by name, those in `named` ({name: shape}) among them. Raises WireError."""
    found = wire.unpack(reply.get("parameters"), tensors)
    if not isinstance(found, dict) or not found.keys() >= named.keys():
        raise wire.WireError("the parameters are not all there")
    if not all(_is_tensor(tensor, named.get(name)) for name, tensor in found.items()):
        raise wire.WireError("a parameter is no tensor of its shape")
    return found


def frozen(reply, tensors):
    """The names of the parameters that ask for no gradient. Raises WireError."""
    names = wire.unpack(reply.get("frozen"), tensors)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise wire.WireError("the names of frozen parameters are no list")
    if not set(names) <= parameters(reply, tensors, {}).keys():
        raise wire.WireError("a parameter that is not there is said to be frozen")
    return set(names)


def attribute(reply, tensors):
    """The value of an attribute. Raises WireError."""
    return wire.unpack(reply.get("value"), tensors)


def training(reply):
    """Whether a module is in train mode. Raises WireError."""
    return _field(bool, reply, "training")


def seen(reply, tensors):
    """What a stub model noted of its first calls: a list of dicts with the fields of SEEN. Raises WireError."""
    calls = wire.unpack(reply.get("seen"), tensors)
    if not isinstance(calls, list) or not all(
        isinstance(one, dict) and one.keys() == SEEN.keys() and all(isinstance(one[n], SEEN[n]) for n in SEEN)
        for one in calls
    ):
        raise wire.WireError("what a model saw is not what it notes")
    return calls


def devices(reply):
    """The devices that there are. Raises WireError."""
    return _list_of(str, reply, "devices", DEVICES)


def kinds(reply, names):
    """What each of the `names` stands for: one of KINDS, or "missing" for whatever is not said so."""
    said = reply.get("kinds")
    said = said if isinstance(said, dict) else {}
    return {name: said.get(name) if said.get(name) in KINDS else "missing" for name in names}


def succeeded(reply):
    """Whether a request, with all that went before it, was served without an error."""
    return reply.get("ok") is True


def failure(reply, before=0):
    """The Failure in a reply to a request that `before` others went before; what is malformed in it is left out."""
    error = reply.get("error")
    error = error if isinstance(error, dict) else {}
    where = error.get("where")
    if isinstance(where, dict) and type(where.get("line")) is int:
        where = {"file": str(where.get("file"))[:100], "line": where["line"], "code": str(where.get("code"))[:200]}
    else:
        where = None
    place = reply.get("failed")
    done = place if type(place) is int and 0 <= place < before else before
    return Failure(str(error.get("type", "an error"))[:100], str(error.get("message", ""))[:1000], where, done)


def bounded(tensors):
    """The tensors of one answer, if there are no more numbers in them than may be looked at. Raises WireError."""
    many = sum(tensor.numel() for tensor in tensors)
    if many > MAX_NUMBERS:
        raise wire.WireError(f"it holds {many} numbers, many times as many as a right answer")
    return tensors


def apart(reply, tensors, number):
    """The replies to `number` requests that came in one: [(reply, tensors)]. Raises WireError for anything else."""
    replies, shares = _list_of(dict, reply, "replies"), _list_of(int, reply, "tensors")
    if not len(replies) == len(shares) == number:
        raise wire.WireError("there are not as many replies as requests")
    if any(share < 0 for share in shares) or sum(shares) != len(tensors):
        raise wire.WireError("there are not as many tensors as the replies hold")
    tensors = iter(tensors)
    return [(one, list(itertools.islice(tensors, share))) for one, share in zip(replies, shares, strict=True)]


def _field(kind, reply, name):
    """The part of a reply called `name`, if it is of just that type."""
    value = reply.get(name)
    if type(value) is not kind:
        raise wire.WireError(f"a reply lacks its part {name!r}")
    return value


def _list_of(kind, reply, name, allowed=None):
    """The part of a reply called `name`, if it is a list of that type, and of `allowed` values, if these are given."""
    values = _field(list, reply, name)
    if not all(type(value) is kind for value in values) or (allowed and not set(values) <= set(allowed)):
        raise wire.WireError(f"the part {name!r} of a reply does not hold what it should")
    return values


def _is_tensor(value, shape=None):
    return isinstance(value, torch.Tensor) and (shape is None or value.shape == shape)
