"""From its text: whether what an exercise uses can be replaced after its cells have run."""

import pytest

from autograder.checks.late import looks_up_late
from autograder.checks.source_text import Source

HELPER = "from torch import nn\n\ndef helper(x):\n    return x\n"
LATE = {
    "a function": "def answer(x):\n    return helper(x)",
    "a class": "class Answer(nn.Module):\n    size = 3\n    def forward(self, x):\n        self.x = helper(x)",
    "by way of another": "def middle(x):\n    return helper(x)\n\ndef answer(x):\n    return middle(x)",
    "what it changes is its own": "def answer(x):\n    table = {}\n    table[x] = helper(x)\n    x[0] = 1",
    "a constant": "SIZE = (3, -1)\n\ndef answer(x, most=2):\n    return helper(x) * SIZE[0]",
    "its own name for something else": "mask = helper(3)\n\ndef answer(x):\n    mask = helper(x)\n    return mask",
}
NOT_LATE = {
    "a default": "def answer(x, by=helper):\n    return by(x)",
    "a base": "class Answer(helper):\n    pass",
    "kept in a class": "class Answer:\n    by = helper",
    "computed when its cell ran": "TABLE = helper(3)\n\ndef answer(x):\n    return TABLE",
    "a cache": "@functools.lru_cache\ndef answer(x):\n    return helper(x)",
    "a cache of another": "@cache\ndef middle(x):\n    return helper(x)\n\ndef answer(x):\n    return middle(x)",
    "a table": "KEPT = {}\n\ndef answer(x):\n    return KEPT.setdefault(x, helper(x))",
    "a default that keeps": "def answer(x, kept=[]):\n    kept.append(helper(x))",
    "a global": "KEPT = None\n\ndef answer(x):\n    global KEPT\n    KEPT = KEPT or helper(x)\n    return KEPT",
    "on itself": "def answer(x):\n    answer.kept = helper(x)\n    return answer.kept",
    "by another way": "def answer(x):\n    setattr(answer, 'kept', helper(x))",
    "on its class": "class Answer:\n    def forward(self, x):\n        self.__class__.kept = helper(x)",
    "by a name of unknown origin": "print(kept := helper(3))\n\ndef answer(x):\n    return kept",
    "by a name that a function made": "def make():\n    global by\n    by = helper\n\ndef answer(x):\n    return by(x)",
    "patched": "class Answer:\n    def forward(self, x):\n        return helper(x)\n\nAnswer.forward = cache(one)",
    "patched out of sight": "def answer(x):\n    return helper(x)\n\nexec('answer = cache(answer)')",
    "not Python": "def answer(x):\n    return helper(x)\n\nthis is no Python",
    "not there": "x = 3",
}


def is_late(text, uses=()):
    name = "Answer" if "class Answer" in text else "answer"
    return looks_up_late(Source(name, (HELPER, text), 2), {"helper"}, uses)


@pytest.mark.parametrize("text", LATE.values(), ids=LATE)
def test_late(text):
    assert is_late(text)


@pytest.mark.parametrize("text", NOT_LATE.values(), ids=NOT_LATE)
def test_not_late(text):
    assert not is_late(text)


def test_what_the_new_definition_uses_counts_too():
    text = "KEPT = {}\n\ndef other(x):\n    return KEPT[x]\n\ndef answer(x):\n    return helper(x)"
    assert is_late(text) and not is_late(text, {"other"})


def test_a_variable_of_the_new_definition_is_no_name_of_theirs():
    text = "class Answer(nn.Module):\n    def forward(self, x):\n        self.x = helper(x)"
    assert is_late(text, {"self", "x"})
