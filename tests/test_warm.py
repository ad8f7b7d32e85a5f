"""The commands that most tests run in a warm process do what they do when they are started."""

import sys

import pytest
import warm
from small_course import autograder, copy, real


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return copy(tmp_path_factory.mktemp("warm") / "course")


@pytest.mark.parametrize("words", ["--version", "grad", "grade 07", "check absent.ipynb"])
def test_it_says_and_returns_the_same(place, words):
    assert autograder(place, *words.split()) == real(place, sys.executable, "-m", "autograder", *words.split())


def test_nbgraders_own_ends_with_its_own_exit_code(place):
    done = warm.run(place, "nbgrader", "autograde", "nothing")
    assert done.returncode and "No notebooks were matched" in done.stderr


def test_a_command_leaves_nothing_to_the_next(place):
    """What one has read of a course, the next reads again."""
    checks = place / "exercises" / "normalise" / "checks.py"
    whole = checks.read_text()
    checks.write_text("import torsh\n")
    code, _, said = autograder(place, "build")
    assert code == 2 and "torsh" in said and said.count("\n") == 1
    checks.write_text(whole)
    assert autograder(place, "build")[0] == 0
