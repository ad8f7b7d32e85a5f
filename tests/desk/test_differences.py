"""What changed between two texts is found line by line, in bounded time."""

import random

import pytest

from autograder.desk.differences import GAP, GONE, NEW, SAME, differences


def sides(changes):
    """(the old lines, the new lines) of what is shown."""
    return [[one.text for one in changes if one.sign in (SAME, sign)] for sign in (GONE, NEW)]


@pytest.mark.parametrize("seed", range(5))
def test_both_texts_can_be_read_from_it(seed):
    chance = random.Random(seed)
    old = [chance.choice("abcd") for _ in range(12)]
    new = [line for line in old if chance.random() < 0.7] + [chance.choice("abcd") for _ in range(3)]
    changes = differences(old, new)
    if GAP not in [one.sign for one in changes]:
        assert sides(changes) == [old, new]
    assert not differences(old, old)


def test_a_line_in_the_middle_has_its_neighbours_alone():
    old = [str(number) for number in range(20)]
    changes = differences(old, [*old[:10], "new", *old[11:]])
    assert [one.sign for one in changes] == [GAP, SAME, SAME, GONE, NEW, SAME, SAME, GAP]
    assert [one.text for one in changes][1:4] == ["8", "9", "10"]


def test_what_is_too_much_to_compare_is_replaced():
    old, new = ["a", "b"] * 400, ["b", "a"] * 400 + ["c"]
    changes = differences(old, new)
    assert sides(changes) == [old, new] and {one.sign for one in changes} == {GONE, NEW}
