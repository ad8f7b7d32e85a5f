"""What later cells change of what an answer reaches: found in a process of the test's own, without a sandbox."""

import dis
import math
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
from conftest import ROOT

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
        "def answer(x): return ascii(x)",
        "import builtins\nbuiltins.ascii = max",
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
CHANGED |= {
    "call of a metaclass": (
        "class Meta(type):\n    def __call__(cls, *args): return 1\nclass answer(metaclass=Meta): pass",
        "Meta.__call__ = None",
        None,
    ),
    "own file, not imported yet": (
        "open('own.py', 'w').write('SIZE = 1')\ndef answer(x):\n    import own\n    return own.SIZE",
        "open('own.py', 'w').write('SIZE = 22')",
        {},
    ),
    "module of another name": (
        "def answer(x):\n    import math as m\n    return m.pi",
        "import sys\nsys.modules['math'] = None",
        None,
    ),
    "module imported from": (
        "def answer(x):\n    from math import pi\n    return pi",
        "import sys, types\nsys.modules['math'] = types.SimpleNamespace(pi=3)",
        None,
    ),
    "file in a folder": (
        "os.makedirs('data/more', exist_ok=True)\nopen('data/more/x', 'w').write('1')\n"
        "def answer(x): return np.load('data/more/x')",
        "open('data/more/x', 'w').write('22')",
        {},
    ),
    "file whose name is given": (
        "from pathlib import Path\ndef answer(x): return Path('x').read_text()",
        "Path('x').write_text('1')",
        {},
    ),
    "by eval": ("def answer(x): return eval('LI' + 'ST')", "LIST.append(2)", {}),
    "by eval of another name": ("look = eval\ndef answer(x): return look('LI' + 'ST')", "LIST.append(2)", {}),
    "by a text that is made": ("def answer(x): return globals()[f'LIS{x}']", "LIST.append(2)", {}),
    "by its own module": (
        "import sys\ndef answer(x): return getattr(sys.modules[__name__], x)",
        "LIST.append(2)",
        None,
    ),
    "by its module, imported": ("import importlib\ndef answer(x): return importlib.import_module('__main__')", "", {}),
    "by its frame": ("import sys\ndef answer(x): return sys._getframe().f_globals['LIST']", "LIST.append(2)", {}),
    "by a function's names": ("def answer(x): return answer.__globals__['LIST']", "LIST.append(2)", {}),
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
    "a file, and no code reads any": ("def answer(x): return x", "open('x', 'w').write('1')"),
    "a module imported for the first time": (
        "def answer(x):\n    import wave\n    return wave",
        "import wave",
    ),
    "a long list of numbers": ("MANY = list(range(50_000))\ndef answer(x): return MANY", "pass"),
    "a patch that is taken back": (
        "def answer(x): return F.relu(x)",
        "sigmoid = F.sigmoid\nF.sigmoid = None\nF.sigmoid = sigmoid",
    ),
    "trained, copied and saved": (
        "def answer(x): return torch.optim.Adam, nn.Linear(2, 2)(x)",
        "import copy, io\nmodel = copy.deepcopy(MODEL)\nfor kind in (torch.optim.Adam, torch.optim.SGD):\n"
        "    kind(model.parameters(), lr=0.1).step()\nprint(model)\ntorch.save(model, io.BytesIO())",
    ),
    "a local of that name": ("def answer(x):\n    SCALE = 1\n    return SCALE", "SCALE = 3"),
}


# what changes a library below all that an answer names
PATCHES = {
    "function": (torch.nn.functional, "linear"),
    "operator": (torch.Tensor, "__matmul__"),
    "method": (torch.nn.Module, "__call__"),
    "method of a layer": (torch.nn.Linear, "extra_repr"),
    "new method of a layer": (torch.nn.Linear, "__call__"),
    "class of a base": (torch.nn.modules.batchnorm._NormBase, "reset_parameters"),
    "initialization": (torch.nn.init, "kaiming_uniform_"),
    "step of an optimizer": (torch.optim.AdamW, "step"),
    "function of torch": (torch, "baddbmm"),
    "numpy": (np, "tril"),
    "mathematics": (math, "sqrt"),
}


@pytest.mark.parametrize("owner, name", PATCHES.values(), ids=PATCHES)
def test_what_is_changed_below_all_names_is_found(place, monkeypatch, owner, name):
    exec(BEFORE + "def answer(x): return helper(x)", place)
    points = worlds.Checkpoints(place)
    points.make("answer", place)
    assert not points.compared()["worlds"]["answer"]["apart"]
    monkeypatch.setattr(owner, name, lambda *given: None, raising=False)
    found = points.compared()["worlds"]["answer"]
    assert found["apart"] and len(found["names"]) == 1
    monkeypatch.undo()
    assert not points.compared()["worlds"]["answer"]["apart"]


SETTINGS = {
    "hook": "hook = torch.nn.modules.module.register_module_forward_hook(print)",
    "hook of parameters": "hook = torch.nn.modules.module.register_module_parameter_registration_hook(print)",
    "mode of functions": "mode = torch.overrides.BaseTorchFunctionMode()\nmode.__enter__()",
    "mode of operations": (
        "from torch.utils._python_dispatch import TorchDispatchMode\nmode = TorchDispatchMode()\nmode.__enter__()"
    ),
    "inference": "mode = torch.inference_mode()\nmode.__enter__()",
    "deterministic": "torch.use_deterministic_algorithms(True)",
    "saved tensors": "mode = torch.autograd.graph.save_on_cpu()\nmode.__enter__()",
    "errors of NumPy": "old = np.seterr(all='raise')",
    "recursion": "import sys\nold = sys.getrecursionlimit()\nsys.setrecursionlimit(700)",
}


