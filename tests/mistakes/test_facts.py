"""Facts about a wrong answer: read off its errors, its parameters and its text, and never false."""

import pytest
from sample import ONE_EDIT_OR_FACT

from autograder.checks.proxies import Local
from autograder.checks.runner import ExerciseRun, Graders
from autograder.groups.names import Name, is_unnamed
from autograder.mistakes.bank import bank, namespace_of
from autograder.mistakes.crashes import crash
from autograder.mistakes.diagnosis import Diagnostician
from autograder.mistakes.facts import facts
from autograder.mistakes.text import Text
from autograder.report.class_report import named_in
from autograder.sandbox.replies import Failure, Place
from autograder.verdict import FACT, Check, Diagnosis, Outcome

pytestmark = ONE_EDIT_OR_FACT

SETUP = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n"
CUT = "self.tril[:t, :t]"
SCORES = "scaled_query @ key.transpose(-2, -1)"
CLEARED = {
    "        scores = scores.masked_fill(~has_a_key, 0.0)": "        pass",
    "        weights = weights.masked_fill(~has_a_key, 0.0)": "        pass",
}
FIXED = {SCORES: "torch.einsum('b...qd,b...kd->b...qk', scaled_query, key)"}
SCALE, DROPOUT = "k.shape[-1] ** -0.5", "self.dropout(F.softmax(wei, dim=-1))"


@pytest.fixture(scope="module")
def graders():
    return Graders()


@pytest.fixture(scope="module")
def diagnostician(graders):
    return Diagnostician(graders)


def edited(exercise, changes):
    """The right answer with some texts in it changed."""
    text = bank(exercise).right
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def run_of(graders, exercise, text):
    text = SETUP + text
    return graders.run(exercise, Local(namespace_of("answer", bank(exercise).around, text), text), 1)


@pytest.fixture
def told(graders, diagnostician):
    """What is told of the right answer to an exercise with some changes: ids, each with its line."""

    def tell(exercise, changes):
        run = run_of(graders, exercise, edited(exercise, changes))
        return {found.id: found.line.split("  #")[0].strip() for found in diagnostician.diagnose(run)}

    return tell


TABLE = """
def apply_rope(x, positions, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    if x.shape[-1] % 2:
        raise ValueError("the width is odd")
    exponents = torch.arange(0, x.shape[-1], 2, dtype=wide, device=x.device) / x.shape[-1]
    table = torch.arange(2048, device=x.device).to(wide)[:, None] * base**-exponents
    angles = table[positions]
    while 2 < angles.dim() < x.dim():
        angles = angles.unsqueeze(1)
    a, b = x.to(wide).chunk(2, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1).to(x.dtype)
"""


def test_a_table_is_told_with_its_size(graders, diagnostician):
    """It is right below its size, so no values tell; the bank knows a table of one size alone."""
    run = run_of(graders, "apply_rope", TABLE)
    (found,) = diagnostician.diagnose(run)
    assert (found.id, found.line) == ("fact-beyond-the-last", "angles = table[positions]")
    assert "has 2048 places" in found.message and "not whole" in found.message


