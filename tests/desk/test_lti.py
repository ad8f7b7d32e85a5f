"""LTI 1.3 with a platform made of the standard's messages: launches, roles, who is in the course, points back."""

import json
import re
import time
from types import SimpleNamespace

import jwt
import lti_place
import pytest
import sqlalchemy as sa
from doors import said
from lti_place import LtiPlace
from lti_platform import AGS_CLAIM, CLAIM, CLIENT, INSTRUCTOR, LEARNER, USERS, User

from autograder.desk import deliveries
from autograder.desk.doors import lti_keys, lti_services
from autograder.desk.doors.lti_services import Counted, Deliveries, Services
from autograder.desk.doors.lti_settings import platforms
from autograder.desk.tables import ATTEMPT, CONTENT, DELIVERY, PERSON
from autograder.errors import CourseError


@pytest.fixture(scope="module")
def served():
    with lti_place.platform() as platform:
        yield platform


@pytest.fixture
def platform(served):
    served.trouble, served.lineitems, served.scores, served.asked = None, [], [], []
    served.users = {user.sub: user for user in USERS}
    return served


@pytest.fixture
def place(tmp_path, platform):
    return LtiPlace(tmp_path, platform)


# --- launches ---------------------------------------------------------------------------------------


def test_a_student_comes_from_the_course(place):
    who = place.enter("u-ada").get("/who").json()
    assert (who["door"], who["student"], who["role"], who["name"]) == ("lti", "ada", "student", "Ada Lovelace")
    assert json.loads(who["subject"]) == [place.platform.url, CLIENT, "u-ada"]


def test_an_instructor_comes_from_the_course(place):
    who = place.enter("u-teacher").get("/who").json()
    assert (who["student"], who["role"]) == ("", "instructor")


def test_the_same_name_is_not_the_same_person(place):
    answer = place.platform.launch(place.browser(), "u-nobody")  # who is called Ada Lovelace, too
    assert answer.status_code == 403 and "nobody on this course's roster has your account" in said(answer)


def test_the_launch_leads_where_it_was_to_lead(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, base="/desk/")
    platform.target = "https://desk.test/desk/assignments/02?x=1"
    assert platform.launch(place.browser(), "u-ada").headers["location"] == "/desk/assignments/02?x=1"


def test_the_desks_keys(place):
    keys = place.browser().get("/lti/keys").json()["keys"]
    assert [(key["kty"], key["alg"], key["use"]) for key in keys] == [("RSA", "RS256", "sig")]
    assert not {"d", "p", "q"} & keys[0].keys()
    assert LtiPlace.__mro__[1](place.record.engine.url.database.rpartition("/")[0])  # a second desk on this record
    again = place.browser().get("/lti/keys").json()["keys"]
    assert again == keys


def test_the_cookies_of_a_launch(place):
    browser = place.browser()
    fields = place.platform.answer(browser, "u-ada")
    (asked,) = [cookie for cookie in browser.cookies.jar if "-lti-" in cookie.name]
    assert asked.name.startswith("__Host-") and asked.secure and asked.path == "/"
    answer = place.platform.post(browser, fields)
    session = next(c for c in answer.headers.get_list("set-cookie") if "-lti-" not in c.split("=")[0])
    assert "HttpOnly" in session and "Secure" in session and "SameSite=lax" in session


def test_in_a_frame_the_session_is_the_frames(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, frames=(platform.url,))
    browser = place.browser(**{"sec-fetch-dest": "iframe"})
    answer = place.platform.launch(browser, "u-ada")
    session = next(c for c in answer.headers.get_list("set-cookie") if "-lti-" not in c.split("=")[0])
    assert "SameSite=none" in session and "Secure" in session and session.endswith("; Partitioned")
    assert place.sessions.frame_ancestors == f"frame-ancestors {platform.url}"


def test_platforms_that_rotate_their_keys(place):
    place.enter("u-ada")
    place.platform.kid = "key-2"
    try:
        place.door.keys._sets = {a: (t - 60.0, k) for a, (t, k) in place.door.keys._sets.items()}
        place.enter("u-ada")
    finally:
        place.platform.kid = "key-1"


def test_a_platform_that_is_down(place):
    browser = place.browser()
    fields = place.platform.answer(browser, "u-ada")
    place.platform.trouble = 500
    answer = place.platform.post(browser, fields)
    assert answer.status_code == 503 and "does not answer" in said(answer)


