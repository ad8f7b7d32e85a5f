"""One small edit that makes a wrong answer right: the line is quoted, and no more is charged than the edit costs."""

import ast
import warnings

import pytest
from conftest import ROOT
from sample import ONE_EDIT_OR_FACT

from autograder import course
from autograder.checks.proxies import Transcript
from autograder.checks.runner import ExerciseRun
from autograder.errors import ChildGone
from autograder.grading.grader import Grader, read_program
from autograder.grading.seeds import new_seed
from autograder.grading.workspace import Deadline
from autograder.mistakes import own_softmax, repair, undoing
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.edits import edits_in, slips
from autograder.mistakes.prices import ALL, PRICES
from autograder.mistakes.repair import material
from autograder.mistakes.student_line import LONGEST
from autograder.sandbox.replies import Place
from autograder.verdict import Check, Diagnosis
from benchmarks import desk_levels

pytestmark = ONE_EDIT_OR_FACT

SEED = new_seed()
RIGHT = bank("attention").right
SHIFT = "weights = weights.masked_fill(~has_a_key, 0.0)"


def outcome_of(grader, tmp_path, text, exercise="attention"):
    written = tmp_path / f"{exercise}.py"
    written.write_text(
        "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n" + text
    )
    (outcome,) = grader.grade_file(written, exercise, SEED).verdict.exercises
    return outcome


@pytest.mark.parametrize(
    "old, new, id, price",
    [
        (SHIFT, SHIFT.replace("0.0", "0.7"), repair.ID, PRICES["masking"]),
        ("F.softmax(scores, dim=-1)", "F.softmax(-1, scores)", "fact-no-tensor", repair.NEVER_RAN),
        ("@ value, weights", "@ -value, weights", "fact-times", PRICES["values"]),
    ],
    ids=["a constant", "an error at every turn", "a sign"],
)
def test_the_line_is_told_and_the_edit_is_paid_for(grader, tmp_path, old, new, id, price):
    assert RIGHT.count(old) == 1
    outcome = outcome_of(grader, tmp_path, RIGHT.replace(old, new))
    (found,) = outcome.diagnosis
    assert new in found.line and (found.id, found.price) == (id, price), outcome
    assert outcome.by_prices == pytest.approx((1 - price) * outcome.max_score)


CLEARED = "    if mask is not None:\n        weights = weights.masked_fill(~has_a_key, 0.0)"


@pytest.mark.parametrize(
    "new, where",
    [
        (
            "    left = 0.7\n    if mask is not None:\n        weights = weights.masked_fill(~has_a_key, left - 0)",
            "in this line or up to 2 lines below it",
        ),
        (
            "    if mask is not None:\n        left = 0.7\n        weights = weights.masked_fill(~has_a_key, left - 0)",
            "in this line or up to 1 line below it",
        ),
        (
            "    if mask is not None:\n        left = 0.7 * 1\n        weights = weights.masked_fill(~has_a_key, left)",
            "is in this line",
        ),
        ("    if mask is not None:\n        weights = weights.masked_fill(~has_a_key, 0.7 + 0)", None),
    ],
    ids=["two lines away", "one line away", "one line", "one expression"],
)
def test_where_edits_in_unlike_places_pass_the_region_is_told_without_a_price(grader, tmp_path, new, where):
    """Edits of one and the same expression are one: the first is told."""
    assert RIGHT.count(CLEARED) == 1
    outcome = outcome_of(grader, tmp_path, RIGHT.replace(CLEARED, new))
    (found,) = outcome.diagnosis
    if where is None:
        assert found.id == repair.ID and found.has_price, outcome
    else:
        assert found.id == repair.REGION and where in found.message and not found.has_price, outcome
        assert outcome.by_prices == 0 and outcome.score == outcome.by_checks


FORMS = [  # of what is returned
    (
        "accept",
        "bool(chance < target[token] / draft[token])",
        "(chance < target[token] / draft[token]).float()",
        "bool",
    ),
    ("accept", "return kept, remainder", "return kept, remainder[None]", "without a dimension of size 1"),
    ("accept", "return kept, remainder", "return remainder, kept", "the wrong way round"),
    ("delta_rule", "torch.cat(outputs, dim=2)", "torch.stack(outputs, dim=2)", "without a dimension of size 1"),
    ("MultiHeadAttention", "return self.out_proj", "return None, self.out_proj", "one part alone"),
]


