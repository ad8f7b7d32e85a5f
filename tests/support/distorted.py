"""Answers that compute what is right and return something else: for what checks say about wrong values."""

import torch

from autograder.checks.proxies import Local
from autograder.mistakes.bank import bank, namespace_of


def right(exercise):
    """The course's own solution, behind the interface of a submission."""
    found = bank(exercise)
    return Local(namespace_of(f"{exercise}/right", found.around, found.right), found.right)


def noise(tensor):
    return torch.randn(tensor.shape, generator=torch.Generator().manual_seed(3)).to(tensor.dtype)


# what becomes of a tensor with fractions, and of a number: the same whatever is right, or something near it
CONSTANT = {
    "zeros": (torch.zeros_like, lambda number: type(number)(0)),
    "ones": (torch.ones_like, lambda number: type(number)(1)),
    "noise": (noise, lambda number: type(number)(7)),
    "nothing": (lambda tensor: tensor * torch.nan, lambda number: None),
}
VARYING = {
    "larger": (lambda tensor: tensor * 1.1, lambda number: number * 2 if type(number) is int else number * 1.1),
    "texts": (lambda tensor: tensor, lambda number: number),  # of which each is another in all ways
    "nearly": (lambda tensor: tensor * (1 + 3e-4), lambda number: number * (1 + 3e-4)),
}
FEW = 16  # numbers of a tensor that are looked for in messages; among more, some are there by chance
MANY = 10_000


class Distorted(Local):
    """The right answer, of whose replies each value is changed.

    Its calls were `given` numbers, and it `gave` some, where `right` ones were due, and the right `texts`.
    """

    def __init__(self, exercise, way):
        other = right(exercise)
        self.bench, self.text, self.again, self.name = other.bench, other.text, other.again, other.name
        self.tensor, self.number = {**CONSTANT, **VARYING}[way]
        self.given, self.gave, self.right, self.texts = set(), set(), set(), set()

    def ask(self, message, tensors):
        reply, made = super().ask(message, tensors)
        if message["op"] != "call" or "value" not in reply:
            return reply, made
        self.given |= {number for number in plain_in([message["args"], message["kwargs"]]) if type(number) is float}
        self.made = list(made)
        return {**reply, "value": self.node(reply["value"])}, self.made

    def node(self, node):
        if "tensor" in node:
            before = self.made[node["tensor"]].detach()
            after = self.changed(before)
            if before.dtype.is_floating_point and before.numel() <= FEW:
                self.right |= {number for number in before.flatten().tolist() if number == number}
            if after.dtype.is_floating_point and after.numel() <= MANY:
                self.gave |= set(after.double().flatten().tolist())
            self.made[node["tensor"]] = after.contiguous()
            return {key: it for key, it in node.items() if key != "stride"}
        for kind in ("list", "tuple"):
            if kind in node:
                return {kind: [self.node(each) for each in node[kind]]}
        if "dict" in node:
            return {"dict": [[key, self.node(each)] for key, each in node["dict"]]}
        value = node.get("value")
        if type(value) in (int, float):
            after = self.number(value)
            self.right |= {value} if type(value) is float else set()
            self.gave |= {after} if type(after) is float else set()
            return {"value": after}
        if type(value) is bool:
            return {"value": not value}
        if type(value) is str:
            self.texts.add(value)
            return {"value": value[1:] + "a"}
        return node

    def changed(self, tensor):
        if tensor.dtype.is_floating_point:
            return self.tensor(tensor)
        return ~tensor if tensor.dtype == torch.bool else tensor + 1


def plain_in(node):
    """The plain values in a part of a message."""
    if isinstance(node, dict):
        yield from plain_in(list(node.values()))
    elif isinstance(node, list):
        for each in node:
            yield from plain_in(each)
    else:
        yield node
