"""What a submission's text is said to call: by any way that an honest student writes it, and never by mere mention."""

import ast
import tracemalloc

import pytest
import torch
from conftest import ROOT, cell_of, hand_in, load

from autograder.checks import api, source_text
from autograder.checks.proxies import Local, Submission
from autograder.checks.source_text import TORCHS_SOFTMAX

CALLS = {
    "a function": ("def softmax(s, dim=-1):\n    return F.softmax(s, dim)", ["F.softmax"]),
    "a method": ("def softmax(s, dim=-1):\n    return s.abs().softmax(dim)", [".softmax"]),
    "a module": ("def softmax(s, dim=-1):\n    return nn.Softmax(dim)(s)", ["nn.Softmax"]),
    "a long name": (
        "def softmax(s, dim=-1):\n    return torch.nn.functional.log_softmax(s, dim).exp()",
        [".log_softmax"],
    ),
    "two of them": (
        "def softmax(s, d):\n    return (s - torch.logsumexp(s, d)).exp() + s.softmax(d)",
        ["s.softmax", "torch.logsumexp"],
    ),
    "an alias of an import": ("from torch import softmax as sm\ndef softmax(s, d):\n    return sm(s, d)", ["softmax"]),
    "an import within": (
        "def softmax(s, d):\n    from torch.nn.functional import softmax as sm\n    return sm(s, d)",
        ["softmax"],
    ),
    "a star import": ("from torch import *\ndef softmax(s, d):\n    return log_softmax(s, d).exp()", ["log_softmax"]),
    "a variable": ("import torch\nsm = torch.softmax\ndef softmax(s, d):\n    return sm(s, d)", ["torch.softmax"]),
    "a helper's helper": (
        "def a(s):\n    return b(s)\ndef b(s):\n    return s.softmax(0)\ndef softmax(s, d):\n    return a(s)",
        ["s.softmax"],
    ),
    "an assignment": ("softmax = torch.softmax", ["torch.softmax"]),
    "a lambda": ("softmax = lambda s, dim=-1: s.softmax(dim)", ["s.softmax"]),
    "a decorator": ("@torch.softmax\ndef softmax(s, d):\n    return s", ["torch.softmax"]),
    "a name in quotes": ("def softmax(s, d):\n    return getattr(torch, 'softmax')(s, d)", ["softmax"]),
    "a method of its own class": (
        "class A:\n    def run(self, s):\n        return s.softmax(0)\ndef softmax(s, d):\n    return A().run(s)",
        ["s.softmax"],
    ),
    "attention": (
        "def softmax(s, d):\n    return F.scaled_dot_product_attention(s, s, s)",
        ["F.scaled_dot_product_attention"],
    ),
    "a branch": ("if True:\n    def softmax(s, d):\n        return s.softmax(d)", ["s.softmax"]),
    "a magic in the cell": ("%matplotlib inline\n!ls\ndef softmax(s, d):\n    return s.softmax(d)", ["s.softmax"]),
}
WORK = "def softmax(s, d=-1):\n    return s.softmax(d)"
PASTED = {
    "Python's prompts": ">>> def softmax(s, d=-1):\n...     return s.softmax(d)",
    "Python's prompts, behind a comment": "# mine\n>>> def softmax(s, d=-1):\n...     return s.softmax(d)",
    "IPython's prompts": "In [3]: def softmax(s, d=-1):\n   ...:     return s.softmax(d)",
    "indented": "\n    def softmax(s, d=-1):\n        return s.softmax(d)",
    "indented, with a magic": "    %matplotlib inline\n    def softmax(s, d=-1):\n        return s.softmax(d)",
    "below a question": f"torch.softmax?\n{WORK}",
    "below a cell magic": f"%%time\n{WORK}",
    "with a docstring that asks": WORK.replace("\n", '\n    """Why?"""\n', 1),
    "with a command in it": WORK.replace("\n", "\n    !ls\n    files = !ls\n", 1),
}
TESTED = {
    "an assert": "def softmax(s, d):\n    o = s.exp()\n    assert torch.equal(o, F.softmax(s, d))\n    return o",
    "torch's assert": "def softmax(s, d):\n    o = s.exp()\n    assert_close(o, s.softmax(d))\n    return o",
    "a print": "def softmax(s, d):\n    print(F.softmax(s, d))\n    return s.exp()",
    "a variable for an assert": (
        "def softmax(s, d):\n    a = F.softmax(s, d)\n    o = s.exp()\n    assert (a == o).all(), a\n    return o"
    ),
    "a helper in an assert": (
        "def a(s):\n    return F.softmax(s, 0)\ndef softmax(s, d):\n    assert a(s).sum() > 0\n    return s.exp()"
    ),
    "a method of its own": "class softmax:\n    def log_softmax(self, s):\n        return self.log_softmax(s)",
}
NOT_TESTED = {
    "a walrus in an assert": "def softmax(s, d):\n    assert (out := F.softmax(s, d)) is not None\n    return out",
    "an assert that copies": "def softmax(s, d):\n    o = s * 1\n    assert o.copy_(s.softmax(d)) is o\n    return o",
    "a variable that is returned, too": (
        "def softmax(s, d):\n    out = F.softmax(s, d)\n    assert out.sum() > 0\n    return out"
    ),
}
MENTIONS = {
    "a comment": "def softmax(s, d):\n    # F.softmax(s, d) would do\n    return s.exp()",
    "a docstring": "def softmax(s, d):\n    '''like torch.softmax(s, d), without F.log_softmax'''\n    return s.exp()",
    "a message": "def softmax(s, d):\n    raise ValueError('softmax', f'F.softmax({s})')",
    "a variable's name": "def softmax(s, d):\n    logsumexp = s.exp().sum(d).log()\n    return (s - logsumexp).exp()",
    "an argument's name": "def shift(logsumexp):\n    return logsumexp\ndef softmax(s, d):\n    return shift(s)",
    "recursion": "def softmax(s, d):\n    return s.exp() if d == 0 else softmax(s.T, 0).T",
    "an unused import": "from torch.nn.functional import softmax\ndef softmax(s, d=-1):\n    return s.exp()",
    "another function": "def check(s):\n    return F.softmax(s, 0)\ndef softmax(s, d):\n    return s.exp()",
    "its own class": (
        "class A:\n    @staticmethod\n    def softmax(s):\n        return s.exp()\n"
        "def softmax(s, d):\n    return A.softmax(s)"
    ),
    "its own method": (
        "class A:\n    def softmax(self, s):\n        return s.exp()\n    def go(self, s):\n"
        "        return self.softmax(s)\ndef softmax(s, d):\n    return A().go(s)"
    ),
    "a magic": "%timeit torch.softmax(x, 0)\ntorch.softmax?\nfiles = !ls\ndef softmax(s, d):\n    return s.exp()",
}


