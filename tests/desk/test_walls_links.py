"""Attacks on personal links and keys: guesses, other people's logins, forms from elsewhere."""

import re
import secrets

import pytest
from doors import said
from test_links import TOKEN, link, opened
from test_links import place as place  # the fixture

from autograder.desk.doors import links
from autograder.desk.keys import LINK, PERSONAL, hashed

KEY = re.compile(r"<code>(desk-[\w-]{43})</code>")


@pytest.mark.parametrize(
    "guess",
    [
        pytest.param(secrets.token_urlsafe(32), id="random"),
        "0",
        "ada",
        "student:ada",
        "x" * 10_000,
        "%00",
        "..%2f..%2fetc%2fpasswd",
        "' OR 1=1 --",
        "%F0%9F%92%A9",
        "<script>alert(1)</script>",
    ],
)
def test_guesses(place, guess):
    link(place)
    answer = place.browser().get(f"/links/{guess}")
    assert answer.status_code == 404
    if "/" not in guess and "%2f" not in guess:  # else there is no such address at all
        assert "No personal link" in said(answer)


def test_a_links_hash_is_no_link(place):
    secret = link(place).rpartition("/")[2]
    assert place.browser().get(f"/links/{hashed(secret)}").status_code == 404
    assert place.browser(authorization=f"Bearer desk-{hashed(secret)}").get("/who").status_code == 401


def test_opening_a_link_for_somebody_logs_nobody_in(place):
    """A picture or a frame with mallory's link, in a page that Ada reads, must not make her hand in as mallory."""
    browser = opened(place, link(place, "ada"))
    browser.get(link(place, "bela"), headers={"sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site"})
    assert browser.get("/who").json()["student"] == "ada"


def test_saying_yes_for_somebody(place):
    browser = place.browser()
    browser.get(link(place, "bela"))
    token = TOKEN.search(browser.get("/links").text)[1]
    for site, origin in (("cross-site", "https://evil.example"), ("same-site", "https://user.desk.test")):
        answer = browser.post("/links", {"token": token}, site=site, headers={"origin": origin})
        assert answer.status_code == 403
    assert browser.post("/links", {"token": "x"}).status_code == 403
    assert browser.get("/who").status_code == 401


def test_the_token_of_another_opening(place):
    """Mallory's own yes does not count for the link that Ada opens, nor hers for his."""
    mallory, ada = place.browser(), place.browser()
    mallory.get(link(place, "bela"))
    ada.get(link(place, "ada"))
    token = TOKEN.search(mallory.get("/links").text)[1]
    assert ada.post("/links", {"token": token}).status_code == 403


def test_the_form_without_the_link(place):
    answer = place.browser().post("/links", {"token": "x"})
    assert answer.status_code == 403 and "Open your personal link again" in said(answer)


def test_a_link_withdrawn_between_opening_and_yes(place):
    browser = place.browser()
    browser.get(link(place, "ada"))
    token = TOKEN.search(browser.get("/links").text)[1]
    links.revoke(place.keys, place.people, ["ada"])
    answer = browser.post("/links", {"token": token})
    assert answer.status_code == 403 and "withdrawn" in said(answer)


@pytest.mark.parametrize("body, status", [(b"a=1&a=2", 400), (b"x=\xff\xfe", 400), (b"x=" + b"y" * 300_000, 413)])
def test_forms_that_are_none(place, body, status):
    browser = place.browser()
    browser.get(link(place, "ada"))
    headers = {"sec-fetch-site": "same-origin", "origin": "http://desk.test"}
    headers["content-type"] = "application/x-www-form-urlencoded"
    call = browser.client.post("/links", content=body, headers=headers)
    assert browser.loop.run_until_complete(call).status_code == status
    call = browser.client.post("/links", content=body, headers={**headers, "content-type": "text/plain"})
    assert browser.loop.run_until_complete(call).status_code == 415


def test_an_id_that_looks_like_an_instructor(place):
    """Students and instructors are told apart by how the door names them, whatever an id reads like."""
    person = place.record.person(links.of_student("instructor:Instructor", "Mallory"))
    held = place.keys.find(LINK, place.keys.make(LINK, person, 60.0))
    assert (held.visitor.role, held.visitor.subject) == ("student", "student:instructor:Instructor")


def test_the_table_runs_nothing_in_a_spreadsheet(place):
    from autograder.intake.people import Student

    place.students.append(Student("dora", '=HYPERLINK("http://evil.example")', "", "+1@example.org"))
    place.people.refresh()
    (row,) = links.for_students(place.keys, place.people, place.url, ["dora"]).splitlines()[1:]
    assert not any(cell.strip('"').startswith(("=", "+")) for cell in row.split(","))


def made_key(browser):
    """A personal key, made on the page of who is logged in."""
    return KEY.search(browser.post("/key", {"token": TOKEN.search(browser.get("/key").text)[1]}).text)[1]


def renew(keys, people, students):
    links.for_students(keys, people, "/", students)


@pytest.mark.parametrize("withdraw", [links.revoke, renew])
def test_a_key_that_a_thief_of_the_link_has_made_ends_with_the_link(place, withdraw):
    thief = place.browser(authorization=f"Bearer {made_key(opened(place, link(place)))}")
    assert thief.get("/who").json()["student"] == "ada"
    withdraw(place.keys, place.people, ["ada"])
    assert thief.get("/who").status_code == 401


def test_an_instructors_key_lasts_no_longer_than_their_link(place):
    browser = opened(place, links.for_instructor(place.keys, place.url).removeprefix(place.sessions.origin))
    held = place.keys.find(PERSONAL, made_key(browser))
    assert held.visitor.role == "instructor" and held.ends - held.made <= links.DAY
