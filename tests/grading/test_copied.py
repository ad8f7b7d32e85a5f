"""What was copied into a cell, a file or from another service: graded where it is code, and else said in a sentence."""

import json

import pytest
from conftest import ROOT, cell_of, hand_in, load

LESSON = "01_self_attention"
SOLUTION = "softmax-solution"
ACCUSES = "leaves the work to torch"


@pytest.fixture
def solved():
    return load(ROOT / "solutions" / LESSON / f"{LESSON}.ipynb")


def outcome_of(grader, notebook, tmp_path, name="mine.ipynb"):
    return grader.grade_file(hand_in(notebook, tmp_path, name), "softmax").verdict.exercise("softmax")


def said_of(outcome):
    return " ".join(
        [outcome.message, *(one.message for one in outcome.diagnosis), *(c.message for c in outcome.checks)]
    )


READ = {
    "prompts": lambda text: "\n".join(("... " if n else ">>> ") + line for n, line in enumerate(text.split("\n"))),
    "IPython's prompts": lambda text: "In [1]: " + text.replace("\n", "\n   ...: "),
    "indented": lambda text: "\n".join("    " + line for line in text.split("\n")),
    "a test by torch's own": lambda text: text.replace(
        "    return ", "    assert F.softmax(scores, dim=dim).shape == scores.shape\n    return "
    ),
}


@pytest.mark.parametrize("how", READ)
def test_an_answer_is_read_as_it_runs(grader, solved, tmp_path, how):
    cell = cell_of(solved, SOLUTION)
    cell["source"] = READ[how]("".join(cell["source"]).strip())
    assert outcome_of(grader, solved, tmp_path).full


UNREAD = {
    "exec": lambda text: f"CODE = {text!r}\nexec(CODE)",
    "a function that makes it": lambda text: f"def make():\n    exec({text!r}, globals())\nmake()",
    "types": lambda text: f"import types\nexec(compile({text!r}, 'x', 'exec'))",
}


@pytest.mark.parametrize("how", UNREAD)
def test_what_cannot_be_read_is_no_accusation(grader, solved, tmp_path, how):
    cell = cell_of(solved, SOLUTION)
    cell["source"] = UNREAD[how]("".join(cell["source"]))
    outcome = outcome_of(grader, solved, tmp_path)
    said = said_of(outcome)
    assert outcome.score == outcome.max_score - 1 and outcome.diagnosis == []
    assert "No readable definition of `softmax` was found." in said and ACCUSES not in said


def test_what_is_seen_is_still_said(grader, solved, tmp_path):
    cell_of(solved, SOLUTION)["source"] = ">>> def softmax(scores, dim=-1):\n...     return F.softmax(scores, dim=dim)"
    assert ACCUSES in said_of(outcome_of(grader, solved, tmp_path))


NO_PYTHON = {
    "a fence": (lambda text: f"```python\n{text}\n```", "line 1 of code cell", "```python"),
    "a fence without a language": (lambda text: f"# mine\n```\n{text}\n```", "line 2 of code cell", "Markdown"),
    "a fence of tildes": (lambda text: f"~~~py\n{text}\n~~~", "line 1 of code cell", "Markdown"),
    "a conflict": (
        lambda text: f"<<<<<<< HEAD\n{text}\n=======\nx = 1\n>>>>>>> 1a2b3c4",
        "line 1 of code cell",
        "the mark of a merge conflict (<<<<<<<): keep one",
    ),
    "the rest of a conflict": (
        lambda text: f"{text}\n>>>>>>> mine",
        "of code cell",
        "the mark of a merge conflict (>>>",
    ),
}


@pytest.mark.parametrize("what", NO_PYTHON)
@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_what_is_no_python_is_said(grader, solved, tmp_path, what, kind):
    make, *says = NO_PYTHON[what]
    cell = cell_of(solved, SOLUTION)
    cell["source"], cell["cell_type"] = make("".join(cell["source"]).strip()), kind
    outcome = outcome_of(grader, solved, tmp_path)
    assert outcome.score == 0 and all(part in outcome.message for part in says)
    assert "invalid" not in outcome.message
    assert ("turned to Markdown" in outcome.message) == (kind == "markdown")


def test_a_slip_in_syntax_is_pythons_own(grader, solved, tmp_path):
    cell_of(solved, SOLUTION)["source"] = "def softmax(scores, dim=-1)\n    return scores"
    assert "expected ':'" in outcome_of(grader, solved, tmp_path).message