def reaches(*cells, before=None):
    return source_text.reaches(
        source_text.Source("softmax", cells, len(cells) if before is None else before), TORCHS_SOFTMAX
    )


@pytest.mark.parametrize("way", CALLS)
def test_a_call_is_found_and_named(way):
    code, expected = CALLS[way]
    assert reaches(code) == expected


@pytest.mark.parametrize("way", MENTIONS)
def test_a_mention_is_no_call(way):
    assert reaches(MENTIONS[way]) == []


def test_the_definition_that_was_bound_counts():
    own, torchs = "def softmax(s, d):\n    return s.exp()", "def softmax(s, d):\n    return s.softmax(d)"
    assert reaches(own, torchs, before=1) == []
    assert reaches(torchs, own, before=1) == ["s.softmax"]
    assert reaches("x = 1", torchs, before=1) == ["s.softmax"], "below its check, where there is none above"
    assert reaches("def f(:", own) == [], "a cell that is no Python is passed over"


@pytest.mark.parametrize(
    "hostile",
    ["-" * 100_000 + "1", "(" * 50_000, "a" + ".a" * 90_000, "1+" * 90_000 + "1", "\0", "x = 'é\ud800'", ""],
    ids=range(7),
)
def test_text_that_chokes_a_parser_is_no_definition(hostile):
    with pytest.raises(source_text.NoDefinition):
        reaches(hostile)
    assert reaches(hostile, "def softmax(s, d):\n    return s.softmax(d)") == ["s.softmax"]


@pytest.mark.parametrize(
    "costly",
    [
        "import a" + ".b" * 45_000,  # takes the parser 10 GB
        "f'" + "{x}" * 30_000 + "'",  # takes it half a minute
        " " * 40_000 + "x\n%time 1\n" + " " * 40_000 + "y",  # took the search for magics minutes
        "x\n" * 40_000 + "def f():" + "\n" * 900_000,
    ],
    ids=range(4),
)
def test_text_made_to_be_costly_is_not_parsed(costly):
    with pytest.raises(source_text.NoDefinition):
        reaches(costly)
    assert reaches("x = 1", "def softmax(s, d):\n    return s.softmax(d)", costly) == ["s.softmax"]
    assert source_text.names_in(costly) == set()


