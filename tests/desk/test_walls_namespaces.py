"""Ids of two authorities that are spelt alike: at each door, in old records, at the class's end, and in what leaves."""

import contextlib
import json
from types import SimpleNamespace

import lti_place
import pytest
import sqlalchemy as sa
from doors import CLASS, Place, said
from lti_place import LtiPlace
from lti_platform import CLAIM, CLIENT, User
from test_opening import opened

from autograder.desk.doors import lti, lti_services, lti_settings
from autograder.desk.doors.hub import HubDoor, HubSettings
from autograder.desk.doors.lti_services import Member
from autograder.desk.doors.opening import Where
from autograder.desk.doors.people import People, is_newcomer, newcomer_id
from autograder.desk.record import Record, Rules, owner_of
from autograder.desk.tables import ATTEMPT
from autograder.desk.visitors import INSTRUCTOR, STUDENT, Refused, Visitor
from autograder.errors import CourseError
from autograder.intake.people import Roster, Student, clean
from autograder.submission import files

ELSEWHERE = "https://other.example"


@pytest.fixture(scope="module")
def platform():
    with lti_place.platform() as platform:
        yield platform


def hub_of(place, **settings):
    return HubDoor(place.sessions, place.people, HubSettings(**settings), SimpleNamespace())


def comes(place, door, subject, student, name="Somebody"):
    return place.people.admit(Visitor(door, subject, student, name, STUDENT))


def subject(platform, sub, issuer=None, client=CLIENT):
    return json.dumps([issuer or platform.url, client, sub])


# --- newcomers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["42", "Ada Lovelace", "ada@example.org", "../../etc", "", "~", "a~hub-x", "x" * 300, "\u2028", "Ünïcode"]
)
def test_a_newcomers_id_is_safe_and_only_its_subjects(value):
    made = {newcomer_id(door, subject, value) for door in ("hub", "lti") for subject in ("a", "b", "A", "a ", value)}
    assert len(made) == 2 * len({"a", "b", "A", "a ", value})
    for id in made:
        assert files.problem_of(id) == "" and is_newcomer(id) and id == id.casefold() and "~" not in clean(id)
        assert clean(id) != id, "no name becomes such an id"


@pytest.mark.parametrize("students", ["id", "email"])
def test_nobody_is_given_a_newcomers_id_that_the_gradebook_has(tmp_path, students):
    """`autograder grade` puts whoever handed in into the gradebook, so newcomers are on the roster then."""
    place = Place(tmp_path, everybody=True)
    victim = newcomer_id("lti", '["x", "y", "42"]', "42")
    place.students.append(Student(victim))
    door = hub_of(place, students=students)
    assert door._student(victim) != victim and place.people.student("id", victim) == ""
    assert hub_of(place, students={"carol": victim})._student("carol") == victim, "only the instructor may say so"


