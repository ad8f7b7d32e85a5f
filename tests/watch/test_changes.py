"""Which exercises a change concerns, and when a file counts as saved."""

import os

import pytest

from autograder.watch.changes import WatchedFile, changed_in, concerned

HELPER, OTHER = "def helper(x):\n    return 2 * x\n", "import math\nlimit = math.inf\n"
ONE, TWO = "def one(x):\n    return helper(x)\n", "class two:\n    def run(self, x):\n        return one(x) + limit\n"
BEFORE = [HELPER, OTHER, ONE, "# one", TWO, "# two"]
BOTH = {"one", "two"}


def after(old, new):
    return [new if cell == old else cell for cell in BEFORE]


@pytest.mark.parametrize(
    ("now", "exercises"),
    [
        (BEFORE, set()),
        (after(HELPER, HELPER.replace("2", "3")), BOTH),
        (after(HELPER, "def something(x):\n    return x\n"), BOTH),
        (after(OTHER, OTHER.replace("inf", "pi")), {"two"}),
        (after(TWO, TWO.replace("+", "-")), {"two"}),
        (after(ONE, ONE.replace("helper", "abs")), BOTH),
        ([*BEFORE, "def unused():\n    pass\n"], set()),
        ([*BEFORE, "# a thought\n"], set()),
        ([*BEFORE, "def one(x):\n    return x\n"], BOTH),
        ([*BEFORE, "print(1)\n"], BOTH),
        ([*BEFORE, "torch.softmax = abs\n"], BOTH),
        ([*BEFORE, "def broken(:\n"], BOTH),
        ([OTHER, HELPER, *BEFORE[2:]], BOTH),
    ],
)
def test_a_change_concerns_what_stands_on_it(now, exercises):
    assert concerned(BOTH, BEFORE, now) == exercises


def test_what_was_edited_is_what_is_defined_there():
    assert changed_in(BOTH, BEFORE, after(TWO, "class two:\n    pass\n")) == {"two"}
    assert changed_in(BOTH, BEFORE, after(HELPER, "")) == set()


def test_a_file_that_is_replaced_removed_or_written_in_place_has_changed(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("1\n")
    file = WatchedFile(path)
    assert file.has_changed() and not file.has_changed()
    (tmp_path / "b.py").write_text("2\n")
    os.replace(tmp_path / "b.py", path)
    assert file.has_changed() and file.is_in_the_making() and not file.is_empty()
    path.write_text("")
    assert file.has_changed() and file.is_empty()
    path.unlink()
    assert file.has_changed() and not file.has_changed() and not file.is_empty()
