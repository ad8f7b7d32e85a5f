"""Which doors a course opens, where the desk is, and what `autograder desk` does instead of opening."""

import shutil
from datetime import UTC, datetime
from types import SimpleNamespace

import lti_place
import pytest
from conftest import ROOT
from doors import Place
from lti_place import LtiPlace
from lti_platform import USERS

from autograder.desk.doors import delivering, maintaining, opening
from autograder.desk.doors.opening import Where
from autograder.desk.gradebook_reader import GradebookReader, OwnDue
from autograder.desk.settings import Settings
from autograder.errors import CourseError, UsageError
from autograder.grading.store import Store
from autograder.intake.people import Roster, Student
from autograder.nbgrader.runs import NbgraderCourse

HERE = Where("http://127.0.0.1:8090", "/")
HUB = ("JUPYTERHUB_API_TOKEN", "JUPYTERHUB_API_URL", "JUPYTERHUB_PUBLIC_URL", "JUPYTERHUB_SERVICE_PREFIX")


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    for name in HUB:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def platform():
    with lti_place.platform() as platform:
        platform.users = {user.sub: user for user in USERS}
        yield platform


def config(**desk):
    return {"Desk": desk}


def opened(place, where=HERE, **desk):
    return opening.open_doors(config(**desk), place.record, lambda: Roster(place.students), False, where)


@pytest.mark.parametrize(
    "url, host, found",
    [
        ("", "127.0.0.1", ("http://127.0.0.1:8090", "/")),
        ("", "::1", ("http://[::1]:8090", "/")),
        ("", "0.0.0.0", ("", "/")),
        ("https://desk.example.org", "0.0.0.0", ("https://desk.example.org", "/")),
        ("https://example.org:8443/att/desk/", "127.0.0.1", ("https://example.org:8443", "/att/desk/")),
    ],
)
def test_where_the_desk_is(url, host, found):
    where = opening.where(config(address=url), host, 8090)
    assert (where.origin, where.base) == found


