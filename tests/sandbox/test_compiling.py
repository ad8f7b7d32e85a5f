"""What Triton's compiler does not take, though the interpreter runs it, and what it takes."""

import linecache
import os
import sys
from unittest import mock

import pytest
import torch
from packaging.version import Version

from autograder.checks.proxies import Local, StudentError, Submission

triton = pytest.importorskip("triton", reason="lesson 11 needs Triton, which is not installed here")

BEFORE_LISTS = pytest.mark.skipif(triton.__version__.startswith("3.3."), reason="Triton 3.3 takes this")
BEFORE_NAMES = pytest.mark.skipif(Version(triton.__version__) >= Version("3.8"), reason="Triton takes this from 3.8 on")

LINES = """import math
import triton
import triton.language as tl
from triton.language import float32
FOUR = 4
FIVE = tl.constexpr(5)

def plain(x):
    return x

@triton.jit
def helper(x):
    return x + FIVE

@triton.jit
def looping(x):
    for i in range(3):
        if i == 1:
            break
    return x

@triton.jit
def kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    places = first + tl.arange(0, BLOCK)
    inside = places < n
    x = tl.load(x_ptr + places, mask=inside).to(tl.float32)
""".splitlines()
FIRST = len(LINES) + 1
STORE = "tl.store(out_ptr + places, x, mask=inside)"


def submission(*lines):
    """A submission whose `kernel` has these lines after it has loaded its block."""
    text = "\n".join([*LINES, *(f"    {line}" for line in (*lines, STORE))]) + "\n"
    linecache.cache["<kernel>"] = len(text), None, text.splitlines(keepends=True), "<kernel>"
    namespace = {"__name__": "__main__"}
    exec(compile(text, "<kernel>", "exec"), namespace)
    return Submission(Local(namespace, text)).function("kernel")


def refused(*lines):
    """What the student reads of such a kernel, which the interpreter runs."""
    kernel = submission(*lines)
    kernel.launch((1,), torch.ones(8), torch.ones(8), 8, 0.5, 8)
    with pytest.raises(StudentError) as raised:
        kernel.compile(torch.ones(1), torch.ones(1), 30, 0.5, 16)
    return raised.value


@pytest.mark.parametrize(
    "lines, line, said",
    [
        (["for i in range(0, n):", "    if i == 1:", "        break"], 2, "no `break`"),
        (["for i in range(0, n):", "    if i == 1:", "        continue"], 2, "no `continue`"),
        (["double = lambda a: a + a", "x = double(x)"], 0, "no `lambda`"),
        (["both = {'mask': inside}"], 0, "no `dict`"),
        (["both = dict(mask=inside)"], 0, "no `dict`"),
        (["many = [i for i in range(4)]"], 0, "no lists that a comprehension makes"),
        (["print(f'{n}')"], 0, "no f-string"),
        (["inside = 0 <= places < n"], 0, "no `a < b < c`"),
        pytest.param(["if (later := n + 1) > 3:", "    x += later"], 0, "no `:=`", marks=BEFORE_NAMES),
        (["for a, b in zip((1, 2), (3, 4)):", "    x += a"], 0, "no `zip`"),
        (["for i in range(0, n, 4):", "    x += tl.sum(tl.arange(i, i + 4))"], 1, "`tl.arange` takes constants only"),
        (["x = x + triton.cdiv(n, BLOCK)"], 0, "`tl.cdiv` is Triton's"),
        (["for i in tl.static_range(0, n):", "    x += 1"], 0, "`tl.static_range` takes constants only"),
        (["x = x + FOUR"], 0, "written `NAME = tl.constexpr"),
        (["total = 0.0", "for i in range(0, n):", "    total += x"], 1, "another shape or dtype before it"),
        (["top = -float('inf')", "for i in range(0, n):", "    top = tl.maximum(top, x)"], 1, "before it"),
        (["total = 0", "for i in range(0, n):", "    total += tl.sum(x, axis=0)"], 1, "before it"),
        (["for i in range(0, n):", "    last = x + i", "x = last"], 2, "what begins in a loop or an `if` ends there"),
        (["a = x", "if n > 3:", "    a = tl.zeros((BLOCK, 1), tl.float32)"], 1, "this `if` changes the shape"),
        pytest.param(["both = [x, x]", "both[0] = x + 1"], 1, "can't be changed in place", marks=BEFORE_LISTS),
        (["x += int(tl.program_id(0))"], 0, "Triton's compiler says \"int() argument must be"),
    ],
)
def test_what_no_gpu_could_run_is_named_with_its_line(lines, line, said):
    error = refused(*lines)
    assert error.by_kit and said in error.sentence() and error.where.line == FIRST + line
    assert error.message.startswith("A GPU could not run your kernel: ") and len(error.message) < 250


