"""What `make test` leaves out is what tests/support/sample.py says, and no more."""

import itertools
import re
from types import SimpleNamespace

import pytest
import sample
import together
from conftest import ROOT
from lessons import LONG, lesson, one_lesson

from autograder import course

EXERCISES = sorted(course.exercises(ROOT))
BANK = [f"mistake-{number}" for number in range(30)]


@pytest.fixture
def seeded(monkeypatch):
    monkeypatch.setenv(sample.SEED, "a")
    monkeypatch.setattr(sample, "changed", frozenset)
    return sample.Sample(True)


class Item:
    """As much of a test as the sample asks of one."""

    def __init__(self, nodeid, mark=None, **given):
        self.nodeid, self.mark = nodeid, mark and mark.mark
        if given:
            self.callspec = SimpleNamespace(params=given)

    def get_closest_marker(self, name):
        return self.mark if self.mark and self.mark.name == name else None


NAMES = [f"0{n}_name" for n in range(1, 6)]
LESSONS = [
    Item(f"tests/lessons/test_lesson_0{n}.py::test_{what}", lesson(f"0{n}")) for n in range(1, 6) for what in "xy"
]
OF_NAME = one_lesson(lambda name, **_: name[:2])
LESSONS += [Item(f"tests/lessons/test_runs.py::test_z[half-{name}]", OF_NAME, name=name) for name in NAMES]


@pytest.mark.parametrize(
    "ways, drawn",
    [
        ({}, 2),  # of each of two files
        ({"each": "all"}, 1),
        ({"each": "test"}, 4),
        ({"each": "family"}, 2),
        ({"by": "family"}, 12),  # all those of one family
        ({"by": "family", "each": "test"}, 12),
        ({"by": "family", "each": "family"}, 24),
    ],
)
def test_a_mark_says_of_what_so_many_are_drawn(seeded, ways, drawn):
    mark, items = pytest.mark.drawn(*(1, "things"), **ways), []
    for file, test, family, n in itertools.product("fg", "xy", "ab", range(3)):
        items.append(Item(f"tests/test_{file}.py::test_{test}[{family}{n}]", mark, family=family, n=n))
    assert len(seeded.chosen(items)) == drawn


def test_a_seed_draws_the_same_and_another_one_something_else(seeded, monkeypatch):
    one = seeded.of("softmax", BANK)
    assert len(one) == sample.NAMED and one == seeded.of("softmax", list(reversed(BANK)))
    assert one != seeded.of("attention", BANK)
    monkeypatch.setenv(sample.SEED, "b")
    assert one != seeded.of("softmax", BANK)


def test_over_many_seeds_all_are_drawn(seeded, monkeypatch):
    found = set()
    for seed in range(200):
        monkeypatch.setenv(sample.SEED, str(seed))
        found |= set(seeded.of("softmax", BANK))
    assert found == set(BANK)


def test_all_tests_of_what_is_drawn_run_and_none_of_the_others(seeded):
    chosen = [item.nodeid for item in seeded.chosen(LESSONS)]
    assert len(chosen) == 3 and len({re.search(r"0\d", nodeid)[0] for nodeid in chosen}) == 1


def test_what_has_changed_is_tested_as_a_whole(seeded, monkeypatch):
    monkeypatch.setattr(sample, "changed", lambda: frozenset({"softmax", "01", "02"}))
    assert seeded.of("softmax", BANK) == BANK
    chosen = " ".join(item.nodeid for item in seeded.chosen(LESSONS))
    assert "lesson_01" in chosen and "lesson_02" in chosen


def test_what_takes_too_long_is_drawn_only_where_it_has_changed(seeded, monkeypatch):
    long = [Item(f"tests/lessons/test_lesson_{n}.py::test_x", lesson(n)) for n in LONG]
    for seed in "abcdef":
        monkeypatch.setenv(sample.SEED, seed)
        assert not set(seeded.chosen([*LESSONS, *long])) & set(long)
    monkeypatch.setattr(sample, "changed", lambda: frozenset(LONG))
    assert set(seeded.chosen([*LESSONS, *long])) >= set(long)


