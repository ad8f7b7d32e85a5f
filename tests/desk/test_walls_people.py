"""Attacks by who takes a name that reads like a student's."""

from types import SimpleNamespace

import pytest
from doors import Place
from test_lti import LtiPlace, User
from test_lti import platform as platform  # the fixtures
from test_lti import served as served

from autograder.desk.doors.hub import HubDoor, HubSettings
from autograder.desk.doors.people import is_newcomer


@pytest.mark.parametrize("students, name", [("email", "ada"), ("id", "Ada!"), ("id", "(ada)"), ("id", "--ada..")])
def test_a_user_of_the_hub_who_is_not_on_the_roster_is_nobody_of_it(tmp_path, students, name):
    place = Place(tmp_path, everybody=True)
    door = HubDoor(place.sessions, place.people, HubSettings(students=students), SimpleNamespace())
    for who in (name, "mallory"):
        id = door._student(who)
        assert is_newcomer(id) and id not in place.people.students, "who is not on the roster is somebody new"
    strict = Place(tmp_path, everybody=False)
    door = HubDoor(strict.sessions, strict.people, HubSettings(students=students), SimpleNamespace())
    assert door._student(name) == ""


def test_a_launch_by_who_is_not_on_the_roster_is_nobody_of_it(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-mallory"] = User("u-mallory", "Mallory", "<Ada>", "m@example.org")
    who = place.enter("u-mallory").get("/who").json()["student"]
    assert is_newcomer(who) and who.startswith("ada~lti-")