def test_only_so_much_text_is_parsed_in_all():
    cell = "x = 1\n" * 10_000
    mine = "def softmax(s, d):\n    return s.softmax(d)"
    assert reaches(mine, *[cell] * 15) == ["s.softmax"]
    with pytest.raises(source_text.NoDefinition):
        reaches(*[cell] * 15, mine)


def test_many_names_for_one_value_take_no_more_room_than_their_text():
    """96,000 characters: a set of all names for each of them would take 15 GB."""
    names = [f"n{number}" for number in range(12_000)]
    tracemalloc.start()
    used = source_text.names_used_by(["n0"], [f"{'='.join(names)}=0"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used == set(names) and peak < 100e6


def test_what_failed_for_want_of_memory_is_parsed_again(monkeypatch):
    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", fails)
        assert not source_text.tree_of("as_never_before = 1").body
    assert source_text.tree_of("as_never_before = 1").body


def test_a_tree_of_ones_own_is_shared_with_nobody():
    text = "one = 1"
    assert source_text.tree_of(text) is source_text.tree_of(text)
    assert source_text.own_tree_of(text) not in (source_text.tree_of(text), source_text.own_tree_of(text))


def test_the_text_of_code_in_this_process():
    assert api.does_without(Submission(Local({"softmax": honest})), "softmax", TORCHS_SOFTMAX) is None
    with pytest.raises(api.CheckFailed, match="torch.softmax"):
        api.does_without(Submission(Local({"softmax": dishonest})), "softmax", TORCHS_SOFTMAX)


def honest(scores, dim=-1):
    return scores.exp()


def dishonest(scores, dim=-1):
    return torch.softmax(scores, dim)


NAME = "01_self_attention"
OWN = "largest = scores.detach()"


@pytest.fixture
def notebook():
    return load(ROOT / "solutions" / NAME / f"{NAME}.ipynb")


def of_softmax(grader, notebook, folder):
    verdict = grader.grade_file(hand_in(notebook, folder, f"{NAME}.ipynb")).verdict
    return verdict, next(e for e in verdict.exercises if e.exercise == "softmax")


def test_a_notebook_whose_other_exercises_use_torchs_softmax(grader, notebook, tmp_path):
    """They may, and the solutions do."""
    assert "F.softmax" in "".join(cell_of(notebook, "self_attention-solution")["source"])
    verdict, _ = of_softmax(grader, notebook, tmp_path)
    assert verdict.full


def test_torchs_softmax_in_a_helper_cell_is_found_and_the_mistake_named(grader, notebook, tmp_path):
    cell = cell_of(notebook, "softmax-solution")
    helper = {"cell_type": "code", "id": "helper", "metadata": {}, "outputs": [], "execution_count": None}
    helper["source"] = (
        "def helper(x, d):\n    e = (x == float('-inf')).all(d, keepdim=True)\n"
        "    return F.softmax(x.masked_fill(e, 0.0), d).masked_fill(e, 0.0)"
    )
    notebook["cells"].insert(notebook["cells"].index(cell), helper)
    cell["source"] = "def softmax(scores, dim=-1):\n    return helper(scores, dim)"
    verdict, exercise = of_softmax(grader, notebook, tmp_path)
    failed = [c for c in exercise.checks if not c.passed]
    assert [c.name for c in failed] == ["test_made_by_hand"] and "F.softmax" in failed[0].message
    assert [d.id for d in exercise.diagnosis] == ["torchs-own-softmax"]
    lost = sum(e.max_score for e in verdict.exercises) - sum(e.score for e in verdict.exercises)
    assert lost == failed[0].points


def test_the_plain_call_has_no_other_mistake(grader, notebook, tmp_path):
    cell_of(notebook, "softmax-solution")["source"] = "def softmax(s, dim=-1):\n    return F.softmax(s, dim)"
    _, exercise = of_softmax(grader, notebook, tmp_path)
    assert {d.id for d in exercise.diagnosis} == {"torchs-own-softmax"}


def test_a_stub_gets_nothing_for_not_calling_it(grader, notebook, tmp_path):
    cell_of(notebook, "softmax-solution")["source"] = "def softmax(scores, dim=-1):\n    return scores"
    _, exercise = of_softmax(grader, notebook, tmp_path)
    assert exercise.score == 0


STUB = 'def one(x):\n    """Doc."""\n    # YOUR CODE HERE\n    raise NotImplementedError()\n'
CLASS = """
class one(nn.Module):
    def __init__(self, n):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError("later")
"""
WRITTEN = {
    "an answer": "def one(x):\n    return x",
    "begun": "def one(x):\n    y = x + 1\n    raise NotImplementedError()",
    "a case that is not there yet": "def one(x):\n    if x:\n        return x\n    raise NotImplementedError()",
    "a method is written": CLASS.replace('raise NotImplementedError("later")', "return x"),
    "another error": STUB.replace("NotImplementedError", "ValueError"),
    "another name": STUB.replace("one", "two"),
    "written below": STUB + "def one(x):\n    return x\n",
    "no function": "one = 3",
    "no Python": "def one(:",
}


@pytest.mark.parametrize("text", [STUB, CLASS, "import torch\n" + STUB, "def two(x):\n    return x\n\n" + STUB])
def test_a_stub_is_known(text):
    assert source_text.is_stub(text, "one")


@pytest.mark.parametrize("case", WRITTEN)
def test_what_is_begun_is_no_stub(case):
    assert not source_text.is_stub(WRITTEN[case], "one")


def test_code_is_the_same_but_for_comments_and_blanks():
    assert source_text.same_code("def f(x):\n    return x  # so", "# mine\ndef f( x ):\n\n    return x\n")
    assert not source_text.same_code("def f(x):\n    return x", "def f(x):\n    return -x")
    assert not source_text.same_code("def f(:", "def f(:"), "nothing is known about it"
    deep = "x = " + "-" * 3000 + "1"
    assert source_text.same_code(deep, deep) in (True, False)


@pytest.mark.parametrize(
    "line, joins",
    [
        ("inside = (x < n) and (x >= 0)", True),
        ("inside = tl.load(x, mask=x < n or x > 3)", True),
        ("inside = (x < n) & (x >= 0)", False),
        ("inside = x if n and x else n", False),
        ("if n and x or not x:\n        inside = x", False),
        ("while n and x:\n        inside = x", False),
    ],
)
def test_a_value_that_words_join_is_told_from_a_question(line, joins):
    text = f"@triton.jit\ndef kernel(x, n):\n    {line}\n"
    assert source_text.joins_by_words(source_text.Source("kernel", (text,), 1)) is joins


def of(*cells):
    return source_text.Source("softmax", cells, len(cells))


@pytest.mark.parametrize("name", PASTED)
def test_a_cell_is_read_as_ipython_reads_it(name):
    assert source_text.reaches(of(PASTED[name]), TORCHS_SOFTMAX) == ["s.softmax"]
    assert source_text.reaches(of(PASTED[name].replace("s.softmax(d)", "s.exp()")), TORCHS_SOFTMAX) == []
    assert "s.softmax(d)" in source_text.definition(of(PASTED[name]))
    ast.parse(source_text.definition(of(PASTED[name])))


@pytest.mark.parametrize("name", TESTED)
def test_what_only_tests_an_answer_does_not_do_its_work(name):
    assert source_text.reaches(of(TESTED[name]), TORCHS_SOFTMAX) == []


@pytest.mark.parametrize("name", NOT_TESTED)
def test_what_goes_on_from_a_test_does_its_work(name):
    assert source_text.reaches(of(NOT_TESTED[name]), TORCHS_SOFTMAX)


def test_a_module_that_a_cell_has_written_is_the_students_own():
    own = "%%writefile mine.py\ndef softmax(s, d):\n    return s.exp()"
    for use in ("from mine import softmax", "import mine\ndef softmax(s, d):\n    return mine.softmax(s, d)"):
        assert source_text.reaches(of(own, use), TORCHS_SOFTMAX) == []
        assert source_text.reaches(of(own.replace("s.exp()", "s.softmax(d)"), use), TORCHS_SOFTMAX) == ["s.softmax"]
    assert source_text.reaches(of(own, "from torch import softmax"), TORCHS_SOFTMAX) == ["softmax"]


@pytest.mark.parametrize(
    "text, ends",
    [
        ("def f(x):\n    return x\ndef f(x):\n    raise NotImplementedError()", True),
        (
            "class f:\n    def g(s):\n        return 1\nclass f:\n    def g(s):\n        raise NotImplementedError",
            True,
        ),
        ("def f(x):\n    return x\ndef f(x):\n    return x + 1", True),  # as it was released
        ("def f(x):\n    raise NotImplementedError()\ndef f(x):\n    return x", False),
        ("def f(x):\n    raise NotImplementedError()\ndef f(x):\n    raise NotImplementedError()", False),
        ("def f(x):\n    raise NotImplementedError()", False),
    ],
)
def test_a_template_below_ones_own_code_is_found(text, ends):
    assert source_text.ends_unwritten(text, "f", "# fix it\ndef f(x):\n    return x + 1") is ends
