"""An edit that picks one of many answers is a guess; one of code that did its work, or was kept from it, is a slip."""

import ast

import pytest

from autograder import course
from autograder.mistakes import slip
from autograder.mistakes.bank import right_answer, styles_of
from autograder.mistakes.edits import Mutant, Page

CALLS = [(1,), (2,), (-3,), (None,)]  # of `answer`; a check makes each


def seen(text, call):
    """What a check sees of an answer: what it returns, or the error that ended it."""
    names = {}
    try:
        exec(text, names)
        return names["answer"](*call)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def is_slip(text, old, new, kind="constant", asked=None):
    """Whether it is one to put `new` in the place of `old`, after which the answer is right by definition."""
    place = text.encode().index(old.encode())
    edited = text.replace(old, new, 1)
    assert ast.parse(edited) and text != edited
    edit = Mutant(kind, edited, text, 1, "", (place, place + len(old.encode())))
    failed = [call for call in CALLS if seen(text, call) != seen(edited, call)]
    assert failed, "nothing is wrong with it"

    def is_alike(other):
        if asked is not None:
            asked.append(other)
        return all(seen(other, call) == seen(text, call) for call in failed)

    def passes(other):
        return all(seen(other, call) == seen(edited, call) for call in failed)

    return slip.is_slip(edit, is_alike, passes)


GUESSES = {
    "a line": ("    if False: c = 3\n", "False", "True"),
    "a block": ("    if False:\n        c = 3\n        c += 0\n", "False", "True"),
    "a condition": ("    if x == 7777: c = 3\n", "==", "!="),
    "otherwise": ("    if True:\n        pass\n    else:\n        c = 3\n", "True", "False"),
    "elif": ("    if c == 5:\n        pass\n    elif c == 6:\n        c = 3\n", "6", "2"),
    "one of two values": ("    c = 3 if False else c\n", "False", "True"),
    "and": ("    c = (False and 3) or c\n", "False", "True"),
    "or": ("    c = (c or 3) + 0\n", "c or 3", "3"),
    "a chain": ("    0 > 1 < (c := 3)\n", "0 >", "5 >"),
    "a loop": ("    for _ in range(0): c = 3\n", "0", "1"),
    "a loop that may not begin": ("    while False:\n        c = 3\n        break\n", "False", "True"),
    "an error": ("    try: 1 / 1\n    except ZeroDivisionError: c = 3\n", "/ 1", "/ 0"),
    "a case": ("    match 1:\n        case 2: c = 3\n        case _: pass\n", "case 2", "case 1"),
    "after the end": ("    def f():\n        return 2\n        return 3\n    c = f()\n", "return 2", "pass"),
    "items": ("    c = ([3 for _ in ()] + [c])[0]\n", "()", "(1,)"),
    "a function": ("    f = lambda: 3\n    c = f() if False else c\n", "False", "True"),
    "the condition itself": ("    if False:\n        c = 3\n", "if False:\n        c = 3", "c = 3"),
    "beside much that runs": (
        "    if True: c = c\n" * 9 + "    if False: c = 3\n" + "    if c: c = c\n",
        "False",
        "True",
    ),
    "behind letters of many bytes": ("    if 'ä€😀' and False: c = 3  # ß\n", "False", "True"),
}


@pytest.mark.parametrize("table, old, new", GUESSES.values(), ids=GUESSES)
def test_an_edit_that_makes_live_what_was_passed_by_is_a_guess(table, old, new):
    text = f"def answer(x):\n    c = 2\n{table}    return (x or 1) * c\n"
    assert not is_slip(text, old, new)


SLIPS = {
    "a number": ("def answer(x):\n    return (x or 1) * 2\n", "2", "3"),
    "the wrong way round": (
        "def answer(x):\n    if x is not None:\n        x = 1\n    return x * 2\n",
        "is not",
        "is",
    ),
    "a loop that ends early": (
        "def answer(x):\n    for n in range(1):\n        x = (x or 1) + n\n    return x\n",
        "1",
        "2",
    ),
    "what others passed by": (
        "def answer(x):\n    if x == 5555: return 0\n    return (x or 1) * 2\n",
        "* 2",
        "* 3",
    ),
    "a refusal": (
        "def answer(x):\n    if x == 5:\n        raise ValueError('no')\n    return (x or 1) * 2\n",
        "== 5",
        "is None",
    ),
    "in a function that is called": (
        "def helper(x):\n    return x * 2\n\n\ndef answer(x):\n    return helper(x or 1)\n",
        "2",
        "3",
    ),
    "in a class with decorators": (
        "class A:\n    @property\n    def two(self):\n        return 2\n\n\ndef answer(x):\n    return A().two\n",
        "2",
        "3",
    ),
}


