"""Attributes and methods under other names than the statement gives: it is said, and the rest is graded as right."""

import pytest

from autograder import course
from autograder.mistakes import repair
from autograder.mistakes.bank import right_answer
from autograder.mistakes.name_check import cells_for
from autograder.mistakes.prices import PRICES


def outcome_of(grader, exercise, **names):
    text = right_answer(exercise)
    for old, new in names.items():
        for form in ("self.{}", "def {}"):
            text = text.replace(form.format(old), form.format(new))
    assert text != right_answer(exercise)
    return graded(grader, exercise, text)


def graded(grader, exercise, text):
    (outcome,) = grader.grade_cells(cells_for(exercise, text), [course.exercises()[exercise]], 1).verdict.exercises
    return outcome


OTHERWISE = [
    ("RMSNorm", {"weight": "weights"}),
    ("RMSNorm", {"weight": "gamma", "eps": "epsilon"}),
    ("RMSNorm", {"weight": "e", "eps": "f"}),
    ("Head", {"key": "keys", "query": "queries", "value": "values"}),
    ("SwiGLU", {"W_gate": "w1", "W_down": "w2", "W_up": "w3"}),
    ("MultiHeadAttention", {"out_proj": "proj"}),
    ("PagedCache", {"append": "add"}),
]


@pytest.mark.drawn(1, "answers with other names")
@pytest.mark.parametrize("exercise, names", OTHERWISE, ids=[f"{e}-{'-'.join(n.values())}" for e, n in OTHERWISE])
def test_other_names_are_quoted_and_cost_little(grader, exercise, names):
    outcome = outcome_of(grader, exercise, **names)
    (found,) = outcome.diagnosis
    assert (found.id, found.price) == (repair.ID, PRICES["arguments"])
    said = [f"`{old}` for `{new}`" for old, new in names.items() if f"`{new}`" in found.message]
    assert said and all(each in found.message for each in said), found.message
    assert outcome.by_prices == pytest.approx((1 - PRICES["arguments"]) * outcome.max_score)


def test_what_else_is_wrong_is_named_too(grader):
    text = right_answer("Head").replace("self.value", "self.v").replace(" * k.shape[-1] ** -0.5", "")
    outcome = graded(grader, "Head", text)
    assert [one.id for one in outcome.diagnosis] == [repair.ID, "no-scale"]
    assert "`value` for `v`" in outcome.diagnosis[0].message and "All else is right" not in outcome.diagnosis[0].message
    assert outcome.by_prices == pytest.approx((1 - PRICES["arguments"] - PRICES["values"]) * outcome.max_score)


def test_nothing_is_guessed_where_several_names_are_as_much_alike(grader):
    text = right_answer("SwiGLU").replace("F.silu", "F.relu")
    for old, new in {"W_gate": "w1", "W_down": "w2", "W_up": "w3"}.items():
        text = text.replace(f"self.{old}", f"self.{new}")
    outcome = graded(grader, "SwiGLU", text)
    assert not any("`w1`" in one.message for one in outcome.diagnosis)


@pytest.mark.parametrize("written", ["self.ﬁrst", "self . first", "self.\\\n            first"])
def test_a_name_that_is_written_otherwise_than_it_reads_is_left(grader, written):
    text = right_answer("RMSNorm").replace("self.weight", written)
    assert graded(grader, "RMSNorm", text).by_prices == 0


def test_a_parameter_that_is_missing_is_no_other_name(grader):
    text = right_answer("MultiHeadAttention").replace("self.out_proj = nn.Linear(d_out, d_out)", "self.drop = None")
    text = text.replace("self.out_proj(", "(")
    outcome = graded(grader, "MultiHeadAttention", text)
    assert not any("`drop`" in one.message for one in outcome.diagnosis) and outcome.score < outcome.max_score


PAGED = right_answer("PagedCache").replace("    def append(self, ", "    def _right(self, unused, ")
INIT = "self.keys = self.values = None"
GUESSES = {
    "methods": right_answer("PagedCache").replace(
        "    def append(",
        "    def ppend(self, text, keys, values):\n        return 0\n\n"
        + "".join(f"    def append_{n}(self, text, keys, values):\n        return None\n\n" for n in range(5))
        + "    def zz(",
    ),
    "functions in attributes": PAGED.replace(
        INIT,
        f"""{INIT}
        self.append1 = lambda text, keys, values: None
        self.append2 = lambda text, keys, values: self._right(0, text, values, keys)
        self.append3 = lambda text, keys, values: self._right(0, text, keys, values)""",
        1,
    ),
    "names that are read": PAGED.replace(
        INIT,
        f"""{INIT}
        self.a1 = self.a2 = 0
        guesses = [lambda t, k, v: None, lambda t, k, v: self._right(0, t, k, v)]
        for number, name in enumerate([n for n in vars(self) if n[0] == "a"]):
            setattr(self, name, guesses[number])""",
        1,
    ),
}


@pytest.mark.slow("each guess is graded in vain")
@pytest.mark.parametrize("text", GUESSES.values(), ids=GUESSES)
def test_names_hold_no_table_of_guesses(grader, text):
    assert graded(grader, "PagedCache", text).by_prices == 0


def test_the_name_of_a_class_is_no_message(grader):
    text = (
        right_answer("RMSNorm")
        .replace("self.weight", "self.gain")
        .replace("self.eps = eps", "self.eps, self.mode = eps, 0")
    )
    text = text.replace("+ self.eps)", "+ (self.eps if hasattr(self, 'zz') else 1000 * self.eps))")
    text += '\nRMSNorm.__name__ = "X` has no attribute `zz`, `weight"\n'
    outcome = graded(grader, "RMSNorm", text)
    assert outcome.by_prices == 0 and not any("`zz`" in check.message for check in outcome.checks)