@pytest.mark.drawn(2, "settings that a world sees")
@pytest.mark.parametrize("later", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_the_process_are_seen(later):
    """In a process of its own, since they would last."""
    program = (
        "import torch\nfrom autograder.sandbox.inside import worlds\n"
        f"names = {{'__name__': '__main__'}}\nexec({BEFORE!r}, names)\n"
        "points = worlds.Checkpoints(names)\nexec('def answer(x): return helper(x)', names)\n"
        "points.make('answer', names)\nassert not points.compared()['worlds']['answer']['apart']\n"
        f"exec({later!r}, names)\nassert points.compared()['worlds']['answer']['apart']\nimport os\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


IMPORTING = {
    "mask": "from torch.nn.attention.bias import causal_lower_right\ncausal_lower_right(2, 3)",
    "Jacobian": "torch.func.jacrev(lambda x: x * 2)(torch.ones(2))",
    "checkpoint": (
        "from torch.utils.checkpoint import checkpoint\ncheckpoint(nn.Linear(2, 2), torch.ones(2), use_reentrant=False)"
    ),
    "profile": "from torch.profiler import profile\nwith profile(): torch.ones(3) + 1",
}


@pytest.mark.drawn(1, "functions of torch that import its compiler")
@pytest.mark.parametrize("later", IMPORTING.values(), ids=IMPORTING)
def test_what_torch_imports_when_it_is_called_changes_nothing(later):
    """As in a child, which begins with a stand-in for the compiler: the real one wraps functions of torch."""
    program = (
        "import torch\nfrom autograder.sandbox.inside import no_dynamo, worlds\nno_dynamo.put()\nworlds.settle()\n"
        f"names = {{'__name__': '__main__'}}\nexec({BEFORE!r}, names)\npoints = worlds.Checkpoints(names)\n"
        "exec('def answer(x): return helper(x)', names)\npoints.make('answer', names)\n"
        f"exec({later!r}, names)\nassert not isinstance(no_dynamo.torch._dynamo, no_dynamo.StandIn)\n"
        "found = points.compared()['worlds']['answer']\nassert not found['apart'] and not found['names'], found\n"
        "patch = 'from torch._compile import _disable_dynamo as wrap; own = wrap(lambda seed: None)'\n"
        "exec(patch + '; own.__wrapped__ = torch.manual_seed; torch.manual_seed = own', names)\n"
        "assert points.compared()['worlds']['answer']['apart']\nimport os\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_what_checks_build_beside_an_answer_is_reached(place):
    exec(BEFORE, place)
    points = worlds.Checkpoints(place)
    exec("class Base: pass\ndef answer(x): return x", place)
    points.make("answer", place, ["Base"])
    exec("Base.factor = 4", place)
    assert points.compared()["worlds"]["answer"]["apart"]


def test_names_go_back_to_what_they_meant(place):
    exec(BEFORE, place)
    points = worlds.Checkpoints(place)
    exec("def answer(x): return sum([helper(x), 1])", place)
    points.make("answer", place)
    exec("SCALE, sum, hex = 9.0, None, None\ndef helper(): pass\ndef later(): return 7\ndel nn", place)
    points.enter("answer")
    assert place["answer"](2) == 5.0 and place["later"]() == 7 and "nn" in place and "hex" not in place
    points.enter("")
    assert place["SCALE"] == 9.0 and place["sum"] is None and "nn" not in place


def test_the_first_checkpoint_counts(place):
    """Other code for an answer is tried with the names that the student's had."""
    points = worlds.Checkpoints(place)
    exec("A = 1\ndef answer(): return A", place)
    points.make("answer", place)
    exec("A = 2", place)
    points.make("answer", place)
    points.enter("answer")
    assert place["A"] == 1


@pytest.fixture
def place(monkeypatch, tmp_path):
    """An empty folder and an empty notebook, as a child has them; what cells patch is as before afterwards."""
    import builtins

    monkeypatch.chdir(tmp_path)
    for owner, name in (
        (math, "pi"),
        (builtins, "ascii"),
        (builtins, "sum"),
        (torch.nn.functional, "softmax"),
        (torch.nn.Softmax, "forward"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setenv("A", "0")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "math", math)
    worlds.settle()
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
    by_name = set((named or {}).values()) & {"redefined", "deleted"}
    assert found["moved"] if by_name else found["apart"]  # names are given back, objects are not
    assert not (by_name and found["apart"])
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
    "is very long": "HELD = list(range(8_000_000))",
    "is slow to ask": "import time\nclass Odd:\n    def __getattribute__(self, n): time.sleep(99)\nHELD = Odd()",
    "is slow to be read": "import time\nclass Odd(type):\n    mro = lambda cls: time.sleep(0) or type.mro(cls)\n"
    "    __basicsize__ = property(lambda cls: time.sleep(99))\nclass Held(metaclass=Odd): pass\nHELD = Held()",
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
    assert found["moved"] and sum(len(point.states) for point in points.made.values()) <= worlds.MOST_OBJECTS


def test_variables_are_those_that_python_looks_up():
    """Read from bytes, since `dis` takes a hundred times as long; on each version of Python it is the same."""
    lookups = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
    for module in (subprocess, types, worlds, dis):
        with open(module.__file__, encoding="utf-8") as file:
            waiting = [compile(file.read(), "module", "exec")]
        for code in waiting:
            waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
            expected = {i.argval for i in dis.get_instructions(code) if i.opname in lookups}
            imports = {i.argval for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME"}
            assert worlds.looked_up_by(code) == (expected, imports)
