"""Where a deadline is after pauses: in its place, moved by their length, or as soon as those that they move."""

from datetime import UTC, datetime, timedelta

import pytest

from autograder.grading import pauses
from autograder.grading.pauses import Pause
from autograder.grading.store import Store

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
LONG = 5 * DAY
PAUSE = Pause(BEGIN, BEGIN + LONG)


def moved(after, *some, student="ada", assignment="03"):
    """How long after the pause's begin a deadline is that was so long `after` it."""
    return pauses.moved(BEGIN + after, some or [PAUSE], student, assignment) - BEGIN


@pytest.mark.parametrize(
    "after, to",
    [
        (-3 * DAY, -3 * DAY),
        (0 * DAY, 0 * DAY),  # midnight, at which the pause begins: all of the time was there
        (HOUR, LONG + HOUR),
        (2 * DAY, LONG + 2 * DAY),
        (LONG, 2 * LONG),
        (LONG + DAY, 2 * LONG),  # a day would be left, and some more for who was due earlier
        (2 * LONG, 2 * LONG),
        (3 * LONG, 3 * LONG),
    ],
)
def test_where_a_deadline_goes(after, to):
    assert moved(after) == to
    naive = pauses.moved((BEGIN + after).replace(tzinfo=None), [PAUSE], "ada", "03")
    assert naive == (BEGIN + to).replace(tzinfo=None)


def test_no_deadline_overtakes_another_and_none_comes_earlier():
    some = [PAUSE, Pause(BEGIN + 7 * DAY, BEGIN + 9 * DAY), Pause(BEGIN + 8 * DAY, BEGIN + 11 * DAY)]
    found = [moved(n * 7 * HOUR, *some) for n in range(-10, 120)]
    assert found == sorted(found)
    assert all(new >= n * 7 * HOUR for n, new in zip(range(-10, 120), found, strict=True))


def test_pauses_that_overlap_are_one_and_one_leads_into_the_next():
    assert moved(HOUR, PAUSE, Pause(BEGIN + DAY, BEGIN + 2 * DAY)) == LONG + HOUR
    assert moved(HOUR, PAUSE, PAUSE) == LONG + HOUR
    assert moved(HOUR, PAUSE, Pause(BEGIN + LONG, BEGIN + 2 * LONG)) == 2 * LONG + HOUR
    later = Pause(BEGIN + LONG + DAY, BEGIN + LONG + 2 * DAY)
    assert moved(DAY + HOUR, PAUSE, later) == LONG + 2 * DAY + HOUR


def test_whose_it_is():
    own = Pause(BEGIN, BEGIN + LONG, ("ada",), ("03",))
    assert moved(HOUR, own) == LONG + HOUR
    assert moved(HOUR, own, student="bob") == moved(HOUR, own, student="") == moved(HOUR, own, assignment="04") == HOUR
    assert moved(HOUR, Pause(BEGIN, BEGIN + LONG, (), ("04",))) == HOUR


def test_never_is_never():
    assert pauses.moved(None, [PAUSE], "ada", "03") is None
    never = datetime(9999, 12, 31, 12)
    assert pauses.moved(never, [PAUSE], "ada", "03") == never


@pytest.mark.parametrize(
    "content",
    [
        "[1]",
        "{",
        '{"pauses": 1}',
        '{"pauses": [1, null, {}, {"begin": 1, "end": 2}]}',
        '{"pauses": [{"begin": "2026-11-20T00:00:00+00:00", "end": "2026-11-20T00:00:00+00:00", "students": [],'
        ' "assignments": []}]}',
        '{"pauses": [{"begin": "0001-01-01T00:00:00+00:00", "end": "9999-12-31T00:00:00+00:00", "students": [],'
        ' "assignments": []}]}',
        '{"pauses": [{"begin": "2026-11-20T00:00:00+00:00", "end": "2026-11-21T00:00:00+00:00", "students": [1],'
        ' "assignments": []}]}',
        '{"pauses": [{"begin": "2026-11-20T00:00:00+00:00", "end": "2026-11-21T00:00:00+00:00"}]}',
        '{"pauses": [{"begin": "0001-01-01T00:00:00+14:00", "end": "0001-01-02T00:00:00+14:00", "students": [],'
        ' "assignments": []}]}',
    ],
)
def test_what_the_kit_has_not_written_pauses_nothing(tmp_path, content):
    path = tmp_path / ".autograder" / "pauses.json"
    path.parent.mkdir()
    path.write_text(content)
    assert Store(tmp_path).pauses() == []


def test_it_is_kept_as_it_is(tmp_path):
    some = [PAUSE, Pause(BEGIN, BEGIN + HOUR, ("ada", "bob"), ("03",))]
    Store(tmp_path).put_pauses(some)
    assert Store(tmp_path).pauses() == some
