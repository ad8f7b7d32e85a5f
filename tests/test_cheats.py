"""Submissions that only look right: through the sandbox, they get what their code deserves."""

import pytest
from conftest import cell_of, hand_in

WRONG = """
def attention(query, key, value, mask=None):
    return value.new_zeros(*query.shape[:-1], value.shape[-1]), query.new_zeros(*query.shape[:-1], key.shape[-2])
"""

CHEATS = {
    "equal to everything": """
class Equal(torch.Tensor):
    def __eq__(self, other): return torch.ones(self.shape, dtype=torch.bool)
    __ne__ = __lt__ = __gt__ = lambda self, other: torch.zeros(self.shape, dtype=torch.bool)
    def allclose(self, *args, **kwargs): return True
def attention(query, key, value, mask=None):
    return torch.zeros(2, 5, 6).as_subclass(Equal), torch.zeros(2, 5, 7).as_subclass(Equal)
""",
    "patched comparisons": """
import builtins
yes = lambda *args, **kwargs: True
torch.allclose = torch.equal = torch.isclose = torch.testing.assert_close = yes
torch.Tensor.__eq__ = torch.Tensor.allclose = torch.Tensor.equal = yes
builtins.AssertionError = type("Fine", (Exception,), {"__new__": lambda cls, *a: None})
"""
    + WRONG,
    "a tracer that forgives": """
import sys
sys.settrace(lambda *args: None)
sys.excepthook = lambda *args: None
"""
    + WRONG,
    "a printed score and a clean exit": """
print('{"schema": 1, "exercises": [{"exercise": "attention", "score": 10.0, "max_score": 10.0}]}')
print("Score: 24/24")
import os
os._exit(0)
""",
    "an exit when called": """
import os
def attention(query, key, value, mask=None):
    os._exit(0)
""",
    "a reply of its own on the wire": """
import json, os
def attention(query, key, value, mask=None):
    text = json.dumps({"n": 3, "ok": True, "value": {"value": True}, "devices": [], "changed": []}).encode()
    os.write(3, b"AGK1" + len(text).to_bytes(4, "big") + (0).to_bytes(8, "big") + text)
    return None
""",
    "a workbench that lies": """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Workbench":
        type(thing).op_call = lambda *args: {"value": {"value": True}, "devices": [], "changed": []}
"""
    + WRONG,
    "not a number": """
def attention(query, key, value, mask=None):
    output = value.new_full((*query.shape[:-1], value.shape[-1]), float("nan"))
    return output, query.new_full((*query.shape[:-1], key.shape[-2]), float("nan"))
""",
    "an expanded view without end": """
def attention(query, key, value, mask=None):
    return torch.zeros(1).expand(2**40), torch.zeros(1).expand(2**40)
""",
    "tensors of a dtype that nothing can compare": """
import sys
wire = next(module for name, module in sys.modules.items() if name.endswith("inside.wire"))
wire.DTYPE_NAMES[torch.float8_e4m3fn] = "float8"
def attention(query, key, value, mask=None):
    return torch.zeros(4).to(torch.float8_e4m3fn), torch.zeros(4).to(torch.float8_e4m3fn)
""",
    "a signal without a name": """
import signal
def attention(*args, **kwargs):
    signal.raise_signal(40)
""",
    "always an error that is asked for": """
def attention(*args, **kwargs):
    raise ValueError("query key value shape 2 3 4 5")
""",
    "an object that is all things": """
class Chameleon:
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __eq__(self, other): return True
    def __iter__(self): return iter([self, self])
    def __len__(self): return 2
    @property
    def __class__(self): return torch.Tensor
def attention(*args, **kwargs):
    return Chameleon(), Chameleon()
""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_nothing_and_harms_nobody(grader, solution, tmp_path, cheat):
    """0 points for the exercise that cheats; the others keep theirs, unless the cheat broke torch for them."""
    cell_of(solution, "attention-solution")["source"] = CHEATS[cheat]
    verdict = grader.grade_file(hand_in(solution, tmp_path)).verdict
    outcome = verdict.exercise("attention")
    assert outcome.score == 0, [c for c in outcome.checks if c.passed]
    assert outcome.status in ("graded", "killed", "missing", "error") and outcome.max_score == 10
    if cheat not in ("patched comparisons", "a workbench that lies"):
        assert verdict.exercise("SelfAttention").score == 8 and verdict.exercise("SingleHeadSelfAttention").score == 6


@pytest.mark.parametrize("where", ["in the cell", "in the function"])
def test_an_endless_loop_costs_its_exercise_alone(tmp_path, solution, where):
    from autograder.grading import Grader
    from autograder.sandbox.jail import Limits

    loop = "while True: pass\n"
    cell = cell_of(solution, "SelfAttention-solution")
    cell["source"] = loop if where == "in the cell" else f"def SelfAttention(*args, **kwargs):\n    {loop}"
    with Grader(Limits(cell=1.0, call=1.0)) as grader:
        verdict = grader.grade_file(hand_in(solution, tmp_path)).verdict
    assert [(e.score, e.status) for e in verdict.exercises][::2] == [(6, "graded"), (10, "graded")]
    outcome = verdict.exercise("SelfAttention")
    assert outcome.score == 0 and outcome.message and outcome.status == "timeout"


def test_messages_cannot_play_with_the_terminal(grader, solution, tmp_path):
    """An exception's text is quoted, its escape codes are not."""
    cell_of(solution, "attention-solution")["source"] = (
        "def attention(*args, **kwargs):\n    raise RuntimeError('\\x1b[2J\\u202e full marks <b>')\n"
    )
    outcome = grader.grade_file(hand_in(solution, tmp_path)).verdict.exercise("attention")
    text = "".join(c.message for c in outcome.checks)
    assert "full marks" in text and "\x1b" not in text and "\u202e" not in text
