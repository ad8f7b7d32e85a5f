"""Kernels that are launched by Triton's interpreter: what is noted of their memory, and what is refused."""

import linecache

import pytest
import torch

from autograder.checks.proxies import Local, StudentError, Submission
from autograder.sandbox import replies
from autograder.sandbox.inside import launches, wire

pytest.importorskip("triton", reason="lesson 11 needs Triton, which is not installed here")

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"


def submission(*lines, arguments="x_ptr, out_ptr, n, BLOCK: tl.constexpr"):
    """A submission whose `kernel` has these lines; `places` are 0 to BLOCK - 1."""
    body = "".join(f"    {line}\n" for line in ("places = tl.arange(0, BLOCK)", *lines))
    text = f"{HEAD}\n@triton.jit\ndef kernel({arguments}):\n{body}"
    linecache.cache["<kernel>"] = len(text), None, text.splitlines(keepends=True), "<kernel>"
    namespace = {"__name__": "__main__"}
    exec(compile(text, "<kernel>", "exec"), namespace)
    return Submission(Local(namespace, text)).function("kernel")


def launch(*lines, n=6, block=8):
    return submission(*lines).launch((1,), torch.arange(6.0), torch.zeros(6), n, block)


COPY = "tl.store(out_ptr + places, tl.load(x_ptr + places, mask=places < n), mask=places < n)"


def test_what_a_kernel_writes_reads_and_leaves_comes_back():
    got = launch(COPY, n=4)
    assert got.tensors[1].tolist() == [0, 1, 2, 3, 0, 0]
    assert got.reads[0].tolist() == got.writes[1].tolist() == [1, 1, 1, 1, 0, 0]
    assert not got.reads[1].any() and not got.writes[0].any()


@pytest.mark.parametrize("grid", [(3,), (1, 3), (1, 1, 3)])
def test_who_wrote_a_number_last_comes_back(grid):
    """Programs are counted along the first axis of the grid, then along the others."""
    line = f"tl.store(out_ptr + tl.program_id({len(grid) - 1}) * 2 + tl.arange(0, 2), 1.0)"
    got = submission(line).launch(grid, torch.arange(6.0), torch.zeros(7), 6, 8)
    assert got.writers[1].tolist() == [0, 0, 1, 1, 2, 2, -1] and (got.writers[0] == -1).all()
    again = submission("tl.store(out_ptr + tl.arange(0, 2), 1.0)").launch((2, 2), torch.zeros(1), torch.zeros(2), 6, 8)
    assert again.writers[1].tolist() == [3, 3]


@pytest.mark.parametrize(
    "line, said",
    [
        ("tl.load(x_ptr + places)", "reads number 6 of `x_ptr`, which holds 6, from 0 to 5"),
        ("tl.load(x_ptr - 1 + places, mask=places < 1)", "reads number -1 of `x_ptr`"),
        ("tl.store(out_ptr + 8 + places, places)", "writes number 8 of `out_ptr`"),
        ("tl.load(x_ptr + 10**9)", "reads memory far from anything that it was given"),
        ("tl.atomic_add(out_ptr + places, 1.0)", "reads number 6 of `out_ptr`"),
        ("tl.load(tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (8,), (0,)))", "reads number 6 of `x_ptr`"),
    ],
)
def test_an_access_outside_is_refused_before_it_happens(line, said):
    with pytest.raises(StudentError, match=said) as refused:
        launch(line)
    assert refused.value.by_kit and refused.value.where.line == 8


def test_the_memory_of_a_launch_is_its_own():
    """The grader's tensors are copied, so an earlier launch and what a check compares with cannot be written to."""
    given = torch.arange(6.0)
    submission("tl.store(x_ptr + places, places, mask=places < n)").launch((1,), given, torch.zeros(6), 6, 8)
    assert given.tolist() == [0, 1, 2, 3, 4, 5]


def test_after_a_launch_that_fails_the_interpreter_is_as_before():
    import triton.runtime.interpreter as interpreter

    before = interpreter._interpreter
    for line in ("tl.load(x_ptr + places)", "1 / 0"):
        with pytest.raises(StudentError):
            launch(line)
        assert interpreter._interpreter is before


def test_an_error_in_a_kernel_has_its_own_type_and_line():
    with pytest.raises(StudentError, match="ZeroDivisionError") as raised:
        launch("a = 0", "1 / a if n == 0 else 1 // (BLOCK - BLOCK)")
    assert raised.value.where.line == 9


def test_what_is_no_kernel_is_told_so():
    for thing in (lambda *args: None, 3):
        with pytest.raises(StudentError, match="no Triton kernel: the line above its `def` should be `@triton.jit`"):
            Submission(Local({"kernel": thing})).function("kernel").launch((1,), torch.zeros(1))


def test_other_arguments_than_it_takes_are_an_error():
    with pytest.raises(StudentError, match="it takes 4 arguments, and is launched with 2"):
        submission(COPY).launch((1,), torch.zeros(6), 6)


@pytest.mark.parametrize("broken", ["value", "reads", "writes", "writers"])
@pytest.mark.parametrize(
    "instead", [None, [], {}, [torch.zeros(2)], [torch.zeros(3, dtype=torch.int64)], [3], torch.zeros(3)], ids=str
)
def test_a_reply_that_is_no_launch_is_refused(broken, instead):
    given, tensors = [torch.zeros(3)], []
    whole = {"value": [torch.ones(3)], "reads": [torch.ones(3).int()], "writes": [torch.ones(3).int()]}
    whole["writers"] = [torch.zeros(3).int()]
    reply = {name: wire.pack(of, tensors) for name, of in whole.items()}
    assert replies.launched(reply, tensors, given).tensors[0].tolist() == [1, 1, 1]
    reply[broken] = wire.pack(instead, tensors)
    with pytest.raises(wire.WireError):
        replies.launched(reply, tensors, given)


def test_tensors_lie_far_apart():
    memory = launches.Memory([torch.zeros(3), torch.zeros(5, dtype=torch.float16)], ["a", "b"])
    assert memory.first[1] - memory.first[0] > launches.ROOM * 2
    assert memory.arena.view(-1)[:8].view(torch.float64).isnan().all()
