"""The line of a student's code to which a mistake points, where it is certain."""

from autograder.mistakes.bank import bank
from autograder.mistakes.lines import line_of
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
