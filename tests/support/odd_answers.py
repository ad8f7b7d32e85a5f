"""Answers that give something odd, instead of what a right one gives: no check may end by a mistake of its own there.

Each is a right answer whose `calls`, by their numbers, give an odd value: the first ones alone, so that a check's own
easy case meets it, or later ones, so that it gets as far as its own question.
"""

import copy
import functools
import random
from inspect import ismethod
from types import MethodType

import numpy
import torch

from autograder.checks.proxies import Local
from autograder.sandbox.inside.handlers import RequestHandler


class Strange(torch.Tensor):
    """A tensor of a class of its own."""


def _tensors(change):
    """Changes each tensor in a value, and leaves the rest as it is."""

    def changed(value):
        if isinstance(value, torch.Tensor):
            return change(value)
        if isinstance(value, (list, tuple)):
            return type(value)([changed(part) for part in value])
        if isinstance(value, float):
            return changed(torch.tensor(value))
        return value

    return changed


def _filled(number):
    return _tensors(lambda x: torch.full_like(x, number, dtype=x.dtype if x.is_floating_point() else torch.float32))


def _to(dtype):
    return _tensors(lambda x: x.to(dtype))


def _first(change):
    """Changes the first part of a pair alone."""
    return lambda value: (change(value[0]), *value[1:]) if isinstance(value, tuple) and value else change(value)


def _last(change):
    return lambda value: (*value[:-1], change(value[-1])) if isinstance(value, tuple) and value else change(value)


def _numpys(value):
    """Changes each plain number, and each in a list or a tuple, into one of NumPy's."""
    if isinstance(value, (list, tuple)):
        return type(value)([_numpys(part) for part in value])
    kinds = {bool: numpy.bool_, int: numpy.int64, float: numpy.float32}
    return kinds[type(value)](value) if type(value) in kinds else value


on_meta = _tensors(lambda x: x.to("meta"))
KINDS = {
    "on meta": on_meta,
    "the first on meta": _first(on_meta),
    "the last on meta": _last(on_meta),
    "empty": _tensors(lambda x: x.new_zeros(0)),
    "empty in each dimension": _tensors(lambda x: x.new_zeros([0] * x.dim())),
    "no rows": _tensors(lambda x: x[:0] if x.dim() else x),
    "NaN": _filled(float("nan")),
    "infinity": _filled(float("inf")),
    "minus infinity": _filled(-float("inf")),
    "huge": _tensors(lambda x: torch.full_like(x, 1.7e308, dtype=torch.float64)),
    "zeros": _filled(0.0),
    "below 0": _tensors(lambda x: -x if x.is_floating_point() else x - 10**9),
    "NaN in one place": _tensors(
        lambda x: (
            x.flatten().index_fill(0, torch.tensor([0]), torch.nan).reshape(x.shape)
            if x.is_floating_point() and x.numel()
            else x
        )
    ),
    "bool": _to(torch.bool),
    "int64": _to(torch.int64),
    "uint8": _to(torch.uint8),
    "float64": _to(torch.float64),
    "float16": _to(torch.float16),
    "complex": _to(torch.complex64),
    "float8": _tensors(lambda x: x.float().to(torch.float8_e4m3fn)),
    "sparse": _tensors(lambda x: x.to_sparse()),
    "of a subclass": _tensors(lambda x: x.as_subclass(Strange)),
    "flat": _tensors(lambda x: x.flatten()),
    "transposed": _tensors(lambda x: x.mT if x.dim() > 1 else x),
    "a number": _tensors(lambda x: x.sum()),
    "a dimension more": _tensors(lambda x: x[None]),
    "many dimensions": _tensors(lambda x: x.reshape([1] * 12 + list(x.shape))),
    "a row more": _tensors(lambda x: torch.cat([x, x[:1]]) if x.dim() else x),
    "large": _tensors(lambda x: x.new_zeros(()).expand(1000, 1000, 1000)),
    "None": lambda value: None,
    "a string": lambda value: "x" * 20_000,
    "a dict": lambda value: {"a": value},
    "a set": lambda value: {1, 2},
    "an empty tuple": lambda value: (),
    "a tuple of three": lambda value: (value, None, "x"),
    "a list": lambda value: [value],
    "nested": lambda value: [[[[value]]]],
    "a list of numbers": lambda value: [1, 2.5, True, None],
    "a large integer": lambda value: 10**30,
    "NaN alone": lambda value: float("nan"),
    "True": lambda value: True,
    "a type": lambda value: dict,
    "a function": lambda value: print,
    "a numpy array": _tensors(lambda x: x.detach().numpy() if x.dtype != torch.bfloat16 else x),
    "NumPy's numbers": _numpys,
    "an array of three": lambda value: numpy.arange(3.0),
    "an empty array": lambda value: numpy.zeros(0),
    "an array of one": lambda value: numpy.ones(1),
    "an array of objects": lambda value: numpy.array([{}, None]),
    "a tensor of three": lambda value: torch.arange(3.0),
    "a parameter": _tensors(lambda x: torch.nn.Parameter(x.detach()) if x.is_floating_point() else x),
}


def _stops(value):
    raise RuntimeError("it stops here")


def _refuses(value):
    raise ValueError(str(value)[:500])


KINDS |= {"an error": _stops, "a refusal": _refuses}
WHEN = {"always": range(10**9), "at first": range(1), "later": range(3, 10**9), "once, late": range(7, 8)}


class _OddHandler(RequestHandler):
    """Serves requests as for any answer, but for the odd calls: see `Odd`."""

    def __init__(self, namespace, change, calls):
        super().__init__(namespace)
        self.change, self.calls, self.made = change, calls, 0
        self.asked = ""  # what kind of request is served

    def _serve(self, request, tensors, out):
        self.asked = request["op"]
        return super()._serve(request, tensors, out)

    def find(self, target):
        found = super().find(target)
        if self.asked == "attribute" and isinstance(target, list):
            return self._odd(found)
        if self.asked != "call" or not callable(found):
            return found
        if isinstance(found, torch.nn.Module):
            return self._odd_module(found)
        odd = functools.partial(self._call, found)
        return (
            MethodType(lambda owner, *args, **kwargs: odd(*args, **kwargs), found.__self__) if ismethod(found) else odd
        )

    def _module(self, target):
        module = super()._module(target)
        if self.asked == "state":
            named = [(name, self.change(p.detach())) for name, p in type(module).named_parameters(module)]
            module = copy.copy(module)
            module.named_parameters = lambda: named
        return module

    def _odd_module(self, module):
        if "forward" not in vars(module):  # its own class's; of the module itself, as `isinstance` is asked
            module.forward = functools.partial(self._call, module.forward)
        return module

    def _call(self, function, *args, **kwargs):
        return self._odd(function(*args, **kwargs))

    def _odd(self, value):
        self.made += 1
        return self.change(value) if self.made - 1 in self.calls else value


class Odd(Local):
    """A right answer in this process, whose calls of these numbers give what `change` makes of the right value."""

    def __init__(self, namespace, text, change, calls):
        super().__init__(namespace, text)
        self.bench = _OddHandler(namespace, change, calls)


def some(exercise, many, seed):
    """Names of kinds and of times, `many` pairs of all, in an order that depends on the exercise and the seed."""
    pairs = [(kind, when) for kind in KINDS for when in WHEN]
    return random.Random(f"{seed}/{exercise}").sample(pairs, min(many, len(pairs)))