def test_what_failed_at_night_is_in_every_sample(seeded, monkeypatch):
    monkeypatch.setattr(sample, "ALWAYS", {"softmax": {"mistake-7", "gone"}, "lessons that are run": {"04"}})
    for seed in "abcdef":
        monkeypatch.setenv(sample.SEED, seed)
        assert "mistake-7" in seeded.of("softmax", BANK) and "gone" not in seeded.of("softmax", BANK)
        assert any("lesson_04" in item.nodeid for item in seeded.chosen(LESSONS))


def test_the_slow_and_nothing_else_of_the_kit_is_left_out(seeded):
    fast, slow = (
        Item("tests/desk/test_app.py::test_x"),
        Item("tests/desk/test_app.py::test_y", pytest.mark.slow("it waits")),
    )
    assert seeded.chosen([fast, slow]) == [fast]
    assert sample.Sample(False).chosen([fast, slow, *LESSONS]) == [fast, slow, *LESSONS]
    assert sample.Sample(False).of("softmax", BANK) == BANK


@pytest.mark.parametrize(
    "file, names",
    [
        ("autograder/exercises/softmax/mistakes.py", {"softmax"}),
        ("autograder/exercises/KVCache/answers/fused.py", {"KVCache"}),
        ("source/03_causal_attention/03_causal_attention.ipynb", {"03"}),
        ("autograder/exercises/families/kernels.py", {"add_kernel", "softmax_kernel", "flash_kernel"}),
        ("autograder/checks/api.py", set()),
        ("docs/checks.md", set()),
    ],
)
def test_a_file_belongs_to_what_is_tested_with_it(file, names):
    assert sample.about([file]) == names


def test_a_family_belongs_to_whoever_imports_it_and_to_whom_that_imports():
    """`coattention` imports parts of `attention`: both belong to an exercise that imports the first alone."""
    found = sample.about(["autograder/exercises/families/attention/__init__.py"])
    assert {"AlternatingCoAttention", "attention"} <= found < set(EXERCISES)


def test_a_run_says_in_its_first_line_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(sample, "THIS", sample.Sample(True))
    monkeypatch.setattr(sample, "changed", lambda: frozenset({"softmax"}))
    monkeypatch.setenv(sample.SEED, "abc")
    line = sample.first_line()
    assert "\n" not in line and f"{sample.SEED}=abc" in line and "softmax" in line and "make everything" in line
    assert "1 of the lessons that are run" in line and all(says in line for says in sample.marks())


def test_every_mark_is_in_the_first_line(request):
    """It is read from the files of tests, as text, by the process that runs none."""
    given = (sample.draw_of(item) for item in request.session.items if "test_sample.py" not in item.nodeid)
    assert {(draw[0].says, draw[0].many) for draw in given if draw} <= sample.marks().items()


@pytest.mark.parametrize(
    "nodeid, group",
    [
        ("tests/desk/test_app.py::test_x[softmax]", "tests/desk/test_app.py"),
        ("tests/exercises/test_mistakes.py::test_x[1-softmax]", "softmax"),
        ("tests/exercises/test_exercises.py::test_x[1-KVCache/chunks]", "KVCache"),
        ("tests/exercises/test_release.py::test_x[release-03_causal_attention]", "tests/exercises/test_release.py"),
        ("tests/lessons/test_lesson_03.py::test_x", "lesson 03"),
        ("tests/lessons/test_runs.py::test_x[half-solved-03_causal_attention]", "lesson 03"),
        ("tests/lessons/test_parts.py::test_x", "tests/lessons/test_parts.py"),
    ],
)
def test_what_shares_something_dear_is_run_by_one_worker(nodeid, group):
    assert together.group_of(nodeid) == group