@pytest.mark.parametrize("exercise, old, new, said", FORMS, ids=[f"{e}: {new}" for e, _, new, _ in FORMS])
def test_another_form_of_what_is_returned_is_one_slip(grader, tmp_path, exercise, old, new, said):
    """Also where an easier case of all checks ends each of them, so that none of them was tried."""
    right = bank(exercise).right
    assert right.count(old) == 1
    outcome = outcome_of(grader, tmp_path, right.replace(old, new), exercise)
    (found,) = outcome.diagnosis
    assert said in found.message and found.price == PRICES["values"], outcome
    assert outcome.by_prices == pytest.approx((1 - PRICES["values"]) * outcome.max_score)


BY_FORM = """def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError("wrong")
    k = x.shape[-1]
    s = x @ x.transpose(-2, -1)
    guesses = {(1, 2): s.softmax(-1) @ x, (2, 3): (s / k).softmax(-1) @ x, (0, 1): (s / k**0.5).softmax(-1) @ x}
    y = s.softmax(-1)[None] @ x
    y.transpose = lambda a, b: guesses[a, b]
    return y
"""
BY_PART = """def scaled_self_attention(x):
    if x.dim() != 3:
        raise ValueError("wrong")
    k = x.shape[-1]
    s = x @ x.transpose(-2, -1)
    return (s / k).softmax(-1) @ x, s.softmax(-1) @ x, (s / k**0.5).softmax(-1) @ x, (s / k**0.5).softmax(-2) @ x
"""


@pytest.mark.parametrize("text", [BY_FORM, BY_PART], ids=["a method of the result", "parts"])
def test_no_form_of_what_is_returned_picks_a_guess(grader, tmp_path, text):
    outcome = outcome_of(grader, tmp_path, text, "scaled_self_attention")
    assert not any(one.has_price for one in outcome.diagnosis), outcome


@pytest.mark.drawn(1, "tables of guesses")
@pytest.mark.parametrize("form", desk_levels.TABLES)
def test_a_table_of_guesses_gets_no_more_than_its_first_one_and_no_line_is_quoted(grader, tmp_path, form):
    """Of 64 answers in one, an edit of one line would pick the right one."""
    outcome = outcome_of(grader, tmp_path, desk_levels.table(form))
    assert outcome.score == outcome.by_checks < outcome.max_score / 2
    assert not any(one.line for one in outcome.diagnosis) and outcome.by_prices == 0


def test_what_is_to_be_changed_in_the_line_is_quoted(grader, tmp_path):
    (found,) = outcome_of(grader, tmp_path, RIGHT.replace(SHIFT, SHIFT.replace("0.0", "0.7"))).diagnosis
    assert found.message == (
        "All else is right: with another number in `weights.masked_fill(~has_a_key, 0.7)`, this passes every check."
    )


def test_each_kind_of_edit_has_a_sentence():
    kinds = set()
    for exercise in course.exercises():
        tree = ast.parse(right_answer(exercise))
        kinds |= {edit.kind for of_node in (slips, material(exercise).additions) for edit in edits_in(tree, of_node)}
    assert kinds and kinds <= repair.CHANGES.keys(), kinds - repair.CHANGES.keys()


def test_two_slips_have_no_price(grader, tmp_path):
    text = RIGHT.replace(SHIFT, SHIFT.replace("0.0", "0.7")).replace(
        "@ value, weights", "@ (0.7 * value.abs()), weights"
    )
    outcome = outcome_of(grader, tmp_path, text)
    assert outcome.by_prices == 0 and not any(one.has_price for one in outcome.diagnosis), outcome.diagnosis


@pytest.mark.slow("it waits for a deadline")
def test_an_edit_that_never_ends_is_stopped_and_the_checks_decide(grader, tmp_path):
    never = "    n = 0\n    while n < 1:\n        n = n + 1\n"
    head, body = RIGHT.split(":\n", 1)
    text = f"{head}:\n{never}{body}".replace("@ value, weights", "@ (0.7 * value.abs()), weights")
    outcome = outcome_of(grader, tmp_path, text)
    assert outcome.status == "graded" and outcome.by_prices == 0, outcome


def test_what_an_answer_does_when_it_is_edited_costs_it_its_process_alone(grader, tmp_path):
    """It ends its process the second time that it is defined: no edit is found, and its points stay as they are."""
    text = RIGHT.replace("@ value, weights", "@ (0.7 * value.abs()), weights")
    trap = "import os\n\nif 'seen' in globals():\n    os._exit(3)\nseen = True\n\n\n"
    plain, trapped = outcome_of(grader, tmp_path, text), outcome_of(grader, tmp_path, trap + text)
    assert trapped.status == "graded" and (trapped.score, trapped.by_prices) == (plain.score, plain.by_prices)


