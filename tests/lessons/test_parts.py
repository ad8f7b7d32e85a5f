"""The cells by which a student's parts are kept in one lesson and brought along in another."""

import builtins
import os
import re
import sys

import pytest
from conftest import ROOT, load
from IPython.core.interactiveshell import InteractiveShell

from autograder import course

NAMES = sorted(course.assignments(ROOT))
SETUP = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F"


def cells(name, kind="source"):
    return {cell["id"]: "".join(cell["source"]) for cell in load(ROOT / kind / name / f"{name}.ipynb")["cells"]}


class Notebook:
    """A notebook that runs in a folder; `filled` is what the cell that ran last was replaced by."""

    def __init__(self, capsys):
        self.shell, self.capsys, self.filled = InteractiveShell(), capsys, None
        self.shell.set_next_input = self._fill
        self.run(cells(NAMES[0])["parts"])
        self.run(SETUP)

    def _fill(self, text, replace=False):
        assert replace
        self.filled = text

    def run(self, source):
        """What a cell prints. An error in it is raised."""
        self.filled = None
        self.shell.run_cell(source, store_history=True).raise_error()
        return self.capsys.readouterr().out


@pytest.fixture
def notebook(monkeypatch, tmp_path, capsys):
    folder = tmp_path / "02_made_up"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(builtins, "get_ipython", None, raising=False)
    yield lambda: Notebook(capsys)
    InteractiveShell.clear_instance()


HELPER = "LIMIT = 3\ndef helper(x):\n    return F.relu(x) * LIMIT"
PART = "class Part(nn.Module):\n    def forward(self, x):\n        return helper(x) + 1"


def test_a_part_is_brought_into_another_lesson_with_all_that_it_uses(notebook, monkeypatch, tmp_path):
    first = notebook()
    first.run(HELPER)
    first.run(PART)
    assert first.run('keep("02", "Part")') == "Kept for later lessons, in my_parts/lesson_02.py: Part.\n"
    elsewhere = tmp_path / "03_made_up"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    second = notebook()
    assert "their code is in this cell, or below it. Save" in second.run('bring(lesson_02=["Part"])')
    assert second.run("print(Part()(torch.ones(2)).tolist())") == "[4.0, 4.0]\n"
    third = notebook()
    second.run('bring(lesson_02=["Part"])')
    third.run(second.filled)  # what the cell holds is enough for itself: it is what is handed in
    assert third.run("print(Part()(torch.ones(2)).tolist())") == "[4.0, 4.0]\n"
    second.run('keep("03", "Part")')  # what was brought can be kept again
    assert (elsewhere / "my_parts" / "lesson_03.py").read_text().count("class Part") == 1


def test_what_ran_last_counts_in_whatever_order(notebook):
    one = notebook()
    one.run(PART.replace("+ 1", "+ 5"))
    one.run(PART)
    one.run(HELPER.replace("3", "7"))
    one.run(HELPER)
    one.run('keep("02", "Part")')
    other = notebook()
    other.run('bring(lesson_02=["Part"])')
    assert other.run("print(Part()(torch.ones(1)).item())") == "4.0\n"


def test_decorators_properties_and_modules_come_along(notebook):
    one = notebook()
    one.run("from functools import lru_cache\n@lru_cache\ndef root(n):\n    return math.sqrt(n)")
    one.run("class Sized:\n    n = 4\n    @property\n    def size(self):\n        return root(self.n)")
    one.run('keep("02", "Sized")')
    other = notebook()
    other.run('bring(lesson_02=["Sized"])')
    assert other.run("print(Sized().size)") == "2.0\n"


def test_what_cannot_be_kept_is_said_in_a_sentence_and_the_rest_is_kept(notebook):
    one = notebook()
    one.run(HELPER)
    one.run("table = torch.ones(3)\ndef looks_up(i):\n    return table[i]")
    one.run("def unwritten(x):\n    raise NotImplementedError()")
    said = one.run('keep("02", "looks_up", "unwritten", "nowhere", "helper")')
    assert said.splitlines() == [
        "Left out: looks_up uses table, a Tensor of this notebook: make it an argument.",
        "Left out: unwritten is not written yet.",
        "Left out: nowhere is not defined: run its cell first.",
        "Kept for later lessons, in my_parts/lesson_02.py: helper.",
    ]
    again = notebook()
    again.run("def other(x):\n    return x")
    assert "Left as it was kept before: helper is not defined" in again.run('keep("02", "helper", "other")')
    other = notebook()
    other.run('bring(lesson_02=["helper", "other"])')
    assert other.run("print(other(helper(torch.ones(1)).item()))") == "3.0\n"


def test_who_skipped_a_lesson_reads_which_part_is_missing(notebook):
    said = notebook().run('bring(lesson_02=["attention"], lesson_03=["Head"])')
    assert said.startswith("Not among your parts: attention of lesson 02, Head of lesson 03. Run the last cell of that")
    assert "or write what is missing into that cell" in said