def test_a_template_below_ones_own_code_is_said(grader, solved, tmp_path):
    cell = cell_of(solved, SOLUTION)
    cell["source"] = "".join(cell["source"]) + "\n\ndef softmax(scores, dim=-1):\n    raise NotImplementedError()"
    outcome = outcome_of(grader, solved, tmp_path)
    assert outcome.score == 0 and not outcome.not_started
    assert "You define `softmax` twice in code cell" in outcome.diagnosis[0].message


# --- files ----------------------------------------------------------------------------------------


def exported(cells, form):
    """The notebook as a script, in one of three forms."""
    parts = []
    for cell in cells:
        text = "".join(cell["source"]).strip("\n")
        commented = "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
        if form == "percent":
            parts.append(f"# %%\n{text}" if cell["cell_type"] == "code" else f"# %% [markdown]\n{commented}")
        elif form == "nbconvert":
            parts.append(f"# In[ ]:\n\n\n{text}\n" if cell["cell_type"] == "code" else commented)
        else:
            parts.append(text if cell["cell_type"] == "code" else f'"""{text}\n"""')
    head = {
        "percent": "",
        "nbconvert": "#!/usr/bin/env python\n# coding: utf-8\n",
        "colab": '"""x.ipynb\n\nAutomatically generated by Colab.\n\nOriginal file is located at\n    https://x\n"""\n'
        "\n!pip install -q einops\n",
    }[form]
    return f"{head}\n" + "\n\n".join(parts)


@pytest.mark.drawn(3, "scripts that are graded as their notebooks")
@pytest.mark.parametrize("form", ["percent", "nbconvert", "colab"])
@pytest.mark.parametrize("name", ["mine.py", "mine.ipynb", "mine.py.txt", "mine"])
def test_an_exported_script_is_graded_as_the_notebook_that_it_was(grader, solved, tmp_path, form, name):
    script = exported(solved["cells"], form)
    verdict = grader.grade_file(hand_in(script, tmp_path, name)).verdict
    assert verdict.full and verdict.assignment == LESSON, [(e.exercise, said_of(e)) for e in verdict.exercises]


def test_of_a_script_in_cells_one_that_fails_costs_no_other(grader, solved, tmp_path):
    own = "".join(cell_of(solved, SOLUTION)["source"])
    text = f"# %%\nimport torch\nimport torch.nn.functional as F\n1 / 0\n# %%\n{own}\n# %%\nassert False"
    verdict = grader.grade_file(hand_in(text, tmp_path, "mine.py")).verdict
    assert verdict.full and [e.exercise for e in verdict.exercises] == ["softmax"]


@pytest.mark.parametrize("name", ["mine.ipynb.json", "mine.ipynb.txt", "mine.json", "mine", "mine.ipynb ", "mine.py"])
def test_a_notebook_is_graded_whatever_its_ending_is(grader, solved, tmp_path, name):
    assert outcome_of(grader, solved, tmp_path, name).full


def test_a_copy_without_marks_is_known(grader, solved, tmp_path):
    solved["cells"] = [
        {"cell_type": c["cell_type"], "metadata": {"_uuid": "x"}, "source": c["source"]} for c in solved["cells"]
    ]
    verdict = grader.grade_file(hand_in(solved, tmp_path, "notebook.ipynb")).verdict
    assert verdict.assignment == LESSON and verdict.full


@pytest.mark.parametrize(
    "name, data, says",
    [
        (
            "mine.ipynb",
            b"https://colab.research.google.com/drive/1A",
            "It is a link to Colab, not the notebook: open it",
        ),
        ("mine.py", b"%PDF-1.7", "It is a PDF"),
        ("mine.py", b"<!DOCTYPE html><html>", "It is a web page"),
        ("mine.txt", b"import torch\n", "It is a program in Python without cells"),
    ],
)
def test_what_is_no_notebook_is_named(grader, tmp_path, name, data, says):
    verdict = grader.grade_file(hand_in(data, tmp_path, name)).verdict
    assert all(e.status == "rejected" and says in e.message for e in verdict.exercises) and verdict.exercises


def test_what_is_read_of_a_notebook_does_not_depend_on_its_ending(grader, solved, tmp_path):
    wrapped = json.dumps({"type": "notebook", "content": solved})
    assert outcome_of(grader, wrapped, tmp_path, "mine.json").full