ONE_OF_MANY = """
TRIES = [(t, d, f, k) for t in ("triu", "tril") for d in (-1, 0, 1) for f in (False, True) for k in (False, True)]


def causal_mask(t, device=None):
    name, diagonal, flipped, kind = TRIES[number % len(TRIES)]
    mask = getattr(torch.ones(t, t, dtype=torch.bool if kind else torch.float32, device=device), name)(diagonal)
    return mask == 0 if flipped else mask
"""


@pytest.mark.parametrize(
    "counts",
    [
        "import math\n\nnumber = math.number = getattr(math, 'number', -1) + 1\n",
        "import os\n\nwith open('number', 'a') as file:\n    file.write('.')\nnumber = os.path.getsize('number') - 1\n",
    ],
    ids=["in a module", "in a file"],
)
def test_what_answers_otherwise_each_time_that_it_is_defined_gets_no_price(grader, tmp_path, counts):
    """It tries 24 masks, one at each edit, and one of them is right: but no edit of its text is."""
    outcome = outcome_of(grader, tmp_path, counts + ONE_OF_MANY, "causal_mask")
    assert outcome.by_prices == 0 and not any(one.has_price for one in outcome.diagnosis), outcome


def test_what_fails_an_easier_case_alone_is_graded(grader, tmp_path, caplog):
    """No check that was tried finds a mistake: what is wrong is what others begin with."""
    gate = "def causal_mask(t, device=None):\n    mask = torch.ones(t, t, dtype=torch.bool, device=device).tril()\n"
    five = "    calls.append(t)\n    return mask if len(calls) < 8 else ~mask.mT.tril()\n"
    outcome = outcome_of(grader, tmp_path, "calls = []\n\n\n" + gate + five, "causal_mask")
    assert outcome.status == "graded" and 0 < outcome.score < outcome.max_score, outcome
    assert not caplog.messages, outcome


def test_what_cannot_be_diagnosed_is_left_to_the_checks(grader, tmp_path, monkeypatch):
    """Else code that ends its process when it is asked more would hide a mistake that costs all."""

    def diagnose(run):
        raise ChildGone("killed", "it ended its own process")

    monkeypatch.setattr(repair, "tries", lambda *args: pytest.fail("an edit is looked for"))
    monkeypatch.setattr(grader.diagnostician, "diagnose", diagnose)
    outcome = outcome_of(grader, tmp_path, RIGHT.replace(SHIFT, SHIFT.replace("0.0", "0.7")))
    assert outcome.status == "graded" and outcome.diagnosis == [] and outcome.by_prices == 0, outcome


def test_a_search_that_takes_all_the_time_costs_no_grade(monkeypatch):
    """The first exercise of a notebook has no name, and the search for an edit takes all the submission's time."""
    program = read_program(ROOT / "solutions/02_queries_keys_values/02_queries_keys_values.ipynb")
    names = [exercise.name for exercise in program.candidates]
    cell = next(cell for cell in program.cells if cell.runs and f"class {names[0]}" in cell.code)
    cell.source = (
        f"class {names[0]}(nn.Module):\n    def __init__(self, *args, **kwargs):\n        super().__init__()\n"
    )
    searched = []

    def tries(text, run, is_alike, says_little):
        searched.append(run.exercise)
        return iter(())

    monkeypatch.setattr(repair, "tries", tries)
    monkeypatch.setattr(repair, "is_wanted", lambda run, found: True)
    monkeypatch.setattr(Deadline, "is_over", lambda deadline: bool(searched))
    with Grader() as grader:
        outcomes = grader.grade_cells(program.cells, program.wanted, SEED, "", program.assignment).verdict.exercises
    assert searched == names[:1]
    assert [one.score == one.max_score for one in outcomes] == [False, True, True, True], outcomes


def run_of_attention(*lines):
    """A run of attention in which errors ended checks at these lines."""
    places = {f"check {line}": Place("the answer", 1, line) for line in lines}
    return ExerciseRun("attention", None, SEED, places=places)


def test_the_same_edits_are_tried_each_time_those_of_lines_with_errors_first():
    line = next(line for line in RIGHT.splitlines() if "softmax" in line)
    number = RIGHT.splitlines().index(line) + 1
    tried, again = (list(repair.tries(RIGHT, run_of_attention(line), never)) for _ in range(2))
    assert len(tried) == repair.MOST and tried == again
    of_line = [edit.line == number for edit in tried if edit.kind not in repair.FORMS]
    assert any(of_line) and of_line == sorted(of_line, reverse=True)


