"""becomes another platform's, or the Hub's, newcomer by being called as they are, and reads their work"""

from types import SimpleNamespace

import lti_place
from doors import Place
from lti_place import LtiPlace
from lti_platform import User

from autograder.desk.doors.hub import HubDoor, HubSettings
from autograder.desk.record import Rules, owner_of
from autograder.desk.visitors import STUDENT, Visitor


def visitor(who):
    return Visitor(*(who[name] for name in ("door", "subject", "student", "name", "role")))


def attack(folder):
    through, people = [], []
    with lti_place.platform() as first, lti_place.platform() as second:
        for number, platform in enumerate((first, second)):
            platform.users = {"42": User("42", f"User {number}", "42", f"{number}@example.org")}
        place = LtiPlace(folder, first, everybody=True, others=[second.registration()])
        people.append(visitor(place.enter("42").get("/who").json()))
        second.redirect_uri, second.target = place.door.launch_url, place.url
        browser = place.browser()
        if second.launch(browser, "42").status_code == 303:
            people.append(visitor(browser.get("/who").json()))
    hub = HubDoor(place.sessions, place.people, HubSettings(), SimpleNamespace())
    people.append(place.people.admit(Visitor("hub", "42", hub._student("42"), "42", STUDENT)))
    work = place.record.hand_in(people[0], "02", None, b"x", Rules("names"))
    for other in people[1:]:
        if place.record.attempt(work.id, owner_of(other)):
            through.append(f"{other.subject} reads the work of {people[0].subject}")
        if place.record.hand_in(other, "02", None, b"y", Rules("names")).number != 1:
            through.append(f"what {other.subject} hands in counts for {people[0].subject}")
    assert isinstance(place, Place) and len(people) == 3
    return through
