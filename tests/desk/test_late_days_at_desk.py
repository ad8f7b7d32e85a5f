"""Late days at the desk, in what is collected, in penalties, on pages and in exports."""

import csv
import io
import shutil
import threading
from datetime import UTC, datetime, timedelta

import desk_class
import desks
import pytest
import sqlalchemy as sa
from desk_class import built, kit, place, record
from desks import Client, desk_in, notebook
from nbgrader.api import Gradebook
from small_course import NAME
from test_desk_collecting import configure, handed_in, run
from test_extending import due, gradebook, penalties

from autograder import course
from autograder.desk.doors import delivering
from autograder.desk.tables import ATTEMPT
from autograder.errors import CourseError
from autograder.grading.store import Store
from autograder.nbgrader import options
from autograder.nbgrader.runs import NbgraderCourse
from autograder.nbgrader.standings import standings

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ONE, TWO, THREE = "07_one", "08_two", "09_three"


@pytest.mark.parametrize("by_the_kit", [True, False], ids=["grade", "nbgrader autograde"])
@pytest.mark.parametrize("counts", ["last", "latest"])
def test_they_come_before_a_penalty(place, record, run, due, counts, by_the_kit):
    configure(place, f'c.Desk.counts = "{counts}"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    configure(place, "c.Exercises.late_days = 3")
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    for student, at in (("ada", HOUR), ("bob", 50 * HOUR)):
        handed_in(record, place, student, right, at)
    said = run("collect", "01", "--desk")[1]
    assert ("  late: bob\n" if counts == "latest" else "bob: handed in after the due date") in said
    assert "ada" not in said.replace("2 new", "")
    if by_the_kit:
        assert run("grade", "01")[0] == 0
    else:
        for student in ("ada", "bob")[: 2 if counts == "latest" else 1]:
            NbgraderCourse(place).autograde(NAME, student)
    found = penalties(place)
    assert found["ada"] == 0 and found.get("bob", 1) > 0
    assert run("report", "01")[0] == run("export", "01", "csv")[0] == 0
    assert "1 late day</span>" in (place / "reports" / f"{NAME}.html").read_text()
    page = (place / "feedback" / "ada" / NAME / f"{NAME}.html").read_text()
    assert "1 of your late days is spent on it" in page and "deducted" not in page
    rows = csv.DictReader(io.StringIO((place / "exports" / NAME / "grades.csv").read_text()))
    assert {row["student_id"]: row["late days"] for row in rows} == {"ada": "1", "bob": ""}


def test_an_extension_is_counted_first(place, record, run, due):
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    configure(place, "c.Exercises.late_days = 3")
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    handed_in(record, place, "ada", right, 60 * HOUR)
    assert "ada: handed in after the due date" in run("collect", "01", "--desk")[1]
    assert run("extend", "ada", "01", "1d")[0] == 0
    assert run("collect", "01", "--desk")[0] == run("grade", "01")[0] == 0 and penalties(place)["ada"] == 0
    runs = NbgraderCourse(place)
    with runs.gradebook() as book:
        (one,) = standings(book, Store(place), course.find_assignment("01")).values()
        assert book.find_submission(NAME, "ada").extension == DAY  # what is spent is kept nowhere
    assert one.late_days == 2 and not one.late and one.due.isoformat() == "2026-11-23T12:00:00"
    assert run("extend", "ada", "01", "3d")[0] == 0
    with runs.gradebook() as book:
        (one,) = standings(book, Store(place), course.find_assignment("01")).values()
    assert one.late_days == 0


@pytest.mark.parametrize(
    "line, says",
    [
        ("c.Exercises.late_days = 1.5", "late_days in nbgrader_config.py is 1.5, and should be a number of days"),
        ("c.Exercises.late_day = 2", "sets nothing: did you mean c.Exercises.late_days?"),
        ('setattr(c.Exercises, "late_days", 4)', "Write that line, outside of any `if`"),
    ],
)
def test_a_wrong_option_is_a_sentence(place, line, says):
    configure(place, line)
    assert any(says in fault for fault in options.faults(NbgraderCourse(place).config))


# --- several assignments --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course of three assignments, and its released notebook."""
    place = tmp_path_factory.mktemp("three")
    release = desks.course_in(place, (ONE, TWO, THREE), ("ada", "bob"))
    with open(place / "nbgrader_config.py", "a") as file:
        file.write("\nc.Exercises.late_days = 3\n")
    return place, release


@pytest.fixture
def three(made, tmp_path):
    place = shutil.copytree(made[0], tmp_path / "course")
    with desks.working_in(place):
        yield place, made[1]


def set_due(place, **hours):
    """Set due dates so many hours ago."""
    for name, ago in hours.items():
        when = datetime.now(UTC).replace(tzinfo=None, microsecond=0) - ago * HOUR
        desks.due(place, when, {"one": ONE, "two": TWO, "three": THREE}[name])


def mine(client, name):
    return next(one for one in client.get("/api/me").json()["assignments"] if one["name"] == name)


def test_what_is_left_and_what_a_hand_in_costs(three):
    place, release = three
    set_due(place, one=30, two=1, three=-24)
    with desk_in(place) as desk:
        ada, bob = Client(desk, "ada"), Client(desk, "bob")
        assert (
            mine(ada, ONE)["late_days"]
            == "3 of your 3 late days are left. A hand-in now uses 2 late days here, if it counts."
        )
        assert mine(ada, THREE)["late_days"].endswith("You can hand in up to 2 days late with them.")
        answer = ada.hand_in(notebook(release), ONE)
        assert answer.status_code == 201 and not mine(ada, ONE)["is_over"]
        said = mine(ada, ONE)["late_days"]
        assert said.startswith(
            "1 of your 3 late days is left. Your hand-in here uses 2 late days. A hand-in now uses 2"
        )
        assert mine(ada, TWO)["late_days"].endswith("left. A hand-in now uses 1 late day here, if it counts.")
        assert ada.hand_in(notebook(release), TWO).status_code == 201
        assert mine(ada, THREE)["late_days"] == "0 of your 3 late days are left."
        assert mine(bob, THREE)["late_days"].startswith("3 of your 3")
        page = ada.get(f"/assignments/{TWO}").text
        assert "0 of your 3 late days are left. Your hand-in here uses 1 late day." in page
        home = desk_class.text_of(ada.get("/"))
        assert home.count("of your 3 late days are left.") == 1 and "Your hand-in here uses 2 late days." in home
        set_due(place, three=1)
    with desk_in(place) as desk:
        ada, bob = Client(desk, "ada"), Client(desk, "bob")
        assert mine(ada, THREE)["is_over"] and ada.hand_in(notebook(release), THREE).status_code == 403
        assert not mine(bob, THREE)["is_over"] and bob.hand_in(notebook(release), THREE).status_code == 201
        Store(place).put_excused(ONE, {"ada": ""})  # its days are free again
        assert mine(ada, ONE)["late_days"] == "" and not mine(ada, THREE)["is_over"]


def test_of_the_best_that_in_time_spends_nothing(three):
    place, release = three
    set_due(place, one=30)
    with desk_in(place, counts="best") as desk:
        ada = Client(desk, "ada")
        ids = [ada.hand_in(notebook(release), ONE).json()["receipt"]["attempt"] for _ in range(3)]
        for id, hours, score in zip(ids, (31, 20, 1), (1.0, 2.0, 1.5), strict=True):
            arrived = datetime.now(UTC).timestamp() - hours * 3600
            done = {"state": "done", "level": "names", "told": "[]", "score": score, "max_score": 2.0}
            with desk.record.writing() as connection:
                connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(arrived=arrived, **done))
        notes = [ada.get(f"/api/attempts/{id}").json()["note"] for id in ids]
        assert notes == [
            "",
            "It came late, and uses 1 late day, if it counts: 2 are left.",
            "It came late, and would use 2 late days, if it counted.",
        ]
        assert delivering.points_that_count(desk, "student:ada", ONE).points == 2.0