def test_a_newcomer_stays_the_same_when_what_they_are_called_changes(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-new"] = User("u-new", "New", "4711", "n@example.org")
    first = place.enter("u-new").get("/who").json()["student"]
    platform.users["u-new"] = User("u-new", "New", "4712", "n@example.org")
    assert place.enter("u-new").get("/who").json()["student"] == first


def test_the_instructor_merges_a_newcomer_by_the_roster_and_forget(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-new"] = User("u-new", "New", "4711", "n@example.org")
    who = place.enter("u-new").get("/who").json()["student"]
    place.students.append(Student("newton", "Isaac", "Newton", "", "4711"))
    place.people.refresh()
    answer = platform.launch(place.browser(), "u-new")
    assert answer.status_code == 403 and f"noted as {who}'s" in said(answer)
    assert place.people.forget(who) == 1
    assert place.enter("u-new").get("/who").json()["student"] == "newton"


# --- columns of the roster ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "student, value, found",
    [
        ("sub", "ada", None),  # the id in the course is not the platform's
        ("sub", "1001", "ada"),
        ("custom:n", "ada", None),
        ("custom:n", "1002", "bela"),
        ("sourcedid", "ada", "ada"),  # the institution's id may be the instructor's
        ("sourcedid", "ada@example.org", None),
        ("email", "ada", None),
        ("email", "1001", None),
    ],
)
def test_each_namespace_has_its_own_column(tmp_path, platform, student, value, found):
    place = LtiPlace(tmp_path, platform, changes={"student": student})
    registered = place.registered[0]
    claims = {
        "sub": value,
        "email": value,
        f"{CLAIM}/custom": {"n": value},
        f"{CLAIM}/lis": {"person_sourcedid": value},
    }
    assert (place.door._student(registered, claims, subject(platform, value)) or None) == found


def test_one_column_has_the_numbers_of_one_platform(tmp_path, platform):
    """Another platform's number 1001 is not the student of whom the roster has 1001."""
    other = platform.registration(issuer=ELSEWHERE, student="sub")
    for numbers, (first, second) in (({}, ("ada", "")), ({"numbers": True}, ("", "ada"))):
        (tmp_path / str(len(numbers))).mkdir()
        others = [{**other, **numbers}]
        place = LtiPlace(tmp_path / str(len(numbers)), platform, changes={"student": "sub"}, others=others)
        found = [place.door._student(one, {"sub": "1001"}, subject(platform, "1001")) for one in place.registered]
        assert found == [first, second]
        table = lti_services.as_table(
            place.registered[1],
            [Member("1001", "A", "B", "", "", True)],
            place.registered[1] in place.door.numbered,
        )
        assert [table.value(row, "lms_user_id") for row in table] == ["1001" if second else ""]


def test_a_platform_of_numbers_beside_one_of_the_institution(tmp_path, platform):
    others = [platform.registration(issuer=ELSEWHERE, student="sub", numbers=True)]
    place = LtiPlace(tmp_path, platform, others=others)
    claims = {f"{CLAIM}/lis": {"person_sourcedid": "1001"}, "sub": "x"}
    assert place.door._student(place.registered[0], claims, subject(platform, "x")) == ""
    claims = {f"{CLAIM}/lis": {"person_sourcedid": "ada"}, "sub": "x"}
    assert place.door._student(place.registered[0], claims, subject(platform, "x")) == "ada"


def test_two_cannot_both_have_the_numbers(platform):
    both = [platform.registration(student="sub", numbers=True, issuer=issuer) for issuer in ("https://a", "https://b")]
    with pytest.raises(CourseError, match="'numbers' can be True for one platform alone"):
        lti_settings.platforms(both)
    with pytest.raises(CourseError, match="'numbers' should be True or False"):
        lti_settings.platforms([platform.registration(numbers="yes")])


def test_which_platform_has_the_numbers_is_said(tmp_path, platform, caplog):
    place = Place(tmp_path)
    here = Where("https://desk.test", "/")
    opened(place, here, lti=[platform.registration(student="sub")])
    assert not caplog.records
    opened(place, here, lti=[platform.registration(student="sub"), platform.registration(issuer=ELSEWHERE)])
    assert '"numbers": True' in caplog.text and platform.url in caplog.text


# --- subjects and owners that are cut off or hashed ---------------------------------------------------


def test_long_subjects_and_those_that_read_like_their_hash_are_not_one(platform):
    registered = lti_settings.platforms([platform.registration()])[0]
    long = "x" * 250
    hashed = json.loads(lti.subject_of(registered, long))[2]
    assert lti.subject_of(registered, hashed) != lti.subject_of(registered, long)
    owners = {
        owner_of(Visitor("hub", name, "", "", INSTRUCTOR))
        for name in ("x" * 255, "x" * 254 + "y", "x" * 253, f"sha256:{'0' * 64}")
    }
    assert len(owners) == 4 and all(len(owner) <= 255 for owner in owners)


# --- who was dropped ------------------------------------------------------------------------------


def test_who_was_dropped_is_no_newcomer_at_any_door(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    place.people = place.door.people = People(place.record, lambda: Roster(CLASS, ["ada"]), everybody=True)
    platform.users["u-ada"] = User("u-ada", "Ada", "1001", "ada@example.org")
    assert place.enter("u-ada").get("/who").json()["student"] == "ada", "the desk knows who it is, and refuses them"
    assert "ada" not in place.people.everyone()
    strict = People(place.record, lambda: Roster(CLASS, ["ada"]))
    with pytest.raises(Refused, match="nobody on this course's roster"):
        strict.check(Visitor("hub", "ada", "ada", "Ada", STUDENT))


# --- records of earlier versions ----------------------------------------------------------------------


def of_before(place, *accounts):
    """Accounts as earlier versions noted them, each with an attempt: (door, subject, student)."""
    visitors = [Visitor(door, subject, student, "Somebody", STUDENT) for door, subject, student in accounts]
    return visitors, [place.record.hand_in(one, "02", None, one.subject.encode(), Rules("names")) for one in visitors]


def test_newcomers_who_were_one_are_several_again_with_their_own_attempts(tmp_path, platform):
    place = Place(tmp_path, everybody=True)
    mine, elsewhere = subject(platform, "42"), subject(platform, "42", ELSEWHERE)
    (first, *_), made = of_before(place, ("lti", mine, "42"), ("lti", elsewhere, "42"), ("hub", "42", "42"))
    with place.record.writing() as connection:
        told = json.dumps([{"exercise": "attention", "score": 1.0}])
        connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == made[1].id).values(told=told))
    assert [one.number for one in made] == [1, 2, 3], "they were one"
    assert place.people.separate() == ["42", "42"] and place.people.separate() == []
    owners = [place.record.attempt(one.id).owner for one in made]
    assert owners[0] == owner_of(first) == "student:42" and len(set(owners)) == 3
    assert place.record.best(owners[1]) == {"02": {"attention": 1.0}} and place.record.best(owners[0]) == {}
    assert place.people.noted("lti", elsewhere).student == owners[1].removeprefix("student:")
    assert hub_of(place)._student("42") == owners[2].removeprefix("student:")
    with place.record.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(ATTEMPT)).scalar() == 3