# --- who that is -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "student, changes, found",
    [
        ("sourcedid", {}, "ada"),
        ("sourcedid", {f"{CLAIM}/lis": {"person_sourcedid": "ada"}}, "ada"),  # the id in the course
        ("sourcedid", {f"{CLAIM}/lis": {"person_sourcedid": "$Person.sourcedId"}}, None),
        ("sourcedid", {f"{CLAIM}/lis": None}, None),  # the address alone says nothing
        ("email", {f"{CLAIM}/lis": None}, "ada"),
        ("email", {"email": "ADA@example.org"}, "ada"),
        ("email", {"email": ["ada@example.org"]}, None),
        ("custom:matriculation", {f"{CLAIM}/custom": {"matriculation": "1002"}}, "bela"),
        ("custom:matriculation", {f"{CLAIM}/custom": ["1002"]}, None),
        ("sub", {"sub": "1003"}, "carl"),
    ],
)
def test_what_names_the_student(tmp_path, platform, student, changes, found):
    place = LtiPlace(tmp_path, platform, changes={"student": student})
    browser = place.browser()
    asked = platform.begin(browser, "u-ada")
    token = platform.sign(platform.claims("u-ada", asked["nonce"], **changes))
    answer = platform.post(browser, {"state": asked["state"], "id_token": token})
    if found is None:
        assert answer.status_code == 403 and "roster" in said(answer)
    else:
        assert browser.get("/who").json()["student"] == found


def test_who_differs_from_what_was_noted_is_refused(place):
    place.enter("u-ada")
    place.platform.users["u-ada"] = User("u-ada", "Ada Lovelace", "1002", "ada@example.org")
    answer = place.platform.launch(place.browser(), "u-ada")
    assert answer.status_code == 403 and "noted as ada's" in said(answer)
    place.platform.users["u-other"] = User("u-other", "Ada Lovelace", "1001", "ada@example.org")
    answer = place.platform.launch(place.browser(), "u-other")
    assert answer.status_code == 403 and "Another account than yours was noted as ada's" in said(answer)
    assert place.people.forget("ada") == 1
    assert place.enter("u-other").get("/who").json()["student"] == "ada"


def test_who_is_on_no_roster_comes_in_where_everybody_may(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    assert re.fullmatch("4711~lti-[a-z2-7]{16}", place.enter("u-nobody").get("/who").json()["student"])


def test_a_role_is_that_of_the_last_launch(place):
    browser = place.enter("u-teacher")
    place.platform.users["u-teacher"] = User("u-teacher", "Emmy Noether", "1003", "carl@example.org", [LEARNER])
    place.enter("u-teacher")
    assert browser.get("/who").json()["role"] == "student"


def test_two_platforms_do_not_vouch_for_each_others_people(tmp_path, platform):
    other = platform.registration(issuer="https://other.example", client_id="other")
    place = LtiPlace(tmp_path, platform, others=[other])
    place.enter("u-ada")
    begins = json.dumps(["https://other.example", "other"])[:-1]
    visitor = place.people.noted("lti", json.dumps([platform.url, CLIENT, "u-ada"]))
    from dataclasses import replace

    elsewhere = replace(visitor, subject=json.dumps(["https://other.example", "other", "u-ada"]))
    assert place.people.admit(elsewhere, lambda subject: subject.startswith(begins)) == elsewhere


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"issuer": 5}, "lacks 'issuer'"),
        ({"clientid": "x"}, "did you mean 'client_id'"),
        ({"key_set_url": "ftp://x"}, "begins with https://"),
        ({"deployment_ids": "1"}, "a list of texts"),
        ({"student": "name"}, "not 'name'"),
    ],
)
def test_a_wrong_registration_is_one_sentence(platform, change, sentence):
    with pytest.raises(CourseError, match=sentence) as error:
        platforms([platform.registration(**change)])
    assert "c.Desk.lti" in str(error.value)


def test_no_list_of_platforms():
    with pytest.raises(CourseError, match="a list with a dict for each platform"):
        platforms({"issuer": "x"})


# --- who is in the course -----------------------------------------------------------------------------


def test_the_roster_by_the_platform(place):
    place.enter("u-teacher")
    with place.record.reading() as connection:
        person = connection.execute(sa.select(PERSON.c.id)).scalar_one()
    address = Services(place.record).of(person)["members"]
    found = lti_services.members(place.door.key, place.registered[0], address)
    assert [member.sub for member in found] == ["u-ada", "u-bela", "u-nobody", "u-teacher"]  # of two pages
    table = lti_services.as_table(place.registered[0], found)
    assert [table.value(row, "lms_user_id") for row in table] == ["1001", "1002", "4711"]  # the instructor is none
    assert [table.value(row, "last_name") for row in table] == ["Lovelace", "Bartók", "Lovelace"]


