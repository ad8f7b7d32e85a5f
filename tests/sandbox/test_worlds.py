"""What later cells change of what an answer reaches: found in a process of the test's own, without a sandbox."""

import dis
import subprocess
import sys
import types

import pytest

from autograder.sandbox.inside import worlds

BEFORE = """
import copy, functools, itertools, math, os, random
from dataclasses import dataclass, field
from functools import partial
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

SCALE, LIST, TABLE, SET, PAIR = 2.0, [1], {"a": [1]}, {1}, ([1], 2)
TENSOR, ARRAY, MODEL = torch.ones(3), np.ones(3), nn.Linear(2, 2)
RNG, CHANCE = torch.Generator(), random.Random(1)

def helper(x): return x * SCALE
def inner(x): return helper(x)
class Base:
    factor = 3
    def scale(self, x): return x * self.factor
@dataclass
class Config:
    width: int = 4
    sizes: list = field(default_factory=list)
CONFIG = Config()
def counted():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step
STEP = counted()
double = partial(helper)
"""
# an answer, a later cell, and the names that this cell changes for it
CHANGED = {
    "helper": ("def answer(x): return helper(x)", "def helper(x, y): return x", {"helper": "redefined"}),
    "helper of a helper": ("def answer(x): return inner(x)", "helper = None", {"helper": "redefined"}),
    "constant": ("def answer(x): return helper(x)", "SCALE = 3.0", {"SCALE": "redefined"}),
    "module's name": ("def answer(x): return F.softmax(x)", "F = np.arange(9)", {"F": "redefined"}),
    "loop variable": ("def answer(x): return x * SCALE", "for SCALE in range(3): pass", {"SCALE": "redefined"}),
    "deleted": ("def answer(x): return helper(x)", "del helper", {"helper": "deleted"}),
    "all deleted": ("def answer(x): return helper(x)", "globals().clear()", {"helper": "deleted", "SCALE": "deleted"}),
    "built-in hidden": ("def answer(x): return sum(x)", "sum = 3", {"sum": "redefined"}),
    "built-in replaced": (
        "def answer(x): return sum(x)",
        "import builtins\nbuiltins.sum = max",
        {"builtins": "changed"},
    ),
    "class attribute": ("class answer(Base): pass", "Base.factor = 4", None),
    "own attribute": ("class answer(Base): pass", "answer.scale = lambda self, x: x", {"answer": "changed"}),
    "method of a base": ("def answer(x): return Base().scale(x)", "Base.scale = None", {"Base": "changed"}),
    "list grown": ("def answer(x): return LIST", "LIST.append(2)", {"LIST": "changed"}),
    "nested list": ("def answer(x): return PAIR", "PAIR[0].append(2)", {"PAIR": "changed"}),
    "dict": ("def answer(x): return TABLE['a']", "TABLE['a'] = [1]", {"TABLE": "changed"}),
    "set": ("def answer(x): return SET", "SET.add(5)", {"SET": "changed"}),
    "tensor in place": ("def answer(x): return x + TENSOR", "TENSOR.mul_(2)", {"TENSOR": "changed"}),
    "tensor's data": ("def answer(x): return x + TENSOR", "TENSOR.data[0] = 5", {"TENSOR": "changed"}),
    "array": ("def answer(x): return x + ARRAY", "ARRAY[0] = 2", {"ARRAY": "changed"}),
    "trained": (
        "def answer(x): return MODEL(x)",
        "with torch.no_grad(): MODEL.weight.add_(1)",
        {"MODEL": "changed"},
    ),
    "data class": ("def answer(x): return x * CONFIG.width", "CONFIG.width = 8", {"CONFIG": "changed"}),
    "list in a data class": ("def answer(x): return CONFIG.sizes", "CONFIG.sizes.append(1)", {"CONFIG": "changed"}),
    "closure": ("def answer(x): return STEP()", "STEP()", {"STEP": "changed"}),
    "default": ("def answer(x, seen=LIST): return seen", "LIST.append(1)", None),
    "partial": ("def answer(x): return double(x)", "SCALE = 1.0", {"SCALE": "redefined"}),
    "code of a function": ("def answer(x): return helper(x)", "helper.__code__ = inner.__code__", None),
    "attribute of a module": ("def answer(x): return F.softmax(x)", "F.softmax = F.relu", {"F": "changed"}),
    "method of a tensor": (
        "def answer(x): return x.softmax(-1)",
        "torch.Tensor.softmax = lambda x, d: x",
        {"Tensor": "changed"},
    ),
    "class of a library": ("def answer(x): return nn.Softmax(-1)(x)", "nn.Softmax.forward = None", {"nn": "changed"}),
    "imported inside": ("def answer(x):\n    import math\n    return math.pi", "math.pi = 3", {"math": "changed"}),
    "by its text": ("def answer(x): return globals()['SCALE']", "SCALE = 7", {}),
    "environment": ("def answer(x): return os.environ.get('A')", "os.environ['A'] = '1'", None),
    "file": ("def answer(x): return open('x').read()", "open('x', 'w').write('1')", {}),
    "generator of random numbers": ("def answer(x): return torch.rand(3, generator=RNG)", "RNG.manual_seed(5)", None),
    "Python's generator": ("def answer(x): return CHANCE.random()", "CHANCE.random()", None),
    "lambda": ("answer = lambda x: helper(x)", "helper = 1", {"helper": "redefined"}),
    "decorated": ("@torch.no_grad()\ndef answer(x): return helper(x)", "helper = 1", {"helper": "redefined"}),
    "static method": (
        "class answer:\n    @staticmethod\n    def f(x): return helper(x)",
        "helper = 1",
        {"helper": "redefined"},
    ),
    "property": ("class answer:\n    @property\n    def f(x): return helper(x)", "helper = 1", {"helper": "redefined"}),
    "module that it wrote": (
        "open('own.py', 'w').write('TABLE = [1]\\ndef f(): return TABLE')\n"
        "import sys; sys.path.insert(0, os.getcwd())\nimport own\ndef answer(x): return own.f()",
        "own.TABLE.append(2)",
        {"own": "changed"},
    ),
    "name in a module that it wrote": (
        "open('own2.py', 'w').write('SIZE = 1\\ndef f(): return SIZE')\n"
        "import sys; sys.path.insert(0, os.getcwd())\nfrom own2 import f\ndef answer(x): return f()",
        "import own2\nown2.SIZE = 2",
        None,
    ),
    "executed": (
        "space = {'SIZE': [1]}\nexec('def answer(): return SIZE', space)\nanswer = space['answer']",
        "space['SIZE'].append(1)",
        None,
    ),
    "name of executed code": (
        "space = {'SIZE': 1}\nexec('def answer(): return SIZE', space)\nanswer = space['answer']",
        "space['SIZE'] = 2",
        None,
    ),
    "instance": ("class Inner:\n    f = helper\nanswer = Inner().f", "SCALE = 1", {"SCALE": "redefined"}),
}
UNCHANGED = {
    "nothing": ("def answer(x): return helper(x)", "pass"),
    "other names": ("def answer(x): return helper(x)", "mask = 1\ndef other(): pass\nfor i in range(3): pass"),
    "name of an attribute": ("def answer(x): return x.factor", "factor = 3"),
    "what it inherits from, again": ("class answer(Base): pass", "class Base: pass"),
    "itself": ("def answer(x): return 1", "answer = None"),
    "what it does not use": ("def answer(x): return helper(x)", "LIST.append(1)\nF = None\nTABLE.clear()"),
    "called": ("class answer(nn.Linear): pass", "answer(2, 3)(torch.ones(2))"),
    "used for a model": ("def answer(x): return nn.Linear(2, 2)(x)", "nn.Linear(3, 3)(torch.ones(3))"),
    "abstract": ("import abc\nclass answer(abc.ABC):\n    @abc.abstractmethod\n    def f(self): pass", "x = 1"),
    "the same again": ("def answer(x): return F.softmax(x)", "import torch.nn.functional as F"),
    "a local of that name": ("def answer(x):\n    SCALE = 1\n    return SCALE", "SCALE = 3"),
}


