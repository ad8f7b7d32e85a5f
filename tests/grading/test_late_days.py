"""Late days follow from hand-ins and due dates: what is spent on which assignment, and what the options may be."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from autograder.errors import CourseError
from autograder.grading import late_days
from autograder.grading.late_days import HandIn, LateDays

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
DUE = {name: datetime(2026, 11, day, 12, tzinfo=UTC) for name, day in (("01", 2), ("02", 9), ("03", 16), ("04", 23))}
RULES = LateDays(budget=4, each=2)


def of(*hand_ins, rules=RULES, due=DUE, forget=()):
    return late_days.spent(hand_ins, due.get, rules, forget)


def late(name, days, **about):
    return HandIn(name, DUE[name] + days * DAY, **about)


@pytest.mark.parametrize(
    "at, days",
    [
        (-DAY, 0),
        (0 * DAY, 0),
        (timedelta(milliseconds=999), 0),  # to the second, as the gradebook keeps times
        (SECOND, 1),
        (DAY, 1),
        (DAY + SECOND, 2),
        (10 * DAY, 10),
    ],
)
def test_begun_days_count_as_whole_ones(at, days):
    assert late_days.days_late(DUE["01"] + at, DUE["01"]) == days


def test_nothing_is_late_that_is_never_due():
    assert late_days.days_late(DUE["01"], None) == 0
    assert of(HandIn("05", DUE["04"])) == {}


def test_each_assignment_and_the_course_have_an_end():
    assert of(late("01", 2), late("02", 1), late("03", 1)) == {"01": 2, "02": 1, "03": 1}
    assert of(late("01", 3), late("02", 2)) == {"02": 2}  # later than two days reach: as if it was not there
    assert of(late("01", 2), late("02", 2), late("03", 1), late("04", 1)) == {"01": 2, "02": 2}


def test_no_later_hand_in_takes_a_day_from_an_earlier_one():
    due = {**DUE, "01": DUE["02"] + 2 * DAY}  # with an extension
    first, second = late("02", 2), HandIn("01", due["01"] + DAY)
    rules = LateDays(budget=2, each=2)
    assert of(second, first, rules=rules, due=due) == {"02": 2}
    assert of(second, rules=rules, due=due) == {"01": 1}


def test_the_last_one_counts_as_far_as_days_reach():
    assert of(late("01", -1), late("01", 1, worth=1), late("01", 5, worth=2)) == {"01": 1}
    assert of(late("01", 2), late("01", 1)) == {"01": 1} == of(late("01", 1))
    assert of(late("01", 1), late("01", 1.5, worth=1)) == {"01": 2}


def test_the_best_one_counts_and_of_two_equal_ones_that_in_time():
    assert of(late("01", -1, worth=5.0), late("01", 1, worth=7.0), late("01", 2, worth=6.0)) == {"01": 1}
    assert of(late("01", -1, worth=7.0), late("01", 1, worth=7.0)) == {}


def test_what_is_handed_in_anyway_spends_days_if_they_cover_it():
    assert of(late("01", 3, is_forced=True), late("02", 2)) == {"02": 2}
    own = LateDays(budget=4, each=2, partly=True)
    assert of(late("01", 3, is_forced=True), late("02", 2, is_forced=True), rules=own) == {"01": 2, "02": 2}
    assert of(late("01", 3, is_forced=True), late("01", -1, is_forced=True), rules=own) == {"01": 2}


def test_one_that_replaces_others_in_any_case_has_its_turn_at_its_own_time():
    """The gradebook has the last one alone: a desk that kept the turn of an earlier one would promise too much."""
    due, rules = {**DUE, "01": DUE["02"]}, LateDays(budget=3, each=3)
    first, second, last = (
        HandIn(name, due[name] + days * DAY, is_forced=True) for name, days in (("01", 2), ("02", 2.2), ("01", 2.5))
    )
    assert of(first, second, rules=rules, due=due) == {"01": 2}
    assert of(first, second, last, rules=rules, due=due) == of(second, last, rules=rules, due=due) == {"02": 3}


def test_what_the_desk_says_is_what_the_gradebook_takes():
    """Whatever is handed in: the gradebook, which has what counts alone, covers what the desk said was covered."""
    for seed in range(500):
        draw = random.Random(seed)
        counts, rules = draw.choice(["last", "best", "latest"]), LateDays(draw.randint(1, 4), draw.randint(1, 3))
        due = {name: DUE["01"] + draw.randint(0, 6) * DAY / 2 for name in ("01", "02", "03")}
        times = draw.sample(range(200), draw.randint(1, 6))
        made = [(draw.choice([*due]), DUE["01"] + hours * DAY / 24, draw.randint(0, 4)) for hours in sorted(times)]
        worth = [number if counts == "last" else points for number, (_, _, points) in enumerate(made)]
        each = [HandIn(name, at, more, counts == "latest") for (name, at, _), more in zip(made, worth, strict=True)]
        desk = of(*each, rules=rules, due=due)
        counted = {}
        for one in each:
            covered = one.at <= due[one.assignment] + desk.get(one.assignment, 0) * DAY
            before = counted.get(one.assignment)
            if counts == "latest" or covered and (before is None or one.worth >= before.worth):
                counted[one.assignment] = one
        forced = [HandIn(one.assignment, one.at, is_forced=True) for one in counted.values()]
        assert of(*forced, rules=rules, due=due) == desk, seed


def test_what_does_not_count_spends_nothing():
    assert of(late("01", 2), late("02", 2), late("03", 2), forget=["01"]) == {"02": 2, "03": 2}
    assert of(late("01", 2), rules=LateDays()) == {}


# --- the options ----------------------------------------------------------------------------------


def read(tmp_path, *lines):
    (tmp_path / "nbgrader_config.py").write_text("\n".join(lines))
    return late_days.of_course(tmp_path)


def test_the_options_are_read_from_the_text(tmp_path):
    assert late_days.of_course(tmp_path) == LateDays(0)
    assert read(tmp_path, "c.Exercises.late_days = 4", "raise SystemExit") == LateDays(4, 2)
    assert read(tmp_path, "c.Exercises.late_days = 14", "c.Exercises.late_days_each = 3") == LateDays(14, 3)
    own = "c.AssignLatePenalties.plugin_class = 'late.Tenths'"
    assert read(tmp_path, "c.Exercises.late_days = 4", own) == LateDays(4, 2, partly=True)


@pytest.mark.parametrize(
    "value", ["-1", "1.5", "True", "'4'", "None", "367", "10**9", "days", "[4]", "0x" + "f" * 9999]
)
@pytest.mark.parametrize("option", ["late_days", "late_days_each"])
def test_what_is_no_number_of_days_is_a_sentence(tmp_path, option, value):
    with pytest.raises(CourseError, match=f"c.Exercises.{option}.* number"):
        read(tmp_path, f"c.Exercises.{option} = {value}")


def test_an_option_is_set_once(tmp_path):
    with pytest.raises(CourseError, match="once"):
        read(tmp_path, "c.Exercises.late_days = 4", "c.Exercises.late_days = 5")
    with pytest.raises(CourseError, match="from 1 to 366"):
        read(tmp_path, "c.Exercises.late_days_each = 0")