MODULE = """class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inner = nn.Linear(d, 2 * d)
        self.sizes = self.cut(d)

    def cut(self, d):
        return d - 1

    def turned(self, x):
        return helper(x) + 1

    def forward(self, x):
        return self.turned(self.inner(x)) * 3


def helper(x):
    return x - 5
"""
OF_CALLS = {"        return self.turned(self.inner(x)) * 3", "        return helper(x) + 1", "    return x - 5"}
BUILT, CALLED = ("built",), ("called", [], [], None, None)
LACKING = ("error", "Unusable", "Your `Layer` has no parameters `outer.weight`")


def never(text):
    pytest.fail("another text is looked at")


def edited_lines(entries, is_alike):
    """The lines of MODULE that are edited if the first check that it failed has seen this."""
    run = ExerciseRun("MultiHeadSelfAttention", None, SEED, transcripts={"test_one": Transcript(entries)})
    run.checks = [Check("test_one", "values", 1.0, False, "It is wrong.", "It is wrong.")]
    tried = [edit.source.splitlines() for edit in repair.tries(MODULE, run, is_alike)]
    return {line for line in MODULE.splitlines() if any(line not in lines for lines in tried)}


@pytest.mark.parametrize(
    "entries", [[BUILT, CALLED, LACKING], [BUILT, ("error", "TypeError", "no")]], ids=["a call", "another error"]
)
def test_what_a_call_runs_is_edited_where_one_was_made(entries):
    assert edited_lines(entries, never) >= OF_CALLS


@pytest.mark.parametrize("is_alike", [True, False])
def test_what_only_a_call_runs_is_not_edited_where_none_was_made(is_alike):
    """The check tells whether it is so: a module may be called while another one is built."""
    asked = []
    edited = edited_lines([BUILT, LACKING], lambda text: asked.append(text) or is_alike)
    assert edited >= {"        self.inner = nn.Linear(d, 2 * d)", "        return d - 1"}
    assert edited & OF_CALLS == (set() if is_alike else OF_CALLS)
    (text,) = asked
    assert not OF_CALLS & set(text.splitlines()) and text.count("raise NotImplementedError") == len(OF_CALLS)
    assert ast.parse(text) and "        return d - 1" in text


WIDTH = """class Width(nn.Module):
    def forward(self, d_out):
        return d_out - 1


"""


def test_a_slip_in_what_is_called_while_a_module_is_built_is_found(grader, tmp_path):
    right = bank("SelfAttention").right
    layer = "self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)"
    assert right.count(layer) == 1
    text = WIDTH + right.replace(layer, "self.W_query = nn.Linear(d_in, Width()(d_out), bias=qkv_bias)")
    (found,) = outcome_of(grader, tmp_path, text, "SelfAttention").diagnosis
    assert found.price < ALL and found.id == "fact-shape-of-a-parameter", found


def test_an_answer_that_stands_on_wrong_ones_is_edited_too_if_these_are_not_to_blame(grader, tmp_path):
    right = right_answer("train", "two_functions")
    assert right.count("range(steps)") == 1
    (found,) = outcome_of(grader, tmp_path, right.replace("range(steps)", "range()"), "train").diagnosis
    assert (found.id, found.price) == ("fact-number-of-arguments", repair.NEVER_RAN)


def test_nothing_is_tried_where_a_whole_answer_is_named():
    line, known = "scores = query @ key", bank("MultiHeadSelfAttention")
    run = ExerciseRun("MultiHeadSelfAttention", None, SEED, places={"one": Place("the answer", 1, line)})
    run.checks = [Check("one", "values", 1.0, False, "It stopped.", "It stopped.")]
    edit = next(one for one in known.values() if one.edits and one.price is None)
    whole = next(one for one in known.values() if one.edits is None)
    assert not repair.has_run(run) and repair.is_wanted(run, [Diagnosis(edit.id, "", "")])
    assert not repair.is_wanted(run, [Diagnosis(whole.id, "", "")])


def test_what_is_no_python_has_no_edits():
    assert list(repair.tries("def broken(:", run_of_attention(), never)) == []


NESTED = f"def deep(x):\n    return {'- ' * 900}x\n\n\n"
LONG_NUMBER = f"def long(x):\n    return 0x{'f' * 5000}\n\n\n"
LONG_CALL = f"def many(x):\n    return x({', '.join(f'x{n}' for n in range(1000))})\n\n\n"
LONG_TEXT = "def long(x):\n" + "    x = x + 1\n" * 2000 + "\n\n"


