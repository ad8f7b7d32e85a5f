"""Right answers get full marks in the sandbox, whatever their authors had on their machines and measured with."""

import pytest
from conftest import ROOT, cell_of, hand_in
from test_unharmed import assert_full, code

from autograder.sandbox.inside import unavailable

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

SOFTMAX = """
def softmax(scores, dim=-1):
    largest = scores.detach().amax(dim=dim, keepdim=True)
    powers = (scores - largest.masked_fill(largest == float("-inf"), 0.0)).exp()
    total = powers.sum(dim=dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1.0)
"""

# Put around the work of a right softmax: each of these fails, or is missing, without a GPU or in a bare environment.
AROUND = {
    "nvtx.range": "with torch.cuda.nvtx.range('softmax'):\n    result = right(scores, dim)",
    "nvtx, pushed": "torch.cuda.nvtx.range_push('x')\nresult = right(scores, dim)\ntorch.cuda.nvtx.range_pop()",
    "nvtx, started": "n = torch.cuda.nvtx.range_start('x'); torch.cuda.nvtx.mark('y')\nresult = right(scores, dim)\n"
    "torch.cuda.nvtx.range_end(n)",
    "nvtx.range, a decorator": "@torch.cuda.nvtx.range('x')\ndef inner(*args): return right(*args)\n"
    "result = inner(scores, dim)",
    "emit_nvtx": "with torch.autograd.profiler.emit_nvtx():\n    result = right(scores, dim)",
    "the profiler of CUDA": "with torch.cuda.profiler.profile():\n    result = right(scores, dim)",
    "synchronize": "torch.cuda.synchronize()\nresult = right(scores, dim)\ntorch.cuda.synchronize(0)",
    "an accelerator": "result = right(scores, dim)\ntorch.accelerator.synchronize(); torch.mps.synchronize()",
    "memory": "torch.cuda.reset_peak_memory_stats(); torch.cuda.empty_cache()\nresult = right(scores, dim)\n"
    "print(torch.cuda.max_memory_allocated() / 2**20, torch.cuda.memory_allocated(), torch.cuda.memory_summary())",
    "seeds": "torch.cuda.manual_seed(0); torch.cuda.manual_seed_all(0)\nresult = right(scores, dim)",
    "events": "start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))\nstart.record()\n"
    "result = right(scores, dim)\nend.record(); end.synchronize()\nassert 0 <= start.elapsed_time(end) < 60_000",
    "streams": "side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())\n"
    "with torch.cuda.stream(side):\n    result = right(scores, dim)\ntorch.cuda.current_stream().wait_stream(side)",
    "the device": "torch.cuda.set_device(0)\nwith torch.cuda.device(0):\n    result = right(scores, dim)",
    "time": "import time\nstarted = time.perf_counter(); cpu = time.process_time()\nresult = right(scores, dim)\n"
    "print(f'{time.perf_counter() - started:.6f} s, {time.process_time() - cpu:.6f} s')",
    "timeit": "import timeit\nresult = right(scores, dim)\ntimeit.timeit(lambda: right(scores, dim), number=2)",
    "record_function": "with torch.profiler.record_function('x'):\n    result = right(scores, dim)",
    "much printing": "for _ in range(300): print('scores', scores.shape, 'x' * 100)\nresult = right(scores, dim)",
    "standard error and logs": "import logging, sys\nprint(scores, file=sys.stderr); logging.error('%s', scores)\n"
    "result = right(scores, dim)",
    "a compiled helper": "result = torch.compile(right, mode='reduce-overhead', fullgraph=True)(scores, dim)",
    "einops": "from einops import rearrange\nresult = rearrange(right(scores, dim), '... -> ...')",
    "einops' layer": "from einops.layers.torch import Rearrange\nresult = Rearrange('... -> ...')(right(scores, dim))",
}

# Whole answers for the exercise `softmax`; "right" is one in each.
WRITTEN = {
    "@torch.compile": SOFTMAX.replace("def ", "@torch.compile\ndef "),
    "@torch.compile()": SOFTMAX.replace("def ", "@torch.compile()\ndef "),
    "@torch.compile with arguments": SOFTMAX.replace("def ", "@torch.compile(dynamic=True, backend='inductor')\ndef "),
    "compiled afterwards": SOFTMAX + "\nsoftmax = torch.compile(softmax)\n",
    "compiled, under its own name": "from torch import compile\n" + SOFTMAX.replace("def ", "@compile\ndef "),
    "never compiled": SOFTMAX.replace("def ", "@torch.compiler.disable\ndef "),
    "a method": "class Mine:\n    @staticmethod\n    @torch.compile\n"
    + "\n".join("    " + line for line in SOFTMAX.strip().split("\n"))
    + "\n\nsoftmax = Mine.softmax\n",
    "%%time": "%%time\n" + SOFTMAX,
    "%time and %timeit": SOFTMAX + "\n%time softmax(torch.ones(3))\n%timeit -n 2 -r 1 softmax(torch.ones(3))\n",
    "settings of the compiler": "torch._dynamo.config.suppress_errors = True\ntorch.compiler.reset()\n" + SOFTMAX,
}

