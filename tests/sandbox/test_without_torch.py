"""The sandbox of a course that imports no torch has none, until code of the submission's imports it."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from small_course import first

from autograder import course
from autograder.new import scratch
from autograder.sandbox import jail
from autograder.sandbox.inside import unavailable, wire
from autograder.sandbox.parent import WarmParent

THING = "<a thing of torch's, which this course does not use>\n"
LINALG = ROOT / scratch.EXAMPLE


@pytest.fixture(scope="module")
def parent():
    """A sandbox as for the example of a NumPy course."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(LINALG)
        course.forget()
        with WarmParent() as parent:
            parent.start()
            yield parent
    course.forget()


@pytest.fixture
def child(parent):
    child = parent.fork()
    yield child
    child.kill()


def cell(child, source, name="<cell 1>"):
    """(what a cell prints, its error or None)."""
    reply, _ = child.request({"op": "cell", "source": source, "name": name}, seconds=60)
    printed = [one["text"] for one in reply["outputs"] if one["output_type"] == "stream"]
    return "".join(printed), reply.get("error")


def call(child, name, *args):
    tensors = []
    packed = {"args": wire.pack(args, tensors), "kwargs": wire.pack({}, [])}
    reply, answer = child.request({"op": "call", "target": name, "seed": 0, **packed}, tensors)
    assert reply["ok"], reply
    return wire.unpack(reply["value"], answer), reply


def test_which_courses_are_about_torch(tmp_path, monkeypatch):
    assert not course.imports_torch(LINALG) and course.imports_torch(ROOT)
    assert course.imports_torch(first(tmp_path / "first"))
    imports = {"answers/one.py": "import torch.nn\n", "checks.py": "from autograder.exercises.families import x\n"}
    for part, text in imports.items():
        place = tmp_path / part.replace("/", "_")
        place.mkdir()
        (place / "nbgrader_config.py").touch()
        for folder in ("source", "exercises"):
            (place / folder).symlink_to(LINALG / folder) if folder == "source" else (place / folder).mkdir()
        for exercise in (LINALG / "exercises").iterdir():
            (place / "exercises" / exercise.name / "answers").mkdir(parents=True)
            (place / "exercises" / exercise.name / "checks.py").write_text("import numpy\n")
        assert not course.imports_torch(place)
        (place / "exercises" / "norm" / part).write_text(text)
        course.forget()
        assert course.imports_torch(place)
    monkeypatch.chdir(LINALG)
    course.forget()
    assert jail.settings(jail.Limits())["torch"] is False
    course.forget()


@pytest.mark.parametrize(
    "line",
    [
        *("import numpy as np, torch", "import os; import torch", "try: import torch\nexcept ImportError: pass"),
        *("import torchvision", "torch = __import__('torch')", "from autograder import exercises"),
    ],
)
@pytest.mark.parametrize("part", ["exercises/norm/checks.py", "source/01_length_and_direction/helpers.py"])
def test_torch_is_found_however_it_is_imported(tmp_path, line, part):
    place = shutil.copytree(LINALG, tmp_path / "linalg", ignore=shutil.ignore_patterns("__pycache__"))
    assert not course.imports_torch(place)
    (place / part).write_text(line + "\n")
    course.forget()
    assert course.imports_torch(place)


def test_arrays_and_numbers_go_there_and_come_back(child):
    defined = "import sys\nimport numpy as np\ndef f(x, n):\n    x[0] = n\n    return x.sum(), [x[::2], x > 1, x + 1j]"
    assert cell(child, defined) == ("", None)
    (total, (strided, truths, complex_ones)), reply = call(child, "f", np.arange(4.0), 2)
    assert total == 8.0 and strided.tolist() == [2.0, 2.0] and truths.tolist() == [True, False, True, True]
    assert complex_ones.dtype == np.complex128 and complex_ones[1] == 1 + 1j
    assert reply["changed"] == [0] and reply["devices"] == [] and not reply["drew"]
    assert cell(child, "print('torch' in sys.modules)") == ("False\n", None)


def test_what_later_cells_change_is_noticed(child):
    cell(child, "import numpy as np\ndef helper(x):\n    return x\ndef f(x):\n    return helper(x)")
    child.request({"op": "bind", "name": "f"})
    cell(child, "def helper(x):\n    return -x", "<cell 2>")
    cell(child, "import torch", "<cell 3>")
    reply, _ = child.request({"op": "worlds"})
    assert reply["worlds"]["f"]["names"] == [["helper", "redefined", "<cell 2>"]]


@pytest.mark.slow("it imports torch behind the lock")
def test_code_that_imports_torch_gets_it_with_all_that_others_get(child):
    """Within the same cell, too: nothing is compiled, no worker starts, and a GPU that is not there is waited for."""
    import torch  # noqa: F401  a grader that has it gets the tensors

    use = "import torch\n@torch.compile\ndef f(x):\n    return x + 1\nprint(f(torch.ones(1)), torch.cuda.synchronize())"
    printed, error = cell(child, use)
    assert error is None and printed.startswith("tensor([2.]) None\n") and unavailable.NO_COMPILER in printed
    cell(child, "def g(x):\n    return torch.as_tensor(x), x")
    (tensor, array), reply = call(child, "g", np.arange(3.0))
    assert tensor.tolist() == array.tolist() == [0.0, 1.0, 2.0] and reply["devices"] == ["cpu"]
    cell(child, "def h():\n    return torch.rand(2)")
    assert call(child, "h")[1]["drew"]