def test_where_a_hub_has_started_it(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/services/desk/")
    assert opening.where({}, "127.0.0.1", 1) == Where("", "/services/desk/")
    monkeypatch.setenv("JUPYTERHUB_PUBLIC_URL", "https://hub.example/services/desk/")
    assert opening.where({}, "127.0.0.1", 1) == Where("https://hub.example", "/services/desk/")


@pytest.mark.parametrize("url", ["desk.example.org", "ftp://x/", "https://x/?y", "https:///", 5])
def test_addresses_that_are_none(url):
    with pytest.raises(CourseError, match="c.Desk.address"):
        opening.where(config(address=url), "127.0.0.1", 1)


def test_the_doors(tmp_path, platform, monkeypatch):
    place = Place(tmp_path)
    assert [door.name for door in opened(place).doors] == ["keys", "links"]
    lti = [platform.registration(in_frame=True)]
    found = opened(place, Where("https://desk.test", "/"), lti=lti)
    assert [door.name for door in found.doors] == ["keys", "links", "lti"]
    assert found.sessions.frames == (platform.url,)
    assert found.lti.launch_url == "https://desk.test/lti/launch"
    with pytest.raises(CourseError, match="needs c.Desk.address"):
        opened(place, Where("", "/"), lti=lti)
    with pytest.raises(UsageError, match="no JupyterHub is there"):
        opened(place, hub={})
    for hub in ([], {"instructor": ["x"]}, {"instructors": "x"}, {"admins": 1}, {"students": "name"}):
        with pytest.raises(CourseError, match="c.Desk.hub"):
            opened(place, hub=hub)


def options(**given):
    return SimpleNamespace(**{"links": None, "revoke": None, "forget": None, "members": False, **given})


def test_links_are_written_for_their_owner_alone(tmp_path, capsys):
    place, runs = Place(tmp_path), SimpleNamespace(root=tmp_path)
    assert not maintaining.is_wanted(options()) and maintaining.is_wanted(options(links=[]))
    maintaining.run(opened(place), runs, options(links=[]))
    path = tmp_path / "exports" / "desk_links.csv"
    assert path.stat().st_mode & 0o077 == 0
    assert "3 links written" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8-sig").count("http://127.0.0.1:8090/links/") == 3
    maintaining.run(opened(place), runs, options(revoke=["ada"]))
    assert "1 link withdrawn" in capsys.readouterr().out
    maintaining.run(opened(place), runs, options(links=[]))
    assert "1 link written" in capsys.readouterr().out
    maintaining.run(opened(place), runs, options(links=[]))
    assert "Nobody lacks a link" in capsys.readouterr().out
    with pytest.raises(UsageError, match="need c.Desk.address"):
        maintaining.run(opened(place, Where("", "/")), runs, options(links=[]))
    with pytest.raises(UsageError, match="--members needs c.Desk.lti"):
        maintaining.run(opened(place), runs, options(members=True))


def test_the_roster_from_the_platform(tmp_path, platform, capsys):
    """Students who are in nobody's roster yet get in, once the platform's list was taken."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    runs = NbgraderCourse(tmp_path)
    place = LtiPlace(tmp_path, platform)
    place.students.clear()
    book = GradebookReader(tmp_path, runs.directory.db_url)
    registered = [platform.registration()]
    found = opening.open_doors(
        config(lti=registered), place.record, lambda: opening.roster_of(book), False, Where("https://desk.test", "/")
    )
    with pytest.raises(UsageError, match="Open the desk once from the platform's course"):
        maintaining.run(found, runs, options(members=True))
    place.enter("u-teacher")
    maintaining.run(found, runs, options(members=True))
    said = capsys.readouterr().out
    assert "3 students of the platform's course in the gradebook, 3 with their account." in said
    assert sorted(student.email for student in opening.roster_of(book)) == [
        "ada@example.org",
        "bela@example.org",
        "nobody@example.org",
    ]
    place.doors = [found.lti]
    who = place.enter("u-nobody").get("/who").json()
    assert (who["student"], who["role"]) == ("nobody", "student")
    book.close()


def test_points_that_may_be_delivered(tmp_path):
    """Those of the attempt that counts; none while it waits, or where the student is not told."""
    name = "02_queries_keys_values"
    base = {
        "again": False,
        "exercise": None,
        "state": "done",
        "score": 17.5,
        "max_score": 28.0,
        "withheld": frozenset(),
    }
    first = SimpleNamespace(id="1", number=1, arrived=datetime(2026, 1, 1, tzinfo=UTC), level="names", **base)
    attempts = [first]
    desk = SimpleNamespace(
        root=ROOT,
        record=SimpleNamespace(attempts=lambda owner, assignment, whole: list(attempts)),
        settings=lambda assignment: Settings(counts="last"),
        book=SimpleNamespace(
            due=lambda assignment, student: OwnDue(datetime(2026, 2, 1, tzinfo=UTC), False, False),
            assignments=lambda: {name: None},
        ),
    )

    def points():
        found = delivering.points_that_count(desk, "student:ada", name)
        return found and (found.attempt.id, found.points, found.max_points, found.is_all)

    assert points() == ("1", 17.5, 28.0, False)  # its written answers wait for a person
    late = {**vars(first), "id": "2", "number": 2, "arrived": datetime(2026, 3, 1, tzinfo=UTC)}
    attempts.append(SimpleNamespace(**late))
    assert points()[0] == "1"
    changes = {"level": "received"}, {"state": "waiting", "score": None}, {"withheld": frozenset({"attention"})}
    for change in (*changes, {"again": True}):
        attempts[:] = [SimpleNamespace(**{**vars(first), **change})]
        assert points() is None, change
    assert delivering.points_that_count(desk, "student:ada", "no assignment") is None


def test_the_gradebooks_roster(tmp_path):
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    runs = NbgraderCourse(tmp_path)
    book = GradebookReader(tmp_path, runs.directory.db_url)
    assert list(opening.roster_of(book)) == []  # there is no gradebook yet
    with runs.gradebook() as gradebook:
        gradebook.update_or_create_student("ada", first_name="Ada", email="ada@example.org", lms_user_id="7")
        gradebook.update_or_create_student("bela")
    Store(tmp_path).put_dropped({"bela"})
    assert list(opening.roster_of(book)) == [Student("ada", "Ada", "", "ada@example.org", "7")]
    book.close()
