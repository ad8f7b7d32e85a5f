"""Answers may use the functions and classes of cells that only show something, though these do not run."""

import pytest
from conftest import ROOT, cell_of, hand_in, load

from autograder import course
from autograder.grading.lending import lend
from autograder.submission.restore import RestoredCell

NAME = "10_attention_now"
AT_ONCE = """
def delta_rule_at_once(query, key, value, beta):
    dtype = value.dtype
    query, key, value, beta = (x if dtype == torch.float64 else x.float() for x in (query, key, value, beta))
    later = beta[..., None] * (key @ key.transpose(2, 3)).tril(-1)
    unit = torch.eye(query.shape[2], dtype=query.dtype, device=query.device)
    u = torch.linalg.solve_triangular(unit + later, beta[..., None] * value, upper=False)
    return linear_attention(query, key, u).to(dtype), (key.transpose(2, 3) @ u).to(dtype)
"""


@pytest.fixture(scope="module")
def ten():
    return course.find_assignment("10")


def test_an_answer_that_uses_a_function_of_the_lesson_gets_its_points(grader, tmp_path):
    notebook = load(ROOT / "solutions" / NAME / f"{NAME}.ipynb")
    cell = cell_of(notebook, "delta_rule-solution")
    written = "".join(cell["source"])
    cell["source"] = written[: written.index("def delta_rule_at_once")] + AT_ONCE.strip()
    outcome = grader.grade_file(hand_in(notebook, tmp_path, f"{NAME}.ipynb"), "delta_rule").verdict.exercise(
        "delta_rule"
    )
    assert outcome.score == outcome.max_score, [c.message for c in outcome.checks if not c.passed]


def cells_with(ten, *own):
    lessons = [RestoredCell("code", text, "", lesson=True) for text in sorted(ten.lesson_texts)]
    return [*lessons, *(RestoredCell("code", text, "") for text in own)]


def lent(ten, *own):
    return [cell.lent for cell in lend(cells_with(ten, *own), ten) if cell.lent]


def test_only_what_an_answer_uses_is_lent(ten):
    (code,) = lent(ten, "def f(q, k, v):\n    return linear_attention(q, k, v)")
    assert code.startswith("def linear_attention(") and "by_state" not in code and "print" not in code
    assert lent(ten, "x = 1  # linear_attention", "y = 'linear_attention'", "z.linear_attention") == []


def test_what_lent_code_uses_is_lent_as_well_and_its_imports():
    texts = frozenset(
        {
            "import math\nfrom torch import nn\nROOM = 3\n\n\ndef one(x):\n    return math.exp(two(x))",
            "def two(x):\n    return x",
        }
    )
    assignment = type("Assignment", (), {"lesson_texts": texts})
    cells = [RestoredCell("code", text, "", lesson=True) for text in sorted(texts)] + [
        RestoredCell("code", "one(1)", "")
    ]
    second, first, own = sorted(lend(cells, assignment), key=lambda cell: cell.source)
    assert first.code == "import math\nfrom torch import nn\n\n\ndef one(x):\n    return math.exp(two(x))"
    assert second.code == "def two(x):\n    return x" and own.code == "one(1)"
    assert first.runs and second.runs


@pytest.mark.parametrize(
    "definition",
    ["def linear_attention(q, k, v): return v", "from mine import linear_attention", "linear_attention = max"],
)
def test_what_a_student_defines_is_not_lent(ten, definition):
    assert lent(ten, definition, "linear_attention(1, 2, 3)") == []


def test_a_lesson_that_a_student_has_changed_lends_what_was_released(ten):
    changed = RestoredCell(
        "code", "def linear_attention(q, k, v):\n    return 'mine'\n\n1 / 0", "linear-look", lesson=True
    )
    cell, _ = lend([changed, RestoredCell("code", "linear_attention(1, 2, 3)", "")], ten)
    assert "mine" not in cell.code and "1 / 0" not in cell.code and cell.source == changed.source


def test_without_an_assignment_or_a_use_nothing_is_lent(ten):
    cells = cells_with(ten, "x = 1")
    assert lend(cells, None) == cells and lend(cells, ten) == cells
    assert not cells[0].runs
