"""comes back as a newcomer after having been dropped from the class"""

from types import SimpleNamespace

from doors import CLASS, Place

from autograder.desk.doors.hub import HubDoor, HubSettings
from autograder.desk.doors.people import People
from autograder.intake.people import Roster


def attack(folder):
    through = []
    place = Place(folder)
    for students, name in (("id", "ada"), ("id", "ADA"), ("email", "ada@example.org")):
        people = People(place.record, lambda: Roster(CLASS, ["ada"]), everybody=True)
        found = HubDoor(place.sessions, people, HubSettings(students=students), SimpleNamespace())._student(name)
        if found != "ada":  # as who they were, they are refused when they hand in
            through.append(f"{name} comes back as {found}")
    return through