ERROR = """
class ShapeError(ValueError):
    pass

class Refused(ShapeError):
    def __init__(self, *shapes):
        super().__init__("these do not fit: " + ", ".join(str(tuple(s)) for s in shapes))
"""


def full(grader, folder, source, exercise):
    path = folder / "mine.py"
    path.write_text(HEAD + source, encoding="utf-8")
    assert_full(grader.grade_file(path, exercise).verdict)


@pytest.mark.parametrize("case", AROUND)
def test_measuring_and_printing_cost_nothing(grader, tmp_path, case):
    body = "\n".join("    " + line for line in AROUND[case].split("\n"))
    source = f"{SOFTMAX.replace('softmax', 'right')}\ndef softmax(scores, dim=-1):\n{body}\n    return result\n"
    full(grader, tmp_path, source, "softmax")


@pytest.mark.parametrize("case", WRITTEN)
def test_a_compiled_or_timed_answer_counts(grader, tmp_path, case):
    source = WRITTEN[case]
    if source.startswith("%%"):  # such a magic stands on a cell's first line
        first, rest = source.split("\n", 1)
        path = tmp_path / "mine.py"
        path.write_text(f"{first}\n{HEAD}{rest}", encoding="utf-8")
        return assert_full(grader.grade_file(path, "softmax").verdict)
    full(grader, tmp_path, source, "softmax")


ANSWERS = [
    f"{exercise}/{name}"
    for exercise in ("softmax", "attention")
    for name in ("annotated", "einops_patterns", "own_error", "profiled")
    if (ROOT / f"autograder/exercises/{exercise}/answers/{name}.py").exists()
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_in_another_style_counts_here_too(grader, answer):
    exercise, name = answer.split("/")
    path = ROOT / f"autograder/exercises/{exercise}/answers/{name}.py"
    assert_full(grader.grade_file(path, exercise).verdict)


def test_a_compiled_forward_counts(grader, solution, tmp_path):
    for grade_id in ("SingleHeadSelfAttention-solution", "SelfAttention-solution"):
        cell = cell_of(solution, grade_id)
        source = "".join(cell["source"])
        cell["source"] = source.replace("    def forward(", "    @torch.compile(fullgraph=True)\n    def forward(")
    place = solution["cells"].index(cell_of(solution, "attention-solution")) + 1
    solution["cells"].insert(place, code("attention = torch.compile(attention, mode='max-autotune')", 1))
    assert_full(grader.grade_file(hand_in(solution, tmp_path)).verdict)


def test_an_error_of_ones_own_is_a_value_error(grader, solution, tmp_path):
    """Whatever its class is called: it is one for everybody who catches a ValueError."""
    cell = cell_of(solution, "attention-solution")
    source = "".join(cell["source"])
    assert "raise ValueError(f" in source
    cell["source"] = ERROR + source.replace("raise ValueError(f", "raise ShapeError(f")
    assert_full(grader.grade_file(hand_in(solution, tmp_path), "attention").verdict)


def test_an_error_that_only_bears_the_name_is_not_one(grader, solution, tmp_path):
    cell = cell_of(solution, "attention-solution")
    cell["source"] = "class ValueError(Exception):\n    pass\n\n\n" + "".join(cell["source"])
    (outcome,) = grader.grade_file(hand_in(solution, tmp_path), "attention").verdict.exercises
    assert outcome.score < outcome.max_score
    assert {c.category for c in outcome.checks if not c.passed} == {"arguments"}


def test_an_error_that_lies_about_its_class_is_not_one(grader, solution, tmp_path):
    cell = cell_of(solution, "attention-solution")
    lie = "class Lie(Exception):\n    __class__ = property(lambda self: ValueError)\n\n\n"
    cell["source"] = lie + "".join(cell["source"]).replace("raise ValueError(f", "raise Lie(f")
    (outcome,) = grader.grade_file(hand_in(solution, tmp_path), "attention").verdict.exercises
    assert {c.category for c in outcome.checks if not c.passed} == {"arguments"}


def test_what_is_on_a_gpu_is_still_not_there(grader, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + SOFTMAX.replace("largest = scores", "largest = scores.cuda()"), encoding="utf-8")
    (outcome,) = grader.grade_file(path, "softmax").verdict.exercises
    assert outcome.score == 0 and any(unavailable.NO_GPU in c.message for c in outcome.checks)