def test_the_line_of_a_function_that_the_kernel_calls_is_named():
    assert refused("x = looping(x)").where.code.strip() == "break"


@pytest.mark.parametrize(
    "lines",
    [
        ["total = 0.0", "for i in range(0, n):", "    total += tl.sum(x, axis=0)", "x += total"],
        ["total = tl.zeros((BLOCK,), tl.float32)", "for i in range(0, n):", "    total += x"],
        ["x = helper(x) + FIVE"],
        ["x = x.to(float32) * math.log(2) + tl.cdiv(n, BLOCK)"],
        ["for i in tl.static_range(4):", "    x += i"],
        ["i = 0", "while i < n:", "    i += BLOCK"],
        ["both = (x, x)", "x = both[0]"],
        ["inside = (places < n) and (places >= 0)"],
        ["end = n if n > 3 else 4", "x += min(end, 4) * scale"],
        ["if BLOCK > 4:", "    later = x", "x = later"],
        ["x = tl.sum(tl.reshape(x, (BLOCK // 2, 2)), axis=1, keep_dims=True) + tl.zeros([1, 2], tl.float32)"]
        + ["x = tl.reshape(x, (BLOCK,))"],
    ],
    ids=str,
)
def test_what_a_gpu_could_run_passes(lines):
    kernel = submission(*lines)
    kernel.launch((1,), torch.ones(8), torch.ones(8), 8, 0.5, 8)
    for dtype in (torch.float32, torch.float16):
        kernel.compile(torch.ones(1, dtype=dtype), torch.ones(1, dtype=dtype), 30, 0.5, 16)


def test_what_only_a_gpu_runs_passes():
    """The interpreter has no method `exp`, and its argument `scale` is a float of Python's."""
    submission("x = x.exp() * scale.to(tl.float32)").compile(torch.ones(1), torch.ones(1), 30, 0.5, 16)


def test_the_interpreter_stays_as_it_was():
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "triton"}
    for line in ("x = helper(x)", "x = x + FOUR"):
        kernel = submission(line)
        try:
            kernel.compile(torch.ones(1), torch.ones(1), 30, 0.5, 16)
        except StudentError:
            assert line == "x = x + FOUR"
        after = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "triton"}
        assert {name: after[name] for name in before} == before and os.environ["TRITON_INTERPRET"] == "1"
        assert kernel.launch((1,), torch.ones(8), torch.zeros(8), 8, 0.5, 8).tensors[1][0] > 4


def test_there_is_a_compiler_in_this_triton():
    """With other names in a later one, nothing would be refused here, and each check would be left out."""
    from autograder.sandbox.inside import compiling

    with compiling._apart_from_the_interpreter():
        assert compiling._compiles_anything()


def test_a_kernel_over_which_the_compiler_stumbles_is_not_refused(monkeypatch):
    """It has a fault of its own then, and compiles other kernels."""
    from autograder.sandbox.inside import compiling

    monkeypatch.setattr(compiling, "_refusal", mock.Mock(side_effect=KeyError("a fault")))
    submission("x = x + FOUR").compile(torch.ones(1), torch.ones(1), 30, 0.5, 16)


def test_where_the_compiler_cannot_be_asked_nothing_is_refused_and_it_is_said(monkeypatch):
    """It may be that of a later Triton, with other names."""
    from autograder.sandbox.inside import compiling

    def unknown(*args):
        raise ImportError("cannot import name 'ast_to_ttir'")

    monkeypatch.setattr(compiling, "_to_ir", unknown)
    with pytest.raises(pytest.skip.Exception, match="Triton's compiler can't be used on this machine"):
        submission("x = x + FOUR").compile(torch.ones(1), torch.ones(1), 30, 0.5, 16)
