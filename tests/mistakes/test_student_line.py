"""The line of a student's code to which a mistake points, where it is certain."""

import pytest

from autograder.mistakes.bank import bank
from autograder.mistakes.student_line import akin, line_of, share_of
from autograder.sandbox.replies import Place

BANK = bank("attention")
STUDENT = '''
def attention(query, key, value, mask=None):
    """Written otherwise than the answer that the mistakes edit."""
    s = query @ key.transpose(-2, -1)
    s = s / key.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    w = torch.softmax(s, -2)
    return w @ value, w
'''


def of(id, student=STUDENT, places=(None,)):
    return line_of(BANK[id].source, BANK.right, student, list(places))


def test_a_call_with_the_same_constants_is_found():
    assert of("softmax-over-queries") == "w = torch.softmax(s, -2)"


def test_what_stands_twice_is_not_certain():
    twice = STUDENT.replace("return w @ value, w", "w = torch.softmax(w, -2)\n    return w @ value, w")
    assert of("softmax-over-queries", twice) == ""


def test_what_is_not_there_has_no_line():
    assert of("no-scale") == ""


def test_a_statement_is_found_whatever_its_variables_are_called():
    student = (
        "def attention(q, k, v, m=None):\n    s = torch.bmm(q, k.transpose(-2, -1))\n    return s.softmax(-1) @ v\n"
    )
    assert of("only-three-dimensions", student) == "s = torch.bmm(q, k.transpose(-2, -1))"


def test_an_error_has_the_line_that_raised_it():
    place = Place("cell 3", 7, "    s = torch.bmm(query, key.mT)")
    assert of("only-three-dimensions", places=[place, place]) == "s = torch.bmm(query, key.mT)"
    assert of("only-three-dimensions", places=[place, None]) == ""


def test_code_within_a_class_is_read_too():
    student = "    " + STUDENT.strip().replace("\n", "\n    ")
    assert of("softmax-over-queries", student) == "w = torch.softmax(s, -2)"


def test_a_text_shares_statements_whatever_its_variables_are_called():
    assert share_of(STUDENT, STUDENT.replace("key", "k")) == 1
    assert 0 < share_of(STUDENT, STUDENT.replace("softmax(s, -2)", "sigmoid(s)")) < 1
    assert share_of(STUDENT, "def attention(query, key, value, mask=None):\n    return query") == 0


def test_lines_are_akin_if_they_compute_something_of_one_kind():
    assert akin("scores = q @ k.mT", "s = torch.einsum('bqd,bkd->bqk', q, k)")
    assert akin("x = x.view(b, t, h, k)", "x = x.reshape(b, t, -1)")
    assert not akin("scores = q @ k", "w = F.scaled_dot_product_attention(k, q, v)")
    assert not akin("scores = q @ k", "w = torch.softmax(s, -1)")


def test_what_a_student_calls_a_thing_decides_nothing():
    assert akin("logits, _ = model(idx)", "logits, _ = network(idx)")
    assert akin("return self.net(x)", "return self.ffwd(x)")
    assert not akin("logits, _ = model(idx)", "weights = torch.softmax(scores, -1)")


OWN = """def head(self, x):
    weights = weigh(self.query(x), self.key(x))
    return self.dropout(weights) @ self.value(x)


def weigh(query, key):
    scores = query @ key
    return scores.softmax(-1)
"""


@pytest.mark.parametrize(
    "line, is_akin",
    [
        ("scores = query @ key", True),
        ("scores = query @ key.transpose(-2, -1)", True),  # the wrong two, perhaps
        ("scores = key.mT @ query", False),  # swapped, and not for want of a transpose
        ("return self.dropout(weights) @ self.value(x)", False),  # `weigh` makes them by a softmax
        ("return torch.softmax(query @ key, -1) @ value", True),  # both products in one line
        ("return torch.bmm(value, torch.softmax(scores, -1))", False),
    ],
)
def test_a_product_before_the_softmax_is_not_akin_to_one_after_it(line, is_akin):
    own = OWN if line in OWN else ""
    assert akin("scores = torch.bmm(q, k)", line, ((), (own, "%magic that is no Python"))) is is_akin


def test_of_a_line_that_says_nothing_all_is_possible():
    assert akin("scores = torch.matmul(", "w = torch.softmax(s, -1)")  # the first line of several
    assert akin("self.k, self.heads = k, nheads", "w = torch.softmax(s, -1)")
