"""Attacks by who takes a name that reads like a student's."""

from types import SimpleNamespace

import pytest
from doors import Place, said
from test_lti import LtiPlace, User
from test_lti import platform as platform  # the fixtures
from test_lti import served as served

from autograder.desk.doors.hub import HubDoor, HubSettings


@pytest.mark.parametrize("students, name", [("email", "ada"), ("id", "Ada!"), ("id", "(ada)"), ("id", "--ada..")])
def test_a_user_of_the_hub_who_is_not_on_the_roster_is_nobody_of_it(tmp_path, students, name):
    place = Place(tmp_path, everybody=True)
    door = HubDoor(place.sessions, place.people, HubSettings(students=students), SimpleNamespace())
    assert door._student(name) == ""
    assert door._student("mallory") == "mallory", "who is not on the roster comes in as somebody new"


def test_a_launch_by_who_is_not_on_the_roster_is_nobody_of_it(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-mallory"] = User("u-mallory", "Mallory", "<Ada>", "m@example.org")
    answer = platform.launch(place.browser(), "u-mallory")
    assert answer.status_code == 403 and "roster" in said(answer)