@pytest.fixture
def place(monkeypatch, tmp_path):
    """An empty folder and an empty notebook, as a child has them; what cells patch is as before afterwards."""
    import builtins
    import math

    import torch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(math, "pi", math.pi)
    monkeypatch.setattr(builtins, "sum", builtins.sum)
    monkeypatch.setattr(torch.nn.functional, "softmax", torch.nn.functional.softmax)
    monkeypatch.setattr(torch.nn.Softmax, "forward", torch.nn.Softmax.forward)
    monkeypatch.setenv("A", "0")
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    yield vars(module)
    for name in ("own", "own2"):
        sys.modules.pop(name, None)
    if "softmax" in vars(torch.Tensor):
        del torch.Tensor.softmax


def compared(names, answer, later):
    exec(BEFORE, names)
    points = worlds.Checkpoints(names)
    exec(answer, names)
    points.make("answer", names)
    exec(later, names)
    points.after("code cell 9")
    return points.compared()["worlds"]["answer"]


@pytest.mark.parametrize("answer, later, named", CHANGED.values(), ids=CHANGED)
def test_what_a_later_cell_changes_is_found(place, answer, later, named):
    found = compared(place, answer, later)
    assert found["apart"]
    if named is not None:
        assert {name: did for name, did, _ in found["names"]} == named
    assert all(cell in ("", "code cell 9") for _, _, cell in found["names"])


