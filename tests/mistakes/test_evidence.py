"""Whether a student's code does what a mistake does: alike up to rounding, and nearer to it than to what is right."""

import torch

from autograder.checks.proxies import Counts, Transcript
from autograder.mistakes.evidence import accepts_alike, likeness, may_accept

RIGHT = torch.tensor([1.0, 2.0, 3.0])
WRONG = torch.tensor([1.0, 2.5, 3.0])


def compared(student, mistake, right):
    return tuple(likeness(*(Transcript([("value", one)]) for one in (student, mistake, right))))[:2]


def test_the_same_values_tell_if_the_right_ones_differ():
    assert compared(WRONG + 1e-6, WRONG, RIGHT) == (True, True)
    assert compared(RIGHT, RIGHT, RIGHT) == (True, False)
    assert compared(RIGHT, WRONG, RIGHT) == (False, False)


def test_values_between_the_mistake_and_the_right_ones_are_like_neither():
    """An epsilon of another size, say: far below the tolerance of rounding, and yet not the same."""
    mistake, student = RIGHT + 4e-3, RIGHT + 2e-3
    assert compared(student, mistake, RIGHT) == (False, False)
    assert compared(RIGHT + 3.9e-3, mistake, RIGHT) == (True, True)


def test_what_is_of_another_form_differs():
    assert compared(WRONG.double(), WRONG, RIGHT) == (False, False)
    assert compared(WRONG[None], WRONG, RIGHT) == (False, False)
    assert compared([WRONG], (WRONG,), RIGHT) == (False, False)
    assert compared({"a": WRONG}, {"b": WRONG}, RIGHT) == (False, False)
    assert compared(None, WRONG, RIGHT) == (False, False)


def test_a_form_that_no_right_answer_has_tells():
    assert compared((WRONG, WRONG), (WRONG, WRONG), WRONG) == (True, True)
    assert compared(torch.empty(2, device="meta"), torch.empty(2, device="meta"), torch.empty(3, device="meta")) == (
        True,
        True,
    )


def test_zeros_tell_nothing():
    """Any code may return zeros where it returns numbers of a shape that is wrong."""
    assert compared(torch.zeros(4), torch.zeros(4), RIGHT) == (True, False)


def test_nan_and_infinity_are_compared_place_by_place():
    bad, other = torch.tensor([1.0, torch.nan]), torch.tensor([torch.nan, 1.0])
    assert compared(bad, bad.clone(), torch.ones(2)) == (True, True)
    assert compared(bad, other, torch.ones(2)) == (False, False)
    assert compared(torch.tensor([torch.inf]), torch.tensor([-torch.inf]), torch.ones(1)) == (False, False)


def test_counts_are_compared_by_what_chance_allows():
    one, two, other = (Counts(torch.tensor(c)) for c in ([500, 500], [510, 490], [900, 100]))
    assert compared(one, two, other) == (True, True)
    assert compared(one, other, two) == (False, False)


def test_what_should_be_refused_and_is_not_may_fail_in_any_way():
    refused, other = ("error", "ValueError", []), ("error", "RuntimeError", "sizes do not match")
    accepted = ("called", [WRONG], [], [], {})

    def found(*entries):
        return tuple(likeness(*(Transcript([entry]) for entry in entries)))

    assert found(other, accepted, refused) == (True, True, True)
    assert found(accepted, accepted, refused) == (True, True, False)
    assert found(refused, accepted, refused) == (False, False, False)
    assert found(other, accepted, accepted) == (False, False, False)


def test_one_observation_more_is_another_behaviour():
    one, two = Transcript([("value", WRONG)]), Transcript([("value", WRONG), ("error", "TypeError", "no")])
    assert not likeness(two, one, one).alike


REFUSED, STOPPED = ("error", "ValueError", ["3"]), ("error", "IndexError", "out of range")


def accepted(student, mistake, right):
    seen, of_mistake, of_right = (Transcript(list(entries)) for entries in (student, mistake, right))
    found = accepts_alike(seen, of_mistake, of_right)
    assert may_accept(seen, of_right) or not found
    return found


def test_what_is_accepted_shows_whatever_else_is_wrong():
    right = [("answer", [RIGHT]), REFUSED, REFUSED]
    mistake = [("answer", [RIGHT]), ("answer", [RIGHT]), REFUSED]
    assert accepted([("answer", [WRONG]), STOPPED, REFUSED], mistake, right)
    assert accepted(mistake, mistake, right)
    assert not accepted([("answer", [WRONG]), REFUSED, REFUSED], mistake, right)  # it refuses
    assert not accepted([("answer", [WRONG]), STOPPED, STOPPED], mistake, right)  # it accepts more


def test_who_refuses_all_that_should_be_refused_accepts_nothing_too_much():
    right = Transcript([("answer", [RIGHT]), REFUSED])
    assert may_accept(Transcript([("answer", [WRONG]), STOPPED]), right)
    assert not may_accept(Transcript([("answer", [WRONG]), REFUSED]), right)
    assert not may_accept(Transcript([STOPPED, ("answer", [None])]), right)


def test_a_mistake_in_values_or_one_that_gives_nothing_accepts_nothing():
    right = [("answer", [RIGHT]), REFUSED]
    student = [("answer", [WRONG]), ("answer", [RIGHT])]
    assert not accepted(student, [("answer", [WRONG]), ("answer", [RIGHT])], right)
    assert not accepted(student, [("answer", [RIGHT]), ("answer", [None])], right)
    assert not accepted(right, right, right)
