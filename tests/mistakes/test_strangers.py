"""How tests/strangers is read: whole answers, and edits of right ones; that these are right, and every edit wrong."""

import re

import pytest
import strangers
import torch

from autograder.checks.proxies import Local
from autograder.checks.runner import Graders
from autograder.mistakes.bank import namespace_of
from autograder.mistakes.name_check import cells_for

RIGHT = "import torch\n\n\ndef f(x):\n    y = x + 1\n    z = x + 1\n    return y\n"
PAGE = f"""# %% right
{RIGHT}
# %% whole: it gives nothing: at all
# expect: a, b
def f(x):
    # - this is no edit
    return None

# %% other: two places
# expect: c
# also: d
# -    y = x + 1
# +    y = x

# -
# -
# -def f(x):
# +def f(x, y):
"""


def test_an_answer_is_whole_or_the_edits_of_a_right_one():
    found = strangers.parse(PAGE)
    assert found.right == [RIGHT]
    assert found.wrong["whole"] == (
        "# wrong: it gives nothing: at all\n# expect: a, b\ndef f(x):\n    # - this is no edit\n    return None\n"
    )
    assert found.wrong["other"] == (
        "# wrong: two places\n# expect: c\n# also: d\n"
        "import torch\ndef f(x, y):\n    y = x\n    z = x + 1\n    return y\n"
    )


def test_edits_are_of_the_right_answer_above_them():
    found = strangers.parse(f"{PAGE}\n# %% right\nx = 1\n\n# %% third: two\n# expect: e\n# -x = 1\n# +x = 2\n")
    assert found.right == [RIGHT, "x = 1\n"]
    assert found.wrong["third"] == "# wrong: two\n# expect: e\nx = 2\n"


@pytest.mark.parametrize(
    "cell, problem",
    [
        ("# %% one: it\n# -    q = 1\n# +    q = 2\n", "one: The right answer has these lines 0 times"),
        ("# %% one: it\n# - y = x + 1\n", "one: The right answer has these lines 0 times"),
        ("# %% one: it\n# -    return\n", "one: The right answer has these lines 0 times"),
        ("# %% right\na = 1\na = 1\n\n# %% one: it\n# -a = 1\n", "one: The right answer has these lines 2 times"),
        ("# %% one: it\n# +    q = 2\n", "one: An edit has lines"),
        ("# %% one: it\n# -    y = x + 1\n# a word\n", "one: An edit has lines"),
        ("# %% one: it\n# -    y = x + 1\n# -    z = x + 1\n\n# -    z = x + 1\n", "one: Two edits change the same"),
        ("# %% one\nx = 1\n", "one: A cell begins with"),
        ("# %% one two: it\nx = 1\n", "one two: it: A cell begins with"),
        ("# %% whole: it\nx = 1\n", "whole: it: A cell begins with"),
    ],
)
def test_a_cell_that_is_not_clear_is_refused(cell, problem):
    with pytest.raises(strangers.Unusable) as refusal:
        strangers.parse(f"{PAGE}\n{cell}")
    assert str(refusal.value).startswith(problem)


@pytest.mark.parametrize("text", ["x = 1\n# %% right\nx = 1\n", "# %% one: it\n# -x\n"])
def test_nothing_comes_before_what_it_needs(text):
    with pytest.raises(strangers.Unusable):
        strangers.parse(text)


def test_the_page_shows_what_is_read():
    (example,) = re.findall(r"```python\n(.*?)```", (strangers.FOLDER / "README.md").read_text(), re.DOTALL)
    found = strangers.parse(example)
    assert len(found.right) == 1 and list(found.wrong) == ["total_sum", "library"]
    assert "return weights / weights.sum()\n" in found.wrong["total_sum"]


LONG = pytest.mark.slow("its checks train a model three times")


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(name, marks=LONG) if name == "MyModel" else name
        for name in strangers.exercises()
        if strangers.answers(name).right
    ],
)
def test_what_edits_are_made_of_is_right(exercise):
    """A mistake there would be in all of its edits, beside the one that they are named by."""
    torch.set_num_threads(1)
    for text in strangers.answers(exercise).right:
        cells = [cell.source for cell in cells_for(exercise, text)]
        run = Graders().run(exercise, Local(namespace_of(f"{exercise}/stranger", *cells), cells[-1]), 1)
        assert (list(run.failed()), run.unjudged, run.stopped) == ([], {}, None)