@pytest.mark.drawn(2, "facts that no known mistake explains")
@pytest.mark.parametrize(
    "exercise, changes, id, line",
    [
        ("Head", {CUT: "self.tril[t, t]"}, "beyond-the-last", "wei = wei.masked_fill(self.tril[t, t] == 0"),
        ("Head", {SCALE: "head_size ** -0.5"}, "not-defined", "wei = q @ k.transpose(-2, -1) * head_size ** -0.5"),
        ("Head", {"k = self.key(x)": "k = key(x)"}, "without-self", "k = key(x)"),
        ("Head", {"t = x.shape[1]": "t = x.size[1]"}, "not-called", "t = x.size[1]"),
        ("Head", {"        self.dropout = nn": "        dropout = nn"}, "attribute-not-set", "wei = self.dropout("),
        ("Head", {"self, x)": "x)", "return wei": "self = 0\n        return wei"}, "self-not-taken", ""),
        (
            "Head",
            {"self.register_buffer(": "self.tril = 1\n        self.register_buffer("},
            "registered-twice",
            "self.reg",
        ),
        ("Head", {"nn.Dropout(dropout)": "nn.Dropout()"}, "dropout-by-default", "self.dropout = nn.Dropout()"),
        (
            "Head",
            {"nn.Dropout(dropout)": "nn.Dropout(0.4)"},
            "dropout-of-its-own",
            "self.dropout = nn.Dropout(0.4)",
        ),
        ("RMSNorm", {"torch.ones(d)": "0.3 * torch.randn(d) + 2"}, "weights-at-first", ""),
        ("RMSNorm", {"torch.ones(d)": "torch.ones(1, 1, 1, d)"}, "shape-of-a-parameter", ""),
        (
            "apply_rope",
            {"chunk(2, dim=-1)": "chunk(2, dim=3)"},
            "no-such-dimension",
            "first, second = x.to(wide).chunk(",
        ),
        ("attention", {SCORES: SCORES + ","}, "trailing-comma", "scores = scaled_query @ key.transpose(-2, -1),"),
        (
            "attention",
            {"    return weights @": "        return weights @"},
            "no-return",
            "return weights @ value, weights",
        ),
        ("clip_gradients", {"** 0.5": "\n    length = torch.sqrt(length)"}, "no-tensor", "length = torch.sqrt(length)"),
        (
            "softmax",
            {"return powers / total": "powers /= total\n    return powers"},
            "changed-in-place",
            "powers /= total",
        ),
    ],
)
def test_what_no_known_mistake_explains_is_told_as_a_fact(told, exercise, changes, id, line):
    found = told(exercise, changes)
    assert FACT + id in found, found
    assert found[FACT + id].startswith(line) and bool(found[FACT + id]) is bool(line)


def test_a_fact_is_told_beside_a_known_mistake(told):
    found = told("attention", CLEARED | FIXED)
    assert list(found) == ["nan-in-empty-rows", "fact-fixed-rank"]


def test_what_a_fact_explains_does_not_hide_the_rest(told):
    """Biases, the scale and the dropout at once: without the checks and parameters of the biases, the two are found."""
    changes = {", bias=False": "", SCALE: "x.shape[-1] ** -0.5", DROPOUT: "F.softmax(wei, dim=-1)"}
    assert list(told("Head", changes)) == ["scale-by-embedding-width", "dropout-missing", "fact-biases"]


def test_a_known_mistake_that_explains_everything_is_all_that_is_told(told):
    found = told("attention", {SCORES: "torch.einsum('bqd,bkd->bqk', scaled_query, key)"})
    assert list(found) == ["einsum-with-a-fixed-batch"]


def test_an_answer_with_a_fact_alone_keeps_its_fingerprint(graders, diagnostician):
    run = run_of(graders, "RMSNorm", edited("RMSNorm", {"torch.ones(d)": "torch.arange(d) / d + 2"}))
    assert [found.id for found in diagnostician.diagnose(run)] == ["fact-weights-at-first"]
    assert run.fingerprint


def test_a_step_of_what_returns_nothing_is_not_told(graders):
    run = run_of(graders, "attention", "def attention(query, key, value, mask=None):\n    pass\n")
    assert graders.wrong_step(run) is None


def test_an_answer_with_a_fact_alone_belongs_to_a_group_and_is_in_no_table_of_mistakes():
    """Each student reads a fact in other words, and an instructor may say more of what a group did."""
    fact = Diagnosis(f"{FACT}beyond-the-last", "It has 2048 places.")
    outcome = Outcome("softmax", 1.0, 2.0, "graded", diagnosis=[fact], fingerprint="{}")
    assert is_unnamed(outcome) and named_in(outcome) == []
    told = Name("softmax-000000", "Its table ends.", ()).told(outcome)
    assert [found.id for found in told.diagnosis] == ["softmax-000000"]