def test_later_than_they_reach(three):
    place, release = three
    set_due(place, one=49)
    with desk_in(place) as desk:
        ada = Client(desk, "ada")
        assert "Late days do not cover a hand-in now." in mine(ada, ONE)["late_days"] and mine(ada, ONE)["is_over"]
        assert ada.hand_in(notebook(release), ONE).status_code == 403
    with desk_in(place, counts="latest") as desk:
        ada = Client(desk, "ada")
        assert not mine(ada, ONE)["is_over"] and ada.hand_in(notebook(release), ONE).status_code == 201
        assert mine(ada, ONE)["late_days"].startswith("3 of your 3 late days are left.")


def test_a_hand_in_that_the_gradebook_alone_has(three):
    place, release = three
    set_due(place, one=240, two=1)
    with NbgraderCourse(place).gradebook() as book:
        submission = book.update_or_create_submission(ONE, "ada")
        submission.timestamp = book.find_assignment(ONE).duedate + 2 * DAY
        book.db.commit()
    with desk_in(place) as desk:
        ada = Client(desk, "ada")
        assert mine(ada, TWO)["late_days"].startswith("1 of your 3 late days is left.")
        assert ada.hand_in(notebook(release), TWO).status_code == 201
        assert mine(ada, TWO)["late_days"].startswith("0 of your 3")
        said = desks.Client(desk, "teacher").get(f"/instructor/{TWO}/student?id=ada").text
        assert "1 late day spent here, 0 of 3 left in the course." in said