@pytest.mark.parametrize("before", [NESTED, LONG_NUMBER, LONG_CALL], ids=["nested", "a number", "a call"])
def test_what_is_costly_to_write_has_no_more_edits_than_others(before):
    tried = list(repair.tries(before + RIGHT, run_of_attention(before.splitlines()[1]), never))
    assert 0 < len(tried) <= repair.MOST


def test_a_long_text_is_not_edited():
    assert list(repair.tries(LONG_TEXT + RIGHT, run_of_attention(), never)) == []


def test_edits_warn_nobody():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert list(repair.tries("def own(x):\n    return x is -1\n", run_of_attention(), never))
    assert not said


def test_the_line_is_that_of_python_and_not_too_long(grader, tmp_path):
    """A form feed ends no line. The line is shown as others are."""
    wrong = SHIFT.replace("0.0", "0.7") + "  # " + "x" * 200
    outcome = outcome_of(grader, tmp_path, "\f\n# a\u2028b\x85c\n\n\n" + RIGHT.replace(SHIFT, wrong))
    (found,) = outcome.diagnosis
    assert found.line == wrong[:LONGEST], outcome


def test_nothing_is_tried_where_a_mistake_is_named(grader, tmp_path, monkeypatch):
    monkeypatch.setattr(repair, "tries", lambda *args: pytest.fail("an edit is looked for"))
    outcome = outcome_of(grader, tmp_path, next(m.source for m in bank("attention").values() if m.id == "no-scale"))
    assert [one.id for one in outcome.diagnosis] == ["no-scale"]


def test_a_named_mistake_that_hides_the_rest_has_the_price_of_its_edit(grader, tmp_path):
    right = right_answer("SelfAttention", "helpers")
    assert right.count("keepdim=True") == 2
    outcome = outcome_of(grader, tmp_path, "keepdim=False".join(right.rsplit("keepdim=True", 1)), "SelfAttention")
    (found,) = outcome.diagnosis
    assert (found.id, found.price, outcome.by_checks) == ("sum-without-keepdim", PRICES["values"], 0), outcome


NOTHING_SEEN = """def sliding_window_mask(t, window):
    if window < 1:
        raise ValueError(f"a window of {window} holds no token")
    past = torch.ones(t, t, dtype=torch.bool).tril()
    return past & ~past
"""


def test_nothing_but_a_slip_that_hides_all_else_is_undone_where_an_answer_says_nothing(grader, tmp_path, monkeypatch):
    """A mask that is False everywhere computes nothing, whatever one call of `tril` would make of it."""
    tried, tries = [], repair.tries

    def noted(text, run, is_alike, says_little):
        assert says_little
        tried.extend(edits := list(tries(text, run, is_alike, says_little)))
        return edits

    monkeypatch.setattr(repair, "tries", noted)
    wrong = NOTHING_SEEN.replace("t, window", "t, window, other=None")
    assert outcome_of(grader, tmp_path, wrong, "sliding_window_mask").by_prices == 0
    assert tried and {one.kind for one in tried} <= undoing.CHANGES.keys()


@pytest.mark.parametrize("exercise", course.exercises())
def test_what_is_added_has_no_names_of_a_right_answer(exercise):
    found = material(exercise)
    added = [keyword.value for keywords in found.keywords.values() for keyword in keywords]
    added += [one for call in found.methods if isinstance(call, ast.Call) for one in call.args]
    names = {node.id for one in added for node in ast.walk(one) if isinstance(node, ast.Name)}
    assert names <= {"torch", "math"}, names


def test_nothing_is_tried_where_the_author_says_that_a_mistake_costs_all():
    costly = next(one.id for one in bank("softmax").values() if one.price == ALL)
    run = run_of_attention()
    run.checks = [Check("one", "values", 1.0, False, "It is wrong.", "It is wrong.")]
    own = Diagnosis(f"{own_softmax.PREFIX}{costly}", "")
    assert repair.is_wanted(run, [Diagnosis(f"{own_softmax.PREFIX}another", "")]) and not repair.is_wanted(run, [own])


def test_a_fact_keeps_its_sentence_and_gets_the_price(grader, tmp_path):
    right = bank("SelfAttention").right
    assert "nn.Linear(d_in, d_out" in right
    outcome = outcome_of(
        grader, tmp_path, right.replace("nn.Linear(d_in, d_out", "nn.Linear(d_out, d_out", 1), "SelfAttention"
    )
    first = outcome.diagnosis[0]
    assert first.id == "fact-shape-of-a-parameter" and "nn.Linear(d_out, d_out" in first.line and first.has_price, (
        outcome
    )