# --- what an error says ---------------------------------------------------------------------------

NOTHING = Text("", ())


def raised(call, code="y = f(x)"):
    """The Failure of a call that raises in the student's line `code`."""
    try:
        call()
    except Exception as error:
        return Failure(type(error).__name__, str(error), Place("cell 1", 1, code), 0, isinstance(error, ValueError))
    raise AssertionError("nothing was raised")


def raising():
    """Calls that raise, by the id of what is told of them."""
    import einops
    import numpy as np
    import torch
    from torch.nn import functional as F

    x, y, z = torch.ones(5, 6), torch.ones(2, 5, 6), torch.ones(2, 3, 5, 6)
    leaf, whole = torch.ones(3, requires_grad=True), torch.arange(3)
    return [
        ("fixed-rank", lambda: torch.einsum("btd,bsd->bts", z, z)),
        ("fixed-rank", lambda: torch.einsum("b...td,b...sd->b...ts", x, x[0])),
        ("fixed-rank", lambda: einops.rearrange(z, "b s d -> b d s")),
        ("fixed-rank", lambda: z.permute(0, 2, 1)),
        ("fixed-rank", lambda: torch.bmm(z, z)),
        ("no-such-dimension", lambda: x.mean(dim=2)),
        ("no-such-dimension", lambda: x[:, :, 0]),
        ("two-dtypes", lambda: y.double() @ y.mT),
        ("two-dtypes", lambda: x.double() @ x.mT),
        ("two-dtypes", lambda: F.linear(y.half(), x)),
        ("two-dtypes", lambda: F.scaled_dot_product_attention(y.double(), y, y)),
        ("boolean-index", lambda: y[torch.ones(5, 6, dtype=torch.bool)]),
        ("not-interpreted", lambda: None.to_tensor),  # as Triton's interpreter does at `x.exp()`
        ("is-none", lambda: ~None),
        ("is-none", lambda: x + None),
        ("is-none", lambda: None.shape),
        ("is-none", lambda: x.masked_fill(None, 0.0)),
        ("no-tensor", lambda: torch.sqrt(0)),
        ("no-tensor", lambda: torch.sum([x, x])),
        ("no-tensor", lambda: torch.cat(x)),
        ("no-tensor", lambda: torch.stack([1.0, 2.0])),
        ("no-tensor", lambda: torch.norm(0)),
        ("no-array", lambda: torch.from_numpy(np.arange(9)[torch.tensor([3])])),
        ("empty-list", lambda: torch.stack([])),
        ("empty-list", lambda: torch.cat([])),
        ("unequal-parts", lambda: torch.cat([x, x[:, :3]])),
        ("unequal-parts", lambda: torch.stack([x, x[:3]])),
        ("beyond-the-last", lambda: x[7]),
        ("beyond-the-last", lambda: np.arange(3)[3]),
        ("beyond-the-last", lambda: F.embedding(torch.tensor([5]), torch.zeros(3, 2))),
        ("index-not-whole", lambda: x[torch.tensor([0.5])]),
        ("index-not-whole", lambda: F.embedding(torch.tensor([0.5]), torch.zeros(3, 2))),
        ("changes-its-input", lambda: leaf.exp_()),
        ("leaves-the-graph", lambda: leaf.numpy()),
        ("view", lambda: x.mT.view(-1)),
        ("many-for-one", lambda: bool(x)),
        ("many-for-one", lambda: x.item()),
        ("not-called", lambda: x / x.sum),
        ("called", lambda: x.shape()),
        ("is-a-tuple", lambda: x @ (x,)),
        ("is-a-tuple", lambda: F.linear((x,), x)),
        ("integers", lambda: whole.mean()),
        ("integers", lambda: whole.softmax(-1)),
        ("integers", lambda: whole.__itruediv__(2)),
        ("float-for-a-size", lambda: torch.zeros(2.5)),
        ("float-for-a-size", lambda: torch.zeros(3).view(3 / 2, 2)),
        ("float-for-a-size", lambda: x.chunk(2.0)),
        ("float-for-a-size", lambda: torch.nn.Linear(3, 0.5)),
        ("number-of-arguments", lambda: torch.nn.Linear(3)),
        ("number-of-arguments", lambda: torch.nn.Dropout(0.1)()),
        ("number-of-arguments", lambda: x.softmax()),
        ("number-of-arguments", lambda: x.view()),
        ("number-of-arguments", lambda: torch.bmm(x)),
        ("number-of-arguments", lambda: x.masked_fill(x > 0)),
        ("number-of-arguments", lambda: x.transpose(1)),
        ("number-of-arguments", lambda: setattr(x, "name")),
        ("number-of-arguments", lambda: max()),
        ("number-of-arguments", lambda: sizes()),
        ("number-of-arguments", lambda: torch.stack(x, x, x)),
        ("number-of-arguments", lambda: setattr(x, "name", 1, 2)),
        ("number-of-arguments", lambda: x.transpose(0, 1, 2)),
        ("used-before-it-is-set", used_too_early),
        ("too-deep", too_deep),
    ]