@pytest.mark.parametrize("answer, later", UNCHANGED.values(), ids=UNCHANGED)
def test_what_later_cells_do_otherwise_changes_nothing(place, answer, later):
    found = compared(place, answer, later)
    assert not found["apart"] and not found["names"]


@pytest.mark.parametrize(
    "held",
    [
        "iter([1, 2])",
        "(i for i in range(3))",
        "functools.lru_cache(helper)",
        "np.random.default_rng(1)",
        "open(os.devnull)",
        "np.ones(2**20)",
        "torch.ones(2**21)",
    ],
)
def test_what_cannot_be_looked_into_counts_as_changed(place, held):
    exec(BEFORE + f"\nHELD = {held}", place)
    found = compared(place, f"HELD = {held}\ndef answer(x): return HELD", "pass")
    assert found["apart"] and not found["names"]


def test_what_is_defined_below_is_named_and_keeps_its_meaning(place):
    found = compared(place, "def answer(x): return later(x)", "def later(x): return x")
    assert found == {"apart": False, "moved": False, "names": [["later", "defined", "code cell 9"]]}


def test_an_answer_below_its_check_is_named(place):
    points = worlds.Checkpoints(place)
    points.make("answer", {})
    exec("def answer(): pass", place)
    points.after("code cell 4")
    assert points.compared()["worlds"]["answer"]["names"] == [["answer", "defined", "code cell 4"]]


HOSTILE = {
    "raises whatever is asked": "class Odd:\n    def __getattribute__(self, name): raise RuntimeError\nHELD = Odd()",
    "is endless": "HELD = []\nfor _ in range(100_000): HELD = [HELD]",
    "holds itself": "HELD = []\nHELD.append(HELD)",
    "has a class that lies": "class Odd:\n    __class__ = property(lambda self: 1 / 0)\nHELD = Odd()",
    "has a dict that is none": "class Odd:\n    __dict__ = 3\nHELD = Odd()",
    "is wide": "HELD = [object() for _ in range(100_000)]",
    "compares as it likes": "class Odd:\n    def __eq__(self, other): raise KeyError\nHELD = {1: Odd()}",
}


@pytest.mark.parametrize("held", HOSTILE.values(), ids=HOSTILE)
def test_odd_objects_do_no_harm(place, held):
    exec(BEFORE + held, place)
    points = worlds.Checkpoints(place)
    exec("def answer(x): return helper(HELD)", place)
    points.make("answer", place)
    exec("SCALE = 3", place)
    points.after("code cell 9")
    found = points.compared()["worlds"]["answer"]
    assert found["apart"] and sum(len(point.states) for point in points.made.values()) <= worlds.MOST_OBJECTS


def test_variables_are_those_that_python_looks_up():
    """Read from bytes, since `dis` takes a hundred times as long; on each version of Python it is the same."""
    lookups = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
    for module in (subprocess, types, worlds, dis):
        with open(module.__file__, encoding="utf-8") as file:
            waiting = [compile(file.read(), "module", "exec")]
        for code in waiting:
            waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
            expected = {i.argval for i in dis.get_instructions(code) if i.opname in lookups}
            assert worlds.variables_of(code) == expected