@pytest.mark.parametrize("kept_in, brought_in", [("02_made_up", "."), (".", "02_made_up"), (".", ".")])
def test_parts_are_found_also_where_a_kernel_does_not_start_beside_its_notebook(
    kept_in, brought_in, notebook, monkeypatch, tmp_path
):
    """Some editors start it in the course's folder."""
    monkeypatch.chdir(tmp_path / kept_in)
    one = notebook()
    one.run("def part():\n    return 1")
    one.run('keep("02", "part")')
    monkeypatch.chdir(tmp_path / brought_in)
    other = notebook()
    other.run('bring(lesson_02=["part"])')
    assert other.run("print(part())") == "1\n"


def test_of_two_files_the_newer_one_counts(notebook, tmp_path):
    for folder, value, time in (("my_parts", 1, 1_000), ("../01_made_up/my_parts", 2, 2_000)):
        file = tmp_path / "02_made_up" / folder / "lesson_02.py"
        file.parent.mkdir(parents=True)
        file.write_text(f"def part():\n    return {value}\n")
        os.utime(file, (time, time))
    one = notebook()
    one.run('bring(lesson_02=["part"])')
    assert one.run("print(part())") == "2\n"


@pytest.mark.parametrize("text", [b"def part(:", b"\xff\xfe", b"def part():\n\0"])
def test_a_file_that_is_no_python_is_named_in_a_sentence_and_replaced(text, notebook, tmp_path):
    file = tmp_path / "02_made_up" / "my_parts" / "lesson_02.py"
    file.parent.mkdir()
    file.write_bytes(text)
    one = notebook()
    said = one.run('bring(lesson_02=["part"])')
    assert said.startswith("my_parts/lesson_02.py can't be read (") and "Run the last cell of its lesson again" in said
    one.run("def part():\n    return 1")
    assert "Kept for later lessons, in my_parts/lesson_02.py: part." in one.run('keep("02", "part")')
    assert one.run('bring(lesson_02=["part"])').startswith("Your parts are here")


def test_a_file_of_an_older_lesson_says_what_it_lacks(notebook, tmp_path):
    """A part that the lesson did not keep then, and one that is built on what it did not keep."""
    file = tmp_path / "02_made_up" / "my_parts" / "lesson_02.py"
    file.parent.mkdir()
    file.write_text("class Part(Older):\n    pass\n")
    one = notebook()
    assert one.run('bring(lesson_02=["helper"])').startswith(
        "Not among your parts: helper of lesson 02. Run the last cell"
    )
    said = one.run('bring(lesson_02=["Part"])')
    assert said.startswith("Your Part can't be defined here (NameError: name 'Older' is not defined).")
    assert "Run the last cell of that lesson again" in said and one.filled is None


@pytest.mark.parametrize("name", [name for name in NAMES if name[:2] != "11"])  # nothing is built on kernels
def test_each_lesson_has_the_same_cell_for_parts_and_keeps_them_in_its_last(name):
    here = cells(name)
    assert here["parts"] == cells(NAMES[0])["parts"]
    if name == NAMES[-1]:
        return
    assert list(here)[-2:] == ["keep-text", "keep"]
    number, *kept = re.findall(r'"(\w+)"', here["keep"])
    assert number == name[:2] and {e.name for e in course.assignments(ROOT)[name].exercises} <= set(kept)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_lesson_brings_was_kept_in_an_earlier_one(name):
    """Students get a line that brings it, and no solution."""
    brought = [text for id, text in cells(name, "release").items() if id != "parts" and text.startswith("bring(")]
    for lesson, listed in re.findall(r"lesson_(\d\d)=\[(.*?)\]", "\n".join(brought)):
        (earlier,) = [other for other in NAMES if other.startswith(lesson)]
        assert earlier < name
        assert set(re.findall(r'"(\w+)"', listed)) <= set(re.findall(r'"(\w+)"', cells(earlier)["keep"]))
    assert bool(brought) == bool(set(course.assignments(ROOT)[name].bases) & course.exercises(ROOT).keys())


@pytest.mark.parametrize("installed", [True, False], ids=["with tqdm", "without"])
def test_what_shows_a_progress_bar_is_kept(installed, notebook, monkeypatch):
    """As exercise 5 of lesson 07 asks: `tqdm` is of the lesson's own first cell, and goes along."""
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    one = notebook()
    one.run(cells("07_language_model")["setup"])
    one.run("def train(steps):\n    return [step for step in tqdm(range(steps), desc='training')]")
    assert one.run('keep("07", "train")') == "Kept for later lessons, in my_parts/lesson_07.py: train.\n"
    other = notebook()
    other.run('bring(lesson_07=["train"])')
    said = other.run("print(train(3))")
    assert said.splitlines()[-1] == "[0, 1, 2]" and ("training" in said) == installed