# --- points back ----------------------------------------------------------------------------------------


class Points:
    """The points that count, as the desk would know them."""

    def __init__(self, place):
        self.place = place
        self.given = {}
        self.deliveries = Deliveries(
            place.record,
            place.door.key,
            place.registered,
            lambda owner, assignment: self.given.get((owner, assignment)),
            lambda assignment: f"Title of {assignment}",
        )

    def give(self, points, assignment="02_queries_keys_values", is_all=True):
        """Ada's newest attempt has these points."""
        with self.place.record.writing() as connection:
            person = connection.execute(sa.select(PERSON.c.id).where(PERSON.c.student == "ada")).scalar_one()
            number = 1 + connection.execute(sa.select(sa.func.count()).select_from(ATTEMPT)).scalar_one()
            if number == 1:
                connection.execute(sa.insert(CONTENT).values(sha256="0" * 64, size=1, packed=b"x"))
            row = {**dict.fromkeys(ATTEMPT.c.keys()), "again": False}
            row |= {"id": f"{number:032}", "person": person, "owner": "student:ada", "assignment": assignment}
            row |= {"number": number, "arrived": 0.0, "sha256": "0" * 64, "round": 0, "seed": "0", "level": "names"}
            row |= {"state": "done", "tries": 1}
            if "withheld" in row:
                row["withheld"] = "[]"
            connection.execute(sa.insert(ATTEMPT).values(row))
        counted = Counted(SimpleNamespace(id=f"{number:032}"), points, 28.0, is_all)
        self.given[("student:ada", assignment)] = counted
        self.deliveries.note("ada", "student:ada", assignment)

    def rows(self):
        with self.place.record.reading() as connection:
            return connection.execute(sa.select(DELIVERY).order_by(DELIVERY.c.id)).all()


@pytest.fixture
def points(place):
    place.enter("u-ada")
    return Points(place)


def test_points_go_back_once(points, platform):
    points.give(17.5)
    assert points.deliveries.send() == 1
    (item,) = platform.lineitems
    assert (item["tag"], item["label"], item["scoreMaximum"]) == (
        "02_queries_keys_values",
        "Title of 02_queries_keys_values",
        28.0,
    )
    (id, score) = platform.scores[0]
    assert (id, score["userId"], score["scoreGiven"], score["scoreMaximum"]) == ("1", "u-ada", 17.5, 28.0)
    assert (score["activityProgress"], score["gradingProgress"]) == ("Submitted", "FullyGraded")
    points.give(17.5)  # another attempt, the same points
    assert points.deliveries.send() == 0 and len(platform.scores) == 1
    points.give(20.0)
    assert points.deliveries.send() == 1
    assert [score["scoreGiven"] for _, score in platform.scores] == [17.5, 20.0]
    assert len(platform.lineitems) == 1  # the column that is there is found again
    assert platform.scores[0][1]["timestamp"] < platform.scores[1][1]["timestamp"]


def test_what_waits_for_a_person_is_said(points, platform):
    points.give(10.0, is_all=False)
    points.deliveries.send()
    assert platform.scores[0][1]["gradingProgress"] == "PendingManual"


def test_points_that_may_not_be_told_stay_here(points, platform):
    points.deliveries.note("ada", "student:ada", "03_causal_attention")
    assert points.rows() == [] and points.deliveries.send() == 0


def test_points_are_withdrawn_from_who_is_excused_and_given_again(points, platform):
    """As the standard has it: a score without points clears the one that is there."""
    name = "02_queries_keys_values"
    points.deliveries.settle({name: {"ada": "ill"}})
    assert points.rows() == []  # nothing was sent that could be withdrawn
    points.give(17.5)
    points.give(3.0, "03_causal_attention")
    points.deliveries.settle({name: {"bob": "ill"}})
    assert points.deliveries.send() == 2 and len(points.rows()) == 2
    points.deliveries.settle({name: {"ada": "ill"}})
    points.deliveries.settle({name: {"ada": "ill"}})  # once
    assert points.deliveries.send() == 1 and len(points.rows()) == 3
    _, score = platform.scores[-1]
    assert not {"scoreGiven", "scoreMaximum"} & score.keys()
    assert (score["userId"], score["gradingProgress"]) == ("u-ada", "NotReady")
    points.deliveries.settle({name: {}})
    assert points.deliveries.send() == 1 and platform.scores[-1][1]["scoreGiven"] == 17.5
    points.deliveries.settle({name: {}})
    assert points.deliveries.send() == 0


