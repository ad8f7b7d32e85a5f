"""The options `c.Desk.*`: each value that is taken, each that is refused in a sentence; what grade says of them."""

import pytest
from traitlets.config import Config

from autograder.desk.settings import OF_DOORS, OPTIONS, Settings, settings_of
from autograder.errors import CourseError
from autograder.nbgrader import options

NAME = "02_queries_keys_values"


def test_without_options_the_mistake_is_told():
    assert settings_of({}, NAME) == Settings("names", 20, 3.0, None, "last", "roster")


def test_options_hold_for_the_course_or_for_an_assignment():
    given = {"Desk": {"tell": "points", "every": 10, "assignments": {"02": {"tell": "all", "limit": 5}}}}
    assert settings_of(given, NAME) == Settings("all", 20, 10, 5)
    assert settings_of(given, "03_causal_attention") == Settings("points", 20, 10)
    assert settings_of(Config(given), NAME).tell == "all"
    assert settings_of({"Desk": {"counts": "latest"}}, NAME).takes_late


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tell": "everything"}, "c.Desk.tell in .* is 'everything', and should be \"received\" or"),
        ({"counts": ["last"]}, "c.Desk.counts"),
        ({"who": None}, "c.Desk.who"),
        ({"at_once": 0}, "whole number from 1 up"),
        ({"at_once": True}, "whole number from 1 up"),
        ({"every": -1}, "a number of minutes"),
        ({"every": float("nan")}, "a number of minutes"),
        ({"every": "5"}, "a number of minutes"),
        ({"limit": 0}, "whole number from 1 up, or None"),
        ({"tel": "all"}, "did you mean tell"),
        ({"assignments": {"02": {"when": 1}}}, r"c.Desk.assignments\['02'\]\['when'\] .* sets nothing"),
        ({"assignments": {"77": {}}}, "There is no assignment '77'"),
        ({"assignments": ["02"]}, "should be like"),
    ],
)
def test_what_is_wrong_is_one_sentence(given, sentence):
    with pytest.raises(CourseError, match=sentence) as problem:
        settings_of({"Desk": given}, NAME)
    assert "\n" not in str(problem.value)


def test_the_other_commands_know_the_same_names():
    assert set(options.OURS["Desk"]) >= {*OPTIONS, "assignments", *OF_DOORS}
    assert "did you mean c.Desk.tell" in next(options.faults(Config({"Desk": {"tells": "all"}})))
