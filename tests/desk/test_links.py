"""Personal links and keys: who opens one is that person, and nobody else is."""

import csv
import re
import time

import pytest
from doors import BELA, Place, said

from autograder.desk.doors import links
from autograder.desk.doors.links import LinkDoor
from autograder.desk.doors.personal import KeyDoor
from autograder.desk.keys import LINK, PERSONAL, hashed
from autograder.desk.tables import KEY
from autograder.errors import UsageError

TOKEN = re.compile(r'name="token" value="([^"]+)"')


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.doors = [
        KeyDoor(place.sessions, place.keys, place.people, place.who),
        LinkDoor(place.sessions, place.keys, place.people),
    ]
    return place


def table(place, *wanted, **options):
    return list(csv.DictReader(links.for_students(place.keys, place.people, place.url, wanted, **options).splitlines()))


def link(place, student="ada"):
    """The path of a new link."""
    return next(row["link"] for row in table(place, student)).removeprefix(place.sessions.origin)


def opened(place, path, browser=None):
    """A browser that has opened a link and said yes."""
    browser = browser or place.browser()
    assert browser.get(path).status_code == 303
    asked = browser.get("/links")
    assert asked.status_code == 200, asked.text
    entered = browser.post("/links", {"token": TOKEN.search(asked.text)[1]})
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    return browser


def test_a_table_for_a_mail_merge(place):
    rows = table(place)
    assert [(row["id"], row["address"]) for row in rows] == [
        ("ada", "ada@example.org"),
        ("bela", "bela@example.org"),
        ("carl", "carl@example.org"),
    ]
    assert rows[0]["name"] == "Ada Lovelace" and re.fullmatch(r"http://desk\.test/links/[\w-]{43}", rows[0]["link"])
    assert len({row["link"] for row in rows}) == 3
    assert table(place) == []  # all have one
    assert [row["id"] for row in table(place, "bela")] == ["bela"]
    with pytest.raises(UsageError, match="Nobody is called dora"):
        table(place, "dora")


def test_the_record_has_only_a_hash(place):
    secret = link(place).rpartition("/")[2]
    with place.record.reading() as connection:
        rows = [row._asdict() for row in connection.execute(KEY.select())]
    assert [row["hash"] for row in rows] == [hashed(secret)]
    assert secret not in str(rows)


def test_nobody_else_on_the_machine_reads_the_record(place, tmp_path):
    link(place)
    files = list(tmp_path.glob("desk.db*"))  # with what SQLite has beside it
    assert files and all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_opening_a_link(place):
    path = link(place)
    browser = place.browser()
    first = browser.get(path)
    assert (first.status_code, first.headers["location"]) == (303, "/links")
    assert first.headers["referrer-policy"] == "no-referrer" and first.headers["cache-control"] == "no-store"
    assert browser.get("/who").status_code == 401  # not yet: nobody has said yes
    asked = browser.get("/links")
    assert "Go on as Ada Lovelace" in asked.text and path.rpartition("/")[2] not in asked.text
    browser = opened(place, path)
    who = browser.get("/who").json()
    assert {key: who[key] for key in ("door", "subject", "student", "name", "role")} == {
        "door": "links",
        "subject": "student:ada",
        "student": "ada",
        "name": "Ada Lovelace",
        "role": "student",
    }


def test_an_instructors_link(place):
    path = links.for_instructor(place.keys, place.url).removeprefix(place.sessions.origin)
    who = opened(place, path).get("/who").json()
    assert (who["role"], who["student"], who["subject"]) == ("instructor", "", "instructor:Instructor")


def test_a_link_for_another_person_ends_the_session(place):
    browser = opened(place, link(place, "ada"))
    path = link(place, "bela")
    browser.get(path)
    assert "You are logged in as somebody else" in browser.get("/links").text
    assert opened(place, path, browser).get("/who").json()["student"] == "bela"


def test_names_are_text(place):
    browser = place.browser()
    browser.get(link(place, BELA.id))
    text = browser.get("/links").text
    assert "&lt;script&gt;alert(1)" in text and "<script>" not in text


def test_a_withdrawn_link_ends_its_sessions(place):
    path = link(place)
    browser = opened(place, path)
    assert browser.get("/who").status_code == 200
    assert links.revoke(place.keys, place.people, ["ada"]) == 1
    answer = browser.get("/who")
    assert answer.status_code == 403 and "withdrawn" in said(answer)
    answer = place.browser().get(path)
    assert answer.status_code == 403 and "withdrawn" in said(answer)


def test_a_new_link_replaces_the_old_one(place):
    first, second = link(place), link(place)
    assert "replaced" in said(place.browser().get(first))
    assert opened(place, second).get("/who").json()["student"] == "ada"


def test_a_link_ends(place):
    (row,) = table(place, "ada", lasts=-1.0)
    answer = place.browser().get(row["link"].removeprefix(place.sessions.origin))
    assert answer.status_code == 403 and "ended on" in said(answer)
    (row,) = table(place, "ada", lasts=1.2)
    browser = opened(place, row["link"].removeprefix(place.sessions.origin))
    time.sleep(1.3)
    assert browser.get("/who").status_code in (401, 403)


def test_who_is_dropped_from_the_roster_stays_out(place):
    browser = opened(place, link(place))
    place.students.pop(0)
    place.people._until = 0.0
    answer = browser.get("/who")
    assert answer.status_code == 403 and "roster" in said(answer)


# --- keys ----------------------------------------------------------------------------------------


def test_a_key_is_made_shown_once_and_renewed(place):
    browser = opened(place, link(place))
    page = browser.get("/key").text
    assert "Make a key" in page
    made = browser.post("/key", {"token": TOKEN.search(page)[1]})
    key = re.search(r"<code>(desk-[\w-]{43})</code>", made.text)[1]
    assert key not in browser.get("/key").text
    program = {"authorization": f"Bearer {key}"}
    who = place.browser(**program).get("/who").json()
    assert (who["door"], who["student"]) == ("links", "ada")
    made = browser.post("/key", {"token": TOKEN.search(page)[1]})
    newer = re.search(r"<code>(desk-[\w-]{43})</code>", made.text)[1]
    answer = place.browser(**program).get("/who")
    assert answer.status_code == 401 and "replaced" in said(answer)
    assert place.browser(authorization=f"token {newer}").get("/who").status_code == 200
    browser.post("/key", {"token": TOKEN.search(page)[1], "revoke": "1"})
    assert place.browser(authorization=f"token {newer}").get("/who").status_code == 401


def test_a_key_is_no_link_and_a_link_no_key(place):
    person = place.record.person(links.of_student("ada", "Ada"))
    key = place.keys.make(PERSONAL, person, 60.0)
    assert place.browser().get(f"/links/{key}").status_code == 404
    secret = place.keys.make(LINK, person, 60.0)
    assert place.browser(authorization=f"Bearer {secret}").get("/who").status_code == 401
    assert place.browser(authorization=f"Bearer desk-{secret}").get("/who").status_code == 401


def test_logging_out(place):
    browser = opened(place, link(place))
    token = browser.get("/who").json()["token"]
    assert browser.post("/log-out", {"token": "x" * 64}).status_code == 403
    assert browser.post("/log-out", {"token": token}).status_code == 303
    assert browser.get("/who").status_code == 401