def test_points_that_no_platform_has_taken_are_not_sent_to_who_is_excused(points, platform):
    platform.trouble = 503
    points.give(17.5)
    points.deliveries.send()
    points.deliveries.settle({"02_queries_keys_values": {"ada": "ill"}})
    platform.trouble = 0
    points.deliveries.send()
    assert [score.get("scoreGiven") for _, score in platform.scores] == [None]


def test_a_platform_in_trouble_gets_them_later_and_only_the_newest(points, platform):
    platform.trouble = 503
    points.give(1.0)
    assert points.deliveries.send() == 0
    (row,) = points.rows()
    assert row.done is None and row.tries == 1 and row.next > time.time() + 20 and "503" in row.problem
    (one,) = deliveries.undelivered(points.place.record)
    assert (one.student, one.assignment, one.points, one.problem) == ("ada", row.assignment, 1.0, row.problem)
    assert one.again and abs(one.again.timestamp() - row.next) < 1e-3 and deliveries.count(points.place.record) == 1
    assert points.deliveries.send() == 0  # not yet
    points.give(2.0)
    platform.trouble = None
    assert points.deliveries.send() == 1
    assert [score["scoreGiven"] for _, score in platform.scores] == [2.0]
    assert points.rows()[0].problem == "replaced by newer points"
    assert deliveries.undelivered(points.place.record) == [] and deliveries.count(points.place.record) == 0


def test_what_was_not_taken_is_sent_at_once_if_the_instructor_says_so(points, platform):
    platform.trouble, record = 503, points.place.record
    points.give(1.0)
    points.deliveries.send()
    with record.writing() as connection:
        given_up = {"tries": deliveries.TRIES, "done": time.time()}
        connection.execute(sa.update(DELIVERY).values(**given_up))
    (one,) = deliveries.undelivered(record)
    assert one.again is None, "given up, and still told"
    platform.trouble = None
    assert points.deliveries.send() == 0 and deliveries.send_now(record) == 1
    assert points.deliveries.send() == 1 and deliveries.undelivered(record) == []
    assert deliveries.send_now(record) == 0


def test_two_desks_send_a_delivery_once(points, platform):
    points.give(5.0)
    (row,) = points.rows()
    other = Deliveries(
        points.place.record, points.place.door.key, points.place.registered, lambda *_: None, lambda name: name
    )
    points.deliveries._put = lambda row: other.send()  # while one sends, the other looks
    assert points.deliveries.send() == 1 and platform.scores == []


def test_a_platform_that_takes_no_points_is_named(place, platform):
    browser = place.browser()
    asked = platform.begin(browser, "u-ada")
    claims = platform.claims("u-ada", asked["nonce"], **{AGS_CLAIM: {"scope": [], "lineitems": "javascript:x"}})
    assert platform.post(browser, {"state": asked["state"], "id_token": platform.sign(claims)}).status_code == 303
    points = Points(place)
    points.give(1.0)
    assert points.deliveries.send() == 0
    assert "allow Assignment and Grade Services" in points.rows()[0].problem


OF_A_LAUNCH = {  # the claims of the example in LTI Core 1.3, those of its services, and those of OpenID Connect
    *"iss aud sub iat exp nonce name email given_name family_name locale picture middle_name azp".split(),
    *(f"{CLAIM}/{name}" for name in "message_type version deployment_id target_link_uri resource_link".split()),
    *(f"{CLAIM}/{name}" for name in "roles context lis custom launch_presentation tool_platform".split()),
    "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint",
    "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice",
}


def test_the_platform_of_these_tests_is_as_the_standard_has_it(platform):
    claims = platform.claims("u-ada", "nonce")
    assert claims.keys() <= OF_A_LAUNCH
    assert INSTRUCTOR in platforms([platform.registration()])[0].instructors
    assert (
        jwt.decode(platform.sign(claims), platform.private.public_key(), ["RS256"], audience=CLIENT)["sub"] == "u-ada"
    )


def test_a_key_is_called_as_rfc_7638_says():
    """The example of RFC 7638, 3.1: with this name platforms have noted the desk's key."""
    n = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj"
        "hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQ"
        "vRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK"
        "nqDKgw"
    )
    key = {"kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"}
    assert lti_keys.thumbprint(key) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