def used_too_early():
    x += 1  # noqa: F821, F841


def too_deep():
    return too_deep()


@pytest.mark.parametrize("id, call", raising(), ids=[f"{id}-{number}" for number, (id, _) in enumerate(raising())])
def test_what_an_error_of_torch_says(id, call):
    found = crash(raised(call), NOTHING)
    assert found is not None and (found.id, found.line) == (id, "y = f(x)")
    assert found.says.endswith(".") and "{" not in found.says


@pytest.mark.parametrize(
    "code", ["raise IndexError('index 5 is out of bounds for dimension 0 with size 3')", "assert x"]
)
def test_what_a_student_raises_says_nothing(code):
    import torch

    assert crash(raised(lambda: torch.ones(3)[5], code), NOTHING) is None
    assert crash(raised(lambda: torch.ones(3)[5], "x[5]"), NOTHING) is not None


@pytest.mark.parametrize(
    "call",
    [lambda: [][3], lambda: {}["x"], lambda: int("x"), lambda: "x".no_such, lambda: 1 / 0],
    ids=["list", "dict", "int", "attribute", "zero"],
)
def test_other_errors_say_nothing(call):
    assert crash(raised(call), NOTHING) is None


def test_what_fits_no_call_of_torch_need_not_be_too_little_or_too_much():
    import torch

    x = torch.ones(2, 3)
    calls = [lambda: x.sum(3.5), lambda: torch.where(x > 0, x), lambda: x.masked_fill("-inf", x > 0)]
    for call in [*calls, lambda: torch.ones(0.5, 5), lambda: x.reshape(x, 5)]:
        assert crash(raised(call), NOTHING) is None


def sizes(tensor):
    first, second, third = tensor.shape
    return first, second, third


def test_a_shape_that_is_taken_apart_fits_one_rank_and_other_things_do_not():
    import torch

    error = raised(lambda: sizes(torch.ones(2, 3)), "b, t, d = x.shape  # (b, t, d)")
    assert crash(error, NOTHING).says.startswith("This line takes a shape apart into 3 sizes")
    for other in ("b, t, d = x.shape[-3:]", "a, b, c = parts", "for a, b, c in x.shape:"):
        assert crash(raised(lambda: sizes(torch.ones(2, 3)), other), NOTHING) is None


def unknown(name):
    return Failure("NameError", f"name '{name}' is not defined", Place("cell 1", 1, f"y = {name} * x"), 0)


