"""Covers of failed checks, against the definition: sets of checks in place of bits, and all groups tried."""

import itertools

from fuzzing import quick
from hypothesis import example, given
from hypothesis import strategies as st

from autograder.mistakes import cover
from autograder.mistakes.cover import DOUBTS, Effect

MOST = 7  # checks
checks = st.integers(0, MOST)
sets = st.integers(0, 2**MOST - 1)
acting = st.tuples(sets, sets).map(lambda both: Effect(both[0], both[0] & both[1]))
effects = st.lists(acting, max_size=9)
thorough = quick(150)


def within(many, *of):
    """Some effects as they are where there are only so many checks."""
    return [one.beside(~((1 << many) - 1)) for one in of]


def in_doubt(group, many, apart=0):
    """The checks in which neither one of a group acts as the student does, nor two act at all: by the definition."""
    found = set()
    for check in range(many):
        acts = [one for one in group if one.acts >> check & 1]
        alike = [one for one in group if one.alike >> check & 1]
        if not (apart >> check & 1) and not alike and len(acts) < 2:
            found.add(check)
    return found


def fitting(those, size, many, apart):
    """All groups of a size that leave few enough checks in doubt, each with how many these are."""
    every = itertools.combinations(range(len(those)), size)
    rated = {places: len(in_doubt([those[i] for i in places], many, apart)) for places in every}
    return {places: left for places, left in rated.items() if left <= (DOUBTS if size == 2 else 0)}


def is_alike_anywhere(those, places):
    return any(those[i].alike for i in places)


@thorough
@given(effects, checks, sets)
def test_what_is_in_doubt_is_counted(those, many, apart):
    those, apart = within(many, *those), apart & (1 << many) - 1
    assert cover.doubts(those, many, apart) == len(in_doubt(those, many, apart))


@thorough
@given(effects, checks, st.sampled_from([1, 2, 3]), sets)
def test_all_groups_that_fit_are_found_once_and_no_other(those, many, size, apart):
    those, apart = within(many, *those), apart & (1 << many) - 1
    found = list(cover.covers(those, size, many, apart))
    wanted = fitting(those, size, many, apart)
    assert len(found) == len(wanted)
    assert {one.places: one.doubts for one in found} == wanted


@thorough
@given(effects, checks, st.sampled_from([1, 2, 3]), sets)
def test_what_promises_most_comes_first(those, many, size, apart):
    """Fewest doubts, then most checks in which they are alike, then the order of the effects."""
    those, apart = within(many, *those), apart & (1 << many) - 1
    found = list(cover.covers(those, size, many, apart))
    keys = [(one.doubts, -sum(those[i].alike.bit_count() for i in one.places), one.places) for one in found]
    assert keys == sorted(keys)


@thorough
@given(effects, checks, sets)
@example([Effect(3, 1), Effect(3, 0), Effect(0, 0)], 2, 0)
def test_triples_are_those_that_trying_all_would_find(those, many, apart):
    those, apart = within(many, *those), apart & (1 << many) - 1
    wanted = list(fitting(those, 3, many, apart))
    showing = [places for places in wanted if is_alike_anywhere(those, places)]
    assert list(cover.triples(those, many, apart)) == showing
    others = [places for places in wanted if places not in showing]
    assert list(cover.triples(those, many, apart, showing=False)) == others


@thorough
@given(effects, acting, checks)
def test_one_more_is_asked_only_where_the_others_leave_doubts(those, one, many):
    *those, one = within(many, *those, one)
    asked = []

    def has(bits):
        return lambda check: asked.append(check) or bool(bits >> check & 1)

    few = cover.leaves_few(those, range(many), has(one.acts), has(one.alike))
    assert few is (len(in_doubt([*those, one], many)) <= DOUBTS)
    assert set(asked) <= in_doubt(those, many)


@thorough
@given(acting, checks)
def test_an_effect_is_asked_in_turn_and_its_likeness_only_where_it_acts(one, many):
    (one,) = within(many, one)
    asked = []

    def alike(check):
        asked.append(check)
        return bool(one.alike >> check & 1)

    assert Effect.of(range(many), lambda check: bool(one.acts >> check & 1), alike) == one
    assert asked == cover.members(range(many), one.acts)


@thorough
@given(st.lists(st.tuples(sets, sets), max_size=4), checks)
def test_a_group_clashes_where_one_fails_what_nothing_else_touches(pairs, many):
    """In a check that the student passed: two that both do something there may make up for each other."""
    places = range(len(pairs))
    wanted = any(
        fails >> check & 1 and all(pairs[other][1] >> check & 1 for other in places if other != one)
        for one, (fails, _) in enumerate(pairs)
        for check in range(MOST)
    )
    assert cover.clash(places, lambda one: pairs[one][0], lambda one: pairs[one][1]) is wanted


def test_what_does_nothing_is_not_asked_once_a_clash_is_ruled_out():
    asked = []
    assert not cover.clash("abc", lambda one: int(one == "a"), lambda one: asked.append(one) or 0)
    assert asked == ["b"]


@thorough
@given(st.lists(st.tuples(st.integers(0, DOUBTS + 1), st.booleans()), max_size=9))
def test_groups_that_leave_more_doubts_are_no_other_explanation(rated):
    """They are not even looked at, once one that leaves fewer explains everything."""
    groups, asked = [cover.Cover(doubts, (n,)) for n, (doubts, _) in enumerate(rated)], []

    def explains(group):
        asked.append(group)
        return rated[group.places[0]][1]

    def fewer_before(group):
        return min([DOUBTS, *(one.doubts for one in groups[: group.places[0]] if rated[one.places[0]][1])])

    wanted = [group for group in groups if group.doubts <= fewer_before(group)]
    assert cover.explaining(groups, explains) == [group for group in wanted if rated[group.places[0]][1]]
    assert asked == wanted


@thorough
@given(st.sets(st.integers(0, MOST)))
def test_a_set_and_its_members_are_the_same(chosen):
    every = range(MOST + 1)
    bits = cover.bits(one in chosen for one in every)
    assert set(cover.members(every, bits)) == chosen
    assert cover.union([bits, 1]) == bits | 1 and cover.union([]) == 0