@pytest.mark.parametrize("text, old, new", SLIPS.values(), ids=SLIPS)
def test_an_edit_of_what_did_its_work_is_a_slip(text, old, new):
    assert is_slip(text, old, new)


def test_what_an_error_kept_from_running_was_not_passed_by():
    line = "y = abs(x, 1)"
    text = f"def answer(x):\n    x = x or 1\n    {line}\n    if y > 0:\n        y = y * 2\n    return y\n"
    assert is_slip(text, "abs(x, 1)", "abs(x)")


ENDED = {
    "a loop": "    for n in range():\n        x = x + n\n",
    "a loop over what is made as it goes": "    for n in (abs() for _ in range(3)):\n        x = x + n\n",
    "a condition": "    if abs():\n        x = 5\n",
    "a value": "    x = 5 if abs() else x\n",
    "the first of two": "    x = x * (abs() or 5)\n",
    "items": "    x = [n for n in range()]\n",
    "a result": "    def f():\n        return abs()\n        return 1\n    x = f()\n",
}


@pytest.mark.parametrize("lines", ENDED.values(), ids=ENDED)
def test_nor_was_what_an_error_left_undecided(lines):
    old, new = ("range()", "range(3)") if "range()" in lines else ("abs()", "int()" if "or" in lines else "abs(3)")
    assert is_slip(f"def answer(x):\n    x = x or 1\n{lines}    return x\n", old, new)


def test_nor_was_what_nobody_called():
    text = "def later(x):\n    if x: return 3\n    return x\n\n\ndef answer(x):\n    return len()\n"
    assert is_slip(text, "len()", "later(x)")


TABLE = "def answer(x):\n    c = 2\n{}    return (x or 1) * c\n"


def test_one_of_many_statements_that_are_alike_is_a_row_of_a_table():
    rows = [f"    c = c + 0 * {n}\n" for n in range(slip.ROWS)]
    assert not is_slip(TABLE.format("".join(rows)), "0 * 5", "1 * 5")
    assert is_slip(TABLE.format("".join(rows[1:])), "0 * 5", "1 * 5")


def test_so_is_one_of_many_expressions():
    items = [f"0 * {n}" for n in range(slip.ITEMS)]
    for some, is_one in ((items, False), (items[1:], True)):
        assert is_slip(TABLE.format(f"    c = c + {' + '.join(some)}\n"), "0 * 5", "1 * 5") is is_one


def test_so_is_one_of_many_items():
    for many, is_one in ((slip.ITEMS, False), (slip.ITEMS - 1, True)):
        items = ", ".join(["0"] * (many - 1) + ["90"])
        assert is_slip(TABLE.format(f"    c = c + sum([{items}])\n"), "90", "91") is is_one
        returns = f"def answer(x):\n    c = 2\n    return {items}\n"
        assert is_slip(returns, f"return {items}", "return 90", "statement removed") is is_one


@pytest.mark.parametrize(
    "line, old, new, kind",
    [
        ("random.seed(3)", "3", "4", "constant"),
        ("random.Random(3 + 1)", "3", "4", "constant"),
        ("random.seed(3)", "random.seed(3)", "pass", "statement removed"),
    ],
)
def test_the_number_that_chance_begins_with_is_no_slip(line, old, new, kind):
    text = f"import random\n\n\ndef answer(x):\n    {line}\n    return random.random()\n"
    assert not is_slip(text, old, new, kind)


def test_an_answer_with_too_many_parts_is_a_guess_after_so_many_runs():
    rows = "".join(f"    if x != {n}:\n        c = c + 0\n    if x == 1000 + {n}:\n        d = 1\n" for n in range(90))
    asked = []
    assert not is_slip(TABLE.format(rows + "    if False: c = 3\n"), "False", "True", asked=asked)
    assert len(asked) <= slip.MOST_RUNS + 1


@pytest.mark.parametrize("exercise", course.exercises())
def test_whatever_stops_is_a_program(exercise):
    """Of each part of each right answer."""
    for text in (right_answer(exercise), *(right_answer(exercise, style) for style in styles_of(exercise))):
        page, parts = Page(text), []
        waiting = slip.Parts(page).below(ast.parse(page.text))
        while waiting:
            parts.append(waiting.pop())
            waiting += parts[-1].inside
        assert parts or "def " not in text
        for part in parts:
            for stop in filter(None, (part.stop, part.decision)):
                compile(slip.with_stops(page.text, [stop]), exercise, "exec")
        compile(slip.with_stops(page.text, [part.stop for part in parts]), exercise, "exec")