def test_a_name_of_a_cell_that_may_have_stopped_is_not_called_undefined():
    cells = ("def f(x):\n    y = scale * x", "1 / 0\nscale = 2")
    assert crash(unknown("scale"), Text(cells[0], cells)) is None
    assert crash(unknown("scale"), Text(cells[0], cells[:1])).id == "not-defined"


MODULE = (
    "class Head(nn.Module):\n    def __init__(self):\n        self.scale = 2\n    def forward(self, x):\n        {}"
)


def test_a_name_without_self_stands_in_the_module_itself():
    text = MODULE.format("y = scale * x")
    assert crash(unknown("scale"), Text(text, (text,))).id == "without-self"
    elsewhere = MODULE.format("return helper(x)")
    assert crash(unknown("scale"), Text(elsewhere, (elsewhere,))).id == "not-defined"


@pytest.mark.parametrize(
    "text",
    [
        "class Head(Base):\n    def forward(self, x):\n        return self.w",
        "class Head(nn.Module):\n    def set(self, w):\n        self.w = w",
        "class Head(nn.Module):\n    def __init__(self):\n        setattr(self, 'w', 1)",
        "class Other(nn.Module):\n    pass",
    ],
)
def test_an_attribute_that_something_may_set_is_not_called_missing(text):
    error = Failure("AttributeError", "'Head' object has no attribute 'w'", Place("cell 1", 1, "return self.w"), 0)
    assert crash(error, Text(text, (text,))) is None


def test_a_parameter_for_the_object_may_have_any_name_in_its_own_method():
    error = Failure("TypeError", "Head.forward() takes 2 positional arguments but 3 were given", None, 0)
    text = MODULE.format("return x")
    assert crash(error, Text(text, (text,))) is None


# --- what the text shows --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, returns",
    [
        ("if x:\n        return 1", ["return 1"]),
        ("for y in x:\n        return 1", ["return 1"]),
        ("if x:\n        return 1\n    elif y:\n        return 2", ["return 1", "return 2"]),
        ("y = x", []),
        ("def g():\n        return 1", []),
        ("return 1", None),
        ("if x:\n        return 1\n    else:\n        return 2", None),
        ("with x:\n        return 1", None),
        ("while True:\n        return 1", None),
        ("try:\n        return 1\n    except E:\n        return 2", None),
        ("raise E", None),
        ("if x:\n        yield 1", None),
    ],
)
def test_whether_a_function_may_end_without_a_return(body, returns):
    if body.startswith("def"):
        body += "\n    y = g()"
    assert Text(f"def f(x):\n    {body}", ()).passed_returns() == returns


@pytest.mark.parametrize(
    "text, line",
    [
        ("def f(x):\n    x += y\n    return x", "x += y"),
        ("def f(x):\n    x[0] = 1\n    return x", "x[0] = 1"),
        ("def f(x):\n    y = x.exp_()\n    return y", "y = x.exp_()"),
        ("def f(x):\n    x += y\n    x.exp_()\n    return x", ""),
        ("def f(x):\n    n += 1\n    x /= 2\n    return x", "x /= 2"),
        ("def f(x):\n    x /= 2\n    return helper(x)", ""),
    ],
)
def test_the_line_that_changes_something_in_place_is_told_if_it_is_the_only_one(text, line):
    assert Text(text, (text, "def helper(x):\n    x += 1")).change_in_place() == line