def test_a_newcomer_of_before_keeps_the_id_and_the_attempts(tmp_path, platform):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-new"] = User("u-new", "New", "4711", "n@example.org")
    of_before(place, ("lti", subject(platform, "u-new"), "4711"), ("hub", "mallory", "mallory"))
    place.people.separate()
    assert place.enter("u-new").get("/who").json()["student"] == "4711"
    assert hub_of(place)._student("mallory") == "mallory"
    assert is_newcomer(hub_of(place)._student("4711")), "and nobody else is given it"


@pytest.mark.parametrize("row", [Student("4711", "Real", "Person", "", "9"), Student("4711", "Real", "Person")])
def test_a_newcomer_of_before_is_not_the_student_whom_the_roster_has_now(tmp_path, platform, row):
    place = LtiPlace(tmp_path, platform, everybody=True)
    platform.users["u-new"] = User("u-new", "New", "0815", "n@example.org")
    of_before(place, ("lti", subject(platform, "u-new"), "0815"))
    place.students.append(Student("0815", row.first_name, row.last_name, "", row.lms_user_id or "9"))
    place.door._columns = lambda platform: ["number"]
    answer = platform.launch(place.browser(), "u-new")
    assert answer.status_code == 403 and "noted as 0815's" in said(answer), "until the instructor says who it is"


def test_what_the_gradebook_has_by_id_alone_is_for_the_instructor_to_say(tmp_path):
    place = Place(tmp_path, everybody=True)
    place.students.append(Student("zoe"))
    first, second = ("hub", "zoe", "zoe"), ("lti", '["https://x", "y", "zoe"]', "zoe")
    _, made = of_before(place, first, second)
    assert place.people.separate() == ["zoe"]
    assert place.people.noted(*second[:2]).student == "", "not deleted, not moved: refused until it is said"
    assert {place.record.attempt(one.id).owner for one in made} == {"student:zoe"}
    with pytest.raises(Refused, match="Another account than yours"):
        comes(place, *second)


def test_accounts_of_a_student_whom_the_roster_describes_stay_together(tmp_path, platform):
    place = Place(tmp_path, everybody=True)
    of_before(place, ("lti", subject(platform, "u-ada"), "ada"), ("hub", "ada", "ada"), ("links", "student:ada", "ada"))
    assert place.people.separate() == []
    assert comes(place, "hub", "ada", "ada").student == comes(place, "lti", subject(platform, "u-ada"), "ada").student


def test_the_migration_counts_what_was_best(tmp_path):
    url = f"sqlite:///{tmp_path}/desk.db"
    record = Record(url)
    ids = [
        record.hand_in(Visitor("me", "me", "me", "", STUDENT), "02", None, b"%d" % n, Rules("names")).id for n in (1, 2)
    ]
    with record.writing() as connection:
        for id, score in zip(ids, (3.0, 2.0), strict=True):
            told = json.dumps([{"exercise": "attention", "score": score}, {"exercise": "merge", "score": None}])
            connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(told=told, state="done"))
        for statement in (
            "ALTER TABLE desk_delivery DROP COLUMN withdrawn",
            "DROP TABLE desk_complaint",
            "DROP TABLE desk_best",
            "ALTER TABLE desk_attempt DROP COLUMN begun",
            "ALTER TABLE desk_attempt DROP COLUMN spent",
            "UPDATE desk_version SET version_num = '0002'",
        ):
            connection.exec_driver_sql(statement)
    record.close()
    again = Record(url)
    with contextlib.closing(again):
        assert again.best("student:me") == {"02": {"attention": 3.0}}
        assert again.counts("student:me") == {"02": (2, 0)} and again.claim("desk") is None


# --- what leaves ----------------------------------------------------------------------------------


def test_points_go_to_the_platform_of_each_newcomer(tmp_path, platform):
    place = Place(tmp_path, everybody=True)
    theirs = [subject(platform, "42"), subject(platform, "42", ELSEWHERE)]
    people = [comes(place, "lti", one, newcomer_id("lti", one, "42")) for one in theirs]
    for one in people:
        place.record.hand_in(one, "02", None, one.subject.encode(), Rules("names"))
    accounts = [{a.person for a in place.record.attempts(owner_of(one))} for one in people]
    assert not accounts[0] & accounts[1], "each owner is one account, so points find one"


def test_members_are_noted_row_by_row_and_not_by_a_number_of_another_namespace(platform):
    registered = lti_settings.platforms([platform.registration(student="custom:n")])[0]
    members = [
        Member("a", "Ada", "", "", "1001", True),
        Member("t", "T", "", "", "9", False),
        Member("x", "", "", "", "", True),
    ]
    assert [one.sub for one in lti_services.learners(members)] == ["a"]
    table = lti_services.as_table(registered, members)
    assert [table.value(row, "lms_user_id") for row in table] == [""], "1001 is the institution's, not the parameter"
