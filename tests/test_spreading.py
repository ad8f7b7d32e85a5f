"""Which tests stay together on a worker, and which begin first."""

import pytest
from conftest import ROOT
from spreading import DEAREST, order_of, scope_of


@pytest.mark.parametrize(
    "file, test, about",
    [
        ("test_exercises.py", "test_a_mistake_is_rejected_and_named[1-attention-softmax-over-queries]", "attention"),
        ("test_exercises.py", "test_what_computes_nothing_gets_nothing[Head-nothing]", "Head"),
        ("test_exercises.py", "test_right_answers_get_full_marks[0-softmax/plain]", "softmax"),
        ("test_visible_checks.py", "test_costly_mistakes_do_not_pass[attention]", "attention"),
    ],
)
def test_the_tests_of_an_exercise_stay_together(file, test, about):
    assert scope_of(f"tests/exercises/{file}::{test}") == f"tests/exercises: {about}"


@pytest.mark.parametrize(
    "nodeid",
    ["tests/exercises/test_release.py::test_x[01_self_attention-release]", "tests/test_check.py::test_x[attention]"],
)
def test_the_tests_of_a_file_stay_together(nodeid):
    assert scope_of(nodeid) == nodeid.partition("::")[0]


@pytest.mark.parametrize("test", ["test_each_picture[07_language_model]", "test_x[untouched-07_lm]"])
def test_the_tests_of_a_lesson_stay_together(test):
    """So it is run once: a solved lesson trains its models, which takes up to two minutes."""
    assert scope_of(f"tests/lessons/test_runs.py::{test}") == "tests/lessons/test_lesson_07.py"
    assert scope_of("tests/lessons/test_runs.py::test_x[07]") == "tests/lessons/test_runs.py"


def test_the_dearest_files_are_there_and_come_first():
    assert [name for name in DEAREST if not (ROOT / name).is_file()] == []
    names = [
        "tests/exercises/test_exercises.py::test_x[Head]",
        "tests/test_imports.py::test_x",
        f"{DEAREST[0]}::test_x",
    ]
    assert sorted(names, key=order_of) == names[::-1]