@pytest.mark.parametrize(
    "made, found",
    [
        ("nn.Dropout()", ("self.drop = nn.Dropout()", "")),
        ("nn.Dropout(0.25)", ("self.drop = nn.Dropout(0.25)", "0.25")),
        ("nn.Dropout(p=0.1, inplace=False)", ("self.drop = nn.Dropout(p=0.1, inplace=False)", "0.1")),
        ("F.dropout(d)", ("self.drop = F.dropout(d)", "")),
        ("F.dropout(d, 0.3)", ("self.drop = F.dropout(d, 0.3)", "0.3")),
        ("nn.Dropout(p=dropout)", None),
        ("nn.Dropout(dropout)", None),
        ("nn.Dropout(**options)", None),
        ("nn.Dropout(0.0)", None),
        ("nn.Dropout(0.1 if dropout else 0.0)", None),
        ("nn.Dropout(0.1)\n        self.drop.p = dropout", None),
        ("nn.Dropout()\n        self.drop.p = dropout", None),
        ("nn.Dropout(0.1)\n        self.other = nn.Dropout(0.2)", None),
    ],
)
def test_a_dropout_of_its_own_is_one_with_a_number_or_without_a_share(made, found):
    text = f"class Head(nn.Module):\n    def __init__(self, d, dropout):\n        self.drop = {made}"
    assert Text(text, ()).own_dropout() == found


@pytest.mark.parametrize("share", ["", "0.1"])
def test_a_dropout_that_nobody_asks_a_share_of_may_have_its_own(share):
    text = f"class Head(nn.Module):\n    def __init__(self, d):\n        self.drop = nn.Dropout({share})"
    assert Text(text, ()).own_dropout() is None


def test_a_comma_counts_only_where_it_makes_what_the_line_uses():
    text = "def f(x):\n    y = x,\n    z = (x,)\n    return y @ x"
    assert Text(text, ()).trailing_comma("return y @ x") == "y = x,"
    assert Text(text, ()).trailing_comma("return z @ x") == ""


@pytest.mark.parametrize(
    "reason, ids",
    [
        ("The module should not have key.bias, query.bias.", ["biases"]),
        ("The module should not have key.bias, scale.", []),
        ("The module has no key.weight; it should not have key.bias.", []),
        ("The output should be a tensor, but it is a tuple of 2 parts.", []),
        ("The weights should be a tensor, but it is None.", []),
        ("The shape of the weight of a new module should be (6,), but it is (1, 6).", []),
    ],
)
def test_what_the_reason_of_a_check_says(reason, ids):
    run = ExerciseRun(
        "Head", Local({}), 1, checks=[Check("test_it", "shape", 1.0, False, "It is so. " + reason, reason)]
    )
    assert [fact.id for fact in facts(run, Text("def f(x):\n    return x", ()))] == ids


@pytest.mark.parametrize(
    "error, message",
    [
        ("TypeError", f"{'a' * 300}(): argument 'x' (position 1) must be Tensor, not int"),
        ("TypeError", "linear(): argument 'x' (position 1) must be Tensor, not text_of_another"),
        ("IndexError", f"index {'9' * 300} is out of bounds for dimension 0 with size 3"),
        ("UnboundLocalError", "cannot access local variable 'text_of_another' where it is not associated with a value"),
        ("KeyError", "attribute 'text_of_another' already exists"),
        ("NameError", "name 'text_of_another' is not defined"),
    ],
)
def test_a_message_that_may_be_forged_is_not_quoted(error, message):
    """The submission's process says what an error is: its words count where the text or a library has them."""
    text = Text("def f(x):\n    return x", ("def f(x):\n    return x",))
    assert crash(Failure(error, message, Place("code cell 1", 2, "return x"), 0), text) is None
    known = Text("def f(x):\n    return text_of_another", ("",))
    place = Place("code cell 1", 2, "return text_of_another")
    assert len(message) > 200 or crash(Failure(error, message, place, 0), known) is not None


def test_an_attribute_that_torch_asked_a_number_for_is_not_named():
    error = Failure("AttributeError", "'int' object has no attribute 'layout'", Place("code cell 1", 2, "y = f(x)"), 0)
    assert crash(error, NOTHING).says == "In this line, a plain number is used as a tensor."


def test_lines_are_those_that_python_counts():
    text = Text('def f(x):\n    """One.\f Two.\u2028"""\n    y = x,\n    return y @ y\n', ())
    assert text.trailing_comma("return y @ y") == "y = x,"