def test_the_gradebook_counts_all_assignments(three):
    place, _ = three
    set_due(place, one=240, two=120, three=60)
    with NbgraderCourse(place).gradebook() as book:
        for name, late in ((ONE, 2 * DAY), (TWO, DAY), (THREE, HOUR)):
            submission = book.update_or_create_submission(name, "ada")
            submission.timestamp = book.find_assignment(name).duedate + late
        book.db.commit()
        found = [standings(book, Store(place), course.find_assignment(n))["ada"] for n in (ONE, TWO, THREE)]
        assert [one.late_days for one in found] == [2, 1, 0] and [one.late for one in found] == [0 * DAY, 0 * DAY, HOUR]
        late = [book.find_submission(name, "ada").total_seconds_late for name in (ONE, TWO, THREE)]
    assert late == [0, 0, 3600]


def test_never_is_never(three):
    place, release = three
    desks.due(place, datetime(9999, 12, 31, 12), ONE)
    with desk_in(place) as desk:
        ada = Client(desk, "ada")
        assert ada.get("/").status_code == 200 and not mine(ada, ONE)["is_over"]
        assert ada.hand_in(notebook(release), ONE).status_code == 201


def test_points_of_a_hand_in_that_late_days_cover_go_back(three):
    place, release = three
    set_due(place, one=1)
    with desk_in(place) as desk:
        ada = Client(desk, "ada")
        id = ada.hand_in(notebook(release), ONE).json()["receipt"]["attempt"]
        with desk.record.writing() as connection:
            done = {"state": "done", "score": 1.0, "max_score": 2.0, "level": "names"}
            connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(**done))
        assert delivering.points_that_count(desk, "student:ada", ONE).points == 1.0
        Store(place).put_excused(ONE, {"ada": "ill"})
        assert delivering.points_that_count(desk, "student:ada", ONE) is None


@pytest.mark.parametrize("line", ['c.Exercises.late_days = "4"', "c.Exercises.late_days = -1", "c.Exercises.late_da("])
def test_a_line_that_is_being_written_stops_nobody(three, caplog, line):
    place, release = three
    set_due(place, one=1)
    with desk_in(place) as desk:
        ada = Client(desk, "ada")
        assert mine(ada, ONE)["late_days"].startswith("3 of your 3")
        configure(place, line)
        assert mine(ada, ONE)["late_days"].startswith("3 of your 3") and "stay as they were" in caplog.text
        assert ada.hand_in(notebook(release), ONE).status_code == 201
        assert delivering.points_that_count(desk, "student:ada", ONE) is None  # it is not graded yet


def test_what_the_gradebook_no_longer_has_is_not_delivered(three):
    place, release = three
    with desk_in(place) as desk:
        assert Client(desk, "ada").hand_in(notebook(release), ONE).status_code == 201
    with NbgraderCourse(place).gradebook() as book:
        book.remove_assignment(ONE)
    with desk_in(place) as desk:
        assert delivering.points_that_count(desk, "student:ada", ONE) is None


def test_deliveries_outlast_a_course_with_a_mistake(monkeypatch):
    over, seen = threading.Event(), []

    def look(*about):
        seen.append(about)
        if len(seen) == 2:
            over.set()
        raise CourseError("a mistake")

    monkeypatch.setattr(delivering, "look", look)
    monkeypatch.setattr(delivering, "LOOK", 0.0)
    delivering._deliver(None, None, over)
    assert len(seen) == 2


def test_where_the_last_counts_in_any_case_the_turn_is_the_last_ones(three):
    place, release = three
    set_due(place, one=49, two=49, three=-24)
    configure(place, "c.Exercises.late_days_each = 3")
    with desk_in(place, counts="latest") as desk:
        ada = Client(desk, "ada")
        for name, ago in ((ONE, 24), (TWO, 0)):
            id = ada.hand_in(notebook(release), name).json()["receipt"]["attempt"]
            with desk.record.writing() as connection:
                arrived = (datetime.now(UTC) - ago * HOUR).timestamp()
                connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(arrived=arrived))
        assert "Your hand-in here uses 2 late days. A hand-in now uses 3" not in mine(ada, ONE)["late_days"]
        assert "Late days do not cover a hand-in now." in mine(ada, ONE)["late_days"]
        assert ada.hand_in(notebook(release), ONE).status_code == 201
        assert mine(ada, ONE)["late_days"].startswith("0 of your 3") and "uses 3" in mine(ada, TWO)["late_days"]