@pytest.mark.slow("it imports torch behind the lock")
@pytest.mark.parametrize(
    "before",
    [
        "import importlib.util\nassert importlib.util.find_spec('torch')",
        "import sys\nsys.modules['torch._C'] = None\ntry:\n    import torch\nexcept ImportError:\n    pass\n"
        "for name in [name for name in sys.modules if name.partition('.')[0] == 'torch']:\n    del sys.modules[name]",
        "import threading\ndef f():\n    from torch import nn\nt = threading.Thread(target=f)\nt.start()\nt.join()",
    ],
    ids=["it is looked for first", "a first import fails", "a thread imports it"],
)
def test_torch_comes_with_all_that_others_get_in_whatever_way(child, before):
    printed, error = cell(child, f"{before}\nimport torch\nprint(torch.cuda.synchronize(), torch.compile(len)([1]))")
    assert error is None and printed.startswith("None 1\n") and unavailable.NO_COMPILER in printed


@pytest.mark.parametrize(
    "named", ["sys.modules['torch'] = types.ModuleType('torch')", "open('torch.py', 'w').close()\nimport torch"]
)
def test_a_module_that_is_only_named_torch_is_none(child, named):
    assert cell(child, f"import sys, types\n{named}\ndef f(x):\n    return x + 1")[1] is None
    assert call(child, "f", np.zeros(2))[0].tolist() == [1.0, 1.0]


def test_torch_is_not_there_while_it_is_being_imported():
    code = """
import importlib.machinery, sys, types
from autograder.sandbox.inside import later, wire
half = sys.modules["torch"] = types.ModuleType("torch")
half.Tensor, half.__spec__ = int, importlib.machinery.ModuleSpec("torch", None)
half.__spec__._initializing = True
print(later.is_loaded(), wire.pack(3, []))
half.__spec__._initializing = False
print(later.is_loaded())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False {'value': 3}\nTrue\n", done.stdout + done.stderr


def test_the_modules_that_serve_both_sides_import_no_torch():
    """In a process of its own, since this one has it: frames, and calls of NumPy's functions."""
    code = """
import json, socket, sys
import numpy as np
from autograder.sandbox.inside import abilities, arrays, handlers, held, no_dynamo, shell, unavailable, wire, worlds
no_dynamo.put(); worlds.settle()
def twice(x):
    return 2 * x, [x.sum(), x > 0, {"a": x[::2]}]
tensors = []
request = {"op": "call", "target": "twice", "seed": 0}
request |= {"args": wire.pack([np.arange(4.0)], tensors), "kwargs": wire.pack({}, tensors)}
here, there = socket.socketpair()
wire.send_frame(here, request, tensors)
reply, out = handlers.RequestHandler({"twice": twice}).handle(*wire.receive_frame(there))
wire.send_frame(there, reply, out)
reply, out = wire.receive_frame(here)
first, (total, truths, part) = wire.unpack(reply["value"], out)
first[0] = 5  # what came is the reader's own
print(json.dumps([first.tolist(), total, truths.tolist(), part["a"].tolist(), "torch" in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == [[5, 2, 4, 6], 6, [False, True, True, True], [0, 2], False]


def test_a_tensor_of_a_dtype_that_numpy_lacks_is_a_thing_without_a_value_too():
    """And costs none of the checks that would not look at it."""
    code = """
import socket, sys
from autograder.sandbox.inside import wire
here, there = socket.socketpair()
index = b'{"0":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},'
index += b'"1":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
blob = len(index).to_bytes(8, "little") + index + bytes(6) + bytes([128, 63])
here.sendall(wire.HEADER.pack(wire.MAGIC, 2, len(blob)) + b"{}" + blob)
_, sent = wire.receive_frame(there)
print(wire.unpack({"tensor": 0}, sent), sent[0].shape, sent[1].tolist(), "torch" in sys.modules)
sent[1][0] = 2
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{THING.strip()} (2, 1) [1.0] False\n" and not done.stderr, done.stdout + done.stderr


def test_a_tensor_that_comes_back_where_there_is_no_torch_is_a_thing_without_a_value():
    """The grader would have no room to import torch; arrays and NumPy's numbers beside it are what they are."""
    code = """
import sys
import numpy as np
from autograder.sandbox.inside import wire
carried = [np.arange(3.0), np.arange(3)]
node = {"list": [{"tensor": 0}, {"meta": [2], "dtype": "float32"}, {"dtype": "float32"}]}
node["list"] += [{"array": 1, "dtype": "int64"}, {"scalar": [1], "dtype": "int64"}]
*things, array, number = wire.unpack(node, carried)
assert all(isinstance(one, wire.Opaque) for one in things) and array.tolist() == [0, 1, 2] and number == 1
for node in ([], ["tensor"], "tensor", None, 3, {"dtype": "float32", "x": 1}, {"tensor": 9}, {}):
    try:
        print(wire.unpack(node, carried))
    except wire.WireError:
        pass
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == THING + THING + "False\n", done.stdout + done.stderr


@pytest.mark.parametrize(
    "blob",
    [
        b'{"0":{"dtype":"F64","shape":[2],"data_offsets":[0,8]}}',
        b'{"0":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}}',
        b'{"0":{"dtype":"U32","shape":[2],"data_offsets":[0,8]}}',
        b'{"0":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}}',
        b'{"1":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
        b'{"0":{"dtype":"F64","shape":[' + b"1," * 16 + b'1],"data_offsets":[0,8]}}',
        b"no index",
    ],
)
def test_frames_that_nobody_would_send_are_refused_without_torch_too(blob):
    code = f"""
import socket, sys
from autograder.sandbox.inside import wire
here, there = socket.socketpair()
index = {blob!r}
blob = len(index).to_bytes(8, "little") + index + bytes(range(2, 10))
here.sendall(wire.HEADER.pack(wire.MAGIC, 2, len(blob)) + b"{{}}" + blob)
try:
    wire.receive_frame(there)
except wire.WireError as error:
    print(error, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("a frame") and done.stdout.endswith("False\n"), done.stdout + done.stderr
