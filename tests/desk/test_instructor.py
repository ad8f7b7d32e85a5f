"""The instructor's page: what waits, who is stuck, what each sentence did; names are given from there."""

import json
import pickle
import random
import re
from collections import Counter
from dataclasses import replace

import desk_class
import one_process
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from desk_class import built, kit, place, record
from desks import AppClient, Guard
from small_course import NAME

from autograder import course
from autograder.desk import command, deliveries, instructor, overview
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.overview import GONE, OPEN, STAYED
from autograder.desk.queue import Grading
from autograder.desk.record import DONE
from autograder.desk.settings import Settings
from autograder.desk.tables import ATTEMPT, DELIVERY
from autograder.desk.visitors import Visitor
from autograder.grading.grader import Grader
from autograder.grading.store import Store
from autograder.groups import names
from autograder.verdict import without_grade

OWN = "def normalise(x):\n    if x.dim() != 1:\n        raise ValueError\n    return x * {}"
SAYS = "You give the numbers back as they came: <b>take</b> their mean away first."


class Header:
    """A door that believes what a header says."""

    name = "test"

    def routes(self):
        return []

    async def visitor(self, request):
        who = request.headers.get("x-who")
        return who and Visitor(
            "test", who, "" if who == "teacher" else who, who, "instructor" if who == "teacher" else "student"
        )

    def entrance(self):
        return None


class Queue:
    """Grades examples in this process."""

    fault, named_again = "", 0

    def __init__(self, place, grader):
        self.grading, self.grader, self.woken = Grading(place, 1), grader, 0

    def engine(self):
        return one_process.Engine(one_process.Shared(self.grader.parent), None)

    def wake(self):
        self.woken += 1


@pytest.fixture
def desk(place, record, grader):
    book = GradebookReader(place, f"sqlite:///{place / 'gradebook.db'}")
    desk = Desk(place, record, book, lambda name: Settings(), doors=[Header()], guard=Guard())
    yield desk
    book.close()


@pytest.fixture
def teacher(desk):
    return AppClient(make_app(desk, command.pages_of_class()), headers={"x-who": "teacher"})


def hand_in(record, place, student, *answers, **how):
    """Hand in one notebook after another."""
    for one in answers:
        data = json.dumps(desk_class.notebook(place, NAME, one)).encode()
        desk_class.hand_in(record, place, desk_class.visitor(student), NAME, data, **how)


def no_root(place, comment=""):
    found = desk_class.mistaken(place, NAME, "normalise", ".sqrt()", "")
    return {"normalise": found["normalise"] + comment}


def right(place):
    return desk_class.mistaken(place, NAME, "normalise", "", "")


def looked(record, place, roster=()):
    return overview.of(record, place, course.find_assignment("01"), dict.fromkeys(roster, "Somebody"))


def fates(found):
    return {(one.exercise, one.id): dict(one.fates) for one in found.sentences}


def test_what_a_sentence_did(place, record, grader):
    """Gone, still there, or no further try; the same cell handed in again is no try."""
    hand_in(record, place, "ada", no_root(place), right(place))
    hand_in(record, place, "bob", no_root(place), no_root(place, "\n    # again"), right(place))
    hand_in(record, place, "cleo", no_root(place), {**no_root(place), "moving_average": "def moving_average(): pass"})
    hand_in(record, place, "dora", no_root(place), {"normalise": OWN.format(0)})
    desk_class.grade_all(record, grader)
    found = looked(record, place, ["ada", "emil"])
    assert fates(found)["normalise", "no-root"] == {GONE: 3, STAYED: 1, OPEN: 1}
    effort = {one.exercise: (one.begun, one.right, one.median, one.most) for one in found.efforts}
    assert effort["normalise"] == (4, 2, 2.5, 3)
    assert found.absent == ["emil"] and [row.student for row in found.rows] == ["ada", "bob", "cleo", "dora", "emil"]
    assert [square.tries for square in found.rows[1].squares][0] == 3
    assert [(one.id, one.who[0][0], len(one.who)) for one in found.common if one.exercise == "normalise"] == [
        ("no-root", "cleo", 1)
    ]


def test_what_was_not_told_did_nothing(place, record, grader):
    """At a level without names, no sentence is told, though the instructor sees the mistakes."""
    hand_in(record, place, "ada", no_root(place), right(place), level="points")
    desk_class.grade_all(record, grader)
    found = looked(record, place)
    assert found.sentences == [] and [square.tries for square in found.rows[0].squares][0] == 2


def test_who_is_stuck(place, record, grader):
    for number in range(3):
        assert looked(record, place).stuck == []
        hand_in(record, place, "ada", no_root(place, f"\n    # {number}"))
        desk_class.grade_all(record, grader)
    (one,) = looked(record, place).stuck
    assert (one.student, one.exercise, one.mistake.id, one.tries) == ("ada", "normalise", "no-root", 3)
    hand_in(record, place, "ada", right(place))
    desk_class.grade_all(record, grader)
    assert looked(record, place).stuck == []


@pytest.mark.parametrize("then", ["wrong", "as released", "gone", "broken"])
def test_who_had_it_right_and_has_it_no_longer_does_not_have_it_right(place, record, grader, then):
    answers = {
        "wrong": no_root(place),
        "as released": {},
        "gone": {"normalise": "# later"},
        "broken": {"normalise": "def normalise(x:\n    return x"},
    }
    hand_in(record, place, "ada", right(place), answers[then])
    hand_in(record, place, "bob", right(place))
    desk_class.grade_all(record, grader)
    found = looked(record, place)
    assert next((one.right, one.begun, one.median) for one in found.efforts if one.exercise == "normalise") == (1, 2, 1)
    squares = {row.student: row.squares[0].answer for row in found.rows}
    assert not squares["ada"].is_right and squares["bob"].is_right, "the table says the same"


def test_who_is_stuck_hands_in_the_same_wrong_answer_three_times(place, record, grader):
    """Nothing of the code has changed; a right answer is no trouble, and who works on another one is not stuck."""
    other = {"moving_average": "def moving_average(): pass"}
    hand_in(record, place, "ada", *[no_root(place)] * 2)
    hand_in(record, place, "bob", *[right(place)] * 4)
    hand_in(record, place, "cleo", *[{**no_root(place), "moving_average": f"# {n}"} for n in range(4)])
    desk_class.grade_all(record, grader)
    assert looked(record, place).stuck == []
    hand_in(record, place, "ada", no_root(place))
    hand_in(record, place, "dora", *[{"normalise": OWN.format(2), **other}] * 3)
    desk_class.grade_all(record, grader)
    found = {(one.student, one.exercise): one for one in looked(record, place).stuck}
    assert {key for key in found if key[0] not in ("cleo", "dora")} == {("ada", "normalise")}
    assert (found["ada", "normalise"].times, found["ada", "normalise"].mistake.id) == (3, "no-root")
    assert found["dora", "normalise"].is_same and found["dora", "normalise"].mistake is None, "without a name"
    assert ("dora", "moving_average") in found and ("cleo", "normalise") not in found
    hand_in(record, place, "ada", {**no_root(place), **other})
    desk_class.grade_all(record, grader)
    assert looked(record, place).stuck[0].times == 3, "who goes on with another exercise has not handed in the same"


def test_what_ends_grading_is_a_mistake_like_any_other(place, record, grader):
    """It has a row of its own, and the sentence about it is counted, gone or still there; who repeats it is stuck."""
    broken = {"normalise": "def normalise(x:\n    return x"}
    hand_in(record, place, "ada", broken, right(place))
    hand_in(record, place, "bob", *[{"normalise": f"def normalise(x:\n    return {n}"} for n in range(3)])
    desk_class.grade_all(record, grader)
    found = looked(record, place)
    (row,) = [one for one in found.common if one.exercise == "normalise"]
    assert row.message == "It could not run." and [has.student for has in row.who] == ["bob"] and row.is_trouble
    assert "SyntaxError" in row.who[0].why
    assert fates(found)["normalise", row.id] == {GONE: 1, STAYED: 2, OPEN: 1}
    assert [(one.student, one.tries, one.mistake.message) for one in found.stuck if one.exercise == "normalise"] == [
        ("bob", 3, "It could not run.")
    ]


def test_what_ended_all_of_a_notebook_is_one_row(place, record, grader):
    hand_in(record, place, "ada", right(place))
    desk_class.grade_all(record, grader)
    (attempt,) = record.attempts()
    verdict = record.verdict(attempt.id)
    for status, exercises, place_of in (
        ("timeout", verdict.exercises, {""}),
        ("killed", verdict.exercises[:1], {"normalise"}),
    ):
        stopped = [without_grade(one.exercise, one.max_score, status, "It took 300 s.") for one in exercises]
        rest = [one for one in verdict.exercises if one.exercise not in {each.exercise for each in stopped}]
        with record.writing() as connection:
            text = replace(verdict, exercises=[*stopped, *rest]).to_json()
            connection.execute(sa.update(ATTEMPT).values(verdict=text))
        rows = [one for one in looked(record, place).common if one.is_trouble]
        assert {one.exercise for one in rows} == place_of and [has.student for has in rows[0].who] == ["ada"]
        assert rows[0].who[0].why == "It took 300 s."


def test_ids_that_are_no_names_are_shown_to_nobody(place, record, grader, teacher):
    """Neither those of what ended grading, nor of facts and places, nor of what is blamed on another exercise."""
    hand_in(record, place, "ada", {"normalise": "def normalise(x:\n    return x"}, no_root(place))
    desk_class.grade_all(record, grader)
    page = BeautifulSoup(teacher.get(f"/instructor/{NAME}").text, "html.parser").text
    assert "no-root" in page and "It could not run." in page and overview.TROUBLE not in page
    shown = {id: overview.is_bank_name(id) for id in ("no-root", "normalise-3f9a2c", "fact-times", "place-line")}
    assert shown == {"no-root": True, "normalise-3f9a2c": True, "fact-times": False, "place-line": False}
    assert not overview.is_bank_name("stands-on-attention")


def test_what_waits_and_what_instructors_try(place, record, grader):
    data = json.dumps(desk_class.notebook(place, NAME, {})).encode()
    desk_class.hand_in(record, place, desk_class.visitor("", subject="t", role="instructor"), NAME, data)
    hand_in(record, place, "ada", {})
    found = looked(record, place)
    assert found.waiting == 1 and found.oldest and [row.student for row in found.rows] == ["ada"]
    desk_class.grade_all(record, grader)
    found = looked(record, place)
    assert (found.waiting, found.oldest) == (0, None)
    assert overview.begun(record) == {NAME: overview.Begun(attempts=1, students=1, waiting=0)}


def test_a_second_look_reads_no_verdict_again(place, record, grader, monkeypatch):
    hand_in(record, place, "ada", no_root(place), right(place))
    desk_class.grade_all(record, grader)
    essences, about = overview.Essences(), course.find_assignment("01")
    first = overview.of(record, place, about, {}, essences)
    read, there = [], overview.verdicts
    monkeypatch.setattr(overview, "verdicts", lambda record, ids: read.extend(ids) or there(record, ids))
    again = overview.of(record, place, about, {}, essences)
    assert again.rows == first.rows and fates(again) == fates(first) and not read
    hand_in(record, place, "bob", no_root(place))
    assert overview.of(record, place, about, {}, essences).waiting == 1 and not read
    desk_class.grade_all(record, grader)
    third = overview.of(record, place, about, {}, essences)
    assert len(read) == 1 and third.waiting == 0, "of two students, one has something new"
    whole = overview.of(record, place, about, {})
    assert (third.rows, fates(third), third.common) == (whole.rows, fates(whole), whole.common)


def all_of(found):
    """What an Overview shows, to be compared."""
    shown = (found.rows, fates(found), found.common, found.stuck, found.efforts, found.absent, found.waiting)
    groups = [(group.id, group.students) for group in found.groups.all()]
    return shown, {student: one.id for student, one in found.newest.items()}, groups


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_kept_comes_to_what_a_fresh_look_sees_in_whatever_order_attempts_end(
    place, record, grader, monkeypatch, seed
):
    """Also where a later one ends first, and where one is graded once more."""
    monkeypatch.setattr(overview, "OVERLAP", 0.001)
    monkeypatch.setattr(overview, "AT_ONCE", 3)
    chance = random.Random(seed)
    answers = [no_root(place), right(place), {"normalise": OWN.format(1)}, {}]
    for one in answers:
        hand_in(record, place, "dora", one)
    desk_class.grade_all(record, grader)
    verdicts = [(record.verdict(one.id).to_json(), one.told) for one in record.attempts()]
    essences, about, waiting = overview.Essences(), course.find_assignment("01"), []
    for step in range(40):
        number = chance.randrange(4)
        if step < 30 and chance.random() < 0.5:
            hand_in(record, place, chance.choice(("ada", "bob")), {**answers[number], "moving_average": f"# {step}"})
            waiting.append((record.attempts()[-1].id, number))
        elif waiting:
            id, number = waiting.pop(chance.randrange(len(waiting)))
            verdict, told = verdicts[number]
            with record.writing() as connection:
                done = {"state": DONE, "verdict": verdict, "told": json.dumps(told), "ended": record.now(connection)}
                connection.execute(sa.update(ATTEMPT).where(ATTEMPT.c.id == id).values(**done))
            if chance.random() < 0.2:
                waiting.append((id, chance.randrange(4)))  # it will be graded once more
        if chance.random() < 0.7:
            kept = all_of(overview.of(record, place, about, {}, essences))
            assert kept == all_of(overview.of(record, place, about, {}))


def test_what_is_kept_of_a_student_does_not_grow_with_attempts(place, record, grader, monkeypatch):
    monkeypatch.setattr(overview, "OVERLAP", 0.001)
    essences, about, sizes = overview.Essences(), course.find_assignment("01"), []
    for _ in range(4):
        hand_in(record, place, "ada", *[no_root(place, f"\n    # {len(sizes)} {n}") for n in range(3)])
        desk_class.grade_all(record, grader)
        overview.of(record, place, about, {}, essences)
        (seen,) = essences.seen[record].values()
        sizes.append(len(pickle.dumps((seen.students, seen.recent))))
    assert seen.students["ada"].attempts == 12 and max(sizes) - sizes[1] < 100


def test_a_look_sees_who_became_whose_and_what_was_graded_once_more(place, record, grader):
    essences, about = overview.Essences(), course.find_assignment("01")
    data = json.dumps(desk_class.notebook(place, NAME, no_root(place))).encode()
    desk_class.hand_in(record, place, desk_class.visitor("", subject="x"), NAME, data)
    desk_class.grade_all(record, grader)
    assert [row.student for row in overview.of(record, place, about, {}, essences).rows] == ["links:x"]
    record.person(desk_class.visitor("ada", subject="x"))
    with record.writing() as connection:
        connection.execute(sa.update(ATTEMPT).values(again=True))
    assert [row.student for row in overview.of(record, place, about, {}, essences).rows] == ["ada"]
    attempt = record.claim_again("w")
    good = replace(record.verdict(attempt.id).exercises[0], score=7.0)
    graded = record.graded(attempt.id)
    verdict = replace(graded.verdict, exercises=[good, *graded.verdict.exercises[1:]])
    assert record.finish(attempt.id, "w", replace(graded, verdict=verdict), [])
    (row,) = overview.of(record, place, about, {}, essences).rows
    assert row.squares[0].answer.score == 7.0 and row.attempts == 1


def test_a_look_is_not_upset_by_who_comes_in_the_middle_of_it(place, record, monkeypatch):
    there = overview._people

    def people(record):
        found = there(record)
        hand_in(record, place, "late", {})
        return found

    monkeypatch.setattr(overview, "_people", people)
    hand_in(record, place, "ada", {})
    for known in (["ada"], ["ada", "late"]):
        essences, about = overview.Essences(), course.find_assignment("01")
        assert [row.student for row in overview.of(record, place, about, {}, essences).rows] == known


# --- the pages ------------------------------------------------------------------------------------


def test_only_instructors_see_it(desk, place, record):
    app = make_app(desk, instructor.routes())
    for who, status in (({}, 401), ({"x-who": "ada"}, 403)):
        client = AppClient(app, headers=who)
        for path in ("/instructor", f"/instructor/{NAME}"):
            assert client.get(path).status_code == status
        sent = {"group": "normalise-000000", "sentence": "x", "token": "yes"}
        assert client.post(f"/instructor/{NAME}/names", data=sent).status_code == status


def test_the_page_shows_the_class(desk, place, record, grader, teacher):
    hand_in(record, place, "ada", no_root(place), right(place))
    hand_in(record, place, "bob", no_root(place))
    hand_in(record, place, "<script>alert(1)</script>", {})
    desk_class.grade_all(record, grader)
    assert f'href="/instructor/{NAME}"' in teacher.get("/instructor").text
    answer = teacher.get(f"/instructor/{NAME}")
    page = BeautifulSoup(answer.text, "html.parser")
    assert answer.status_code == 200 and not page.find_all("script", string=re.compile("alert"))
    (row,) = [r for r in page.select("#live-sentences tbody tr") if "no-root" in r.text]
    assert [cell.text for cell in row.find_all("td")] == ["2", "1", "0", "1", "0"]
    assert "It divides by the variance" in row.th.text
    (mistakes,) = [li for li in page.select("#live-common ol > li") if "variance" in li.text]
    assert mistakes.strong.text == "1 student" and "Bob" in mistakes.details.text
    assert page.select_one(".picture tbody tr td span.full") and len(page.select(".picture tbody tr")) == 3
    assert teacher.get("/instructor/99_none").status_code == 404


def test_a_group_is_named_and_the_students_page_has_the_sentence(desk, place, record, grader, teacher):
    hand_in(record, place, "ada", {"normalise": OWN.format(1)})
    hand_in(record, place, "bob", {"normalise": OWN.format("1.0")})
    hand_in(record, place, "cleo", {"normalise": OWN.format(3)})
    desk_class.grade_all(record, grader)
    desk.queue = Queue(place, Grader(one_process.Shared(grader.parent)))
    page = BeautifulSoup(teacher.get(f"/instructor/{NAME}").text, "html.parser")
    forms = page.select("article form")
    sizes = Counter(re.search(r": (\d) student", article.h3.text)[1] for article in page.select("article"))
    assert sizes == {"2": 1, "1": 1} and forms[0].find("input", {"name": "token"})["value"] == "yes"
    group = forms[0].find("input", {"name": "group"})["value"]
    sent = {"group": group, "sentence": SAYS}
    assert teacher.post(forms[0]["action"], data=sent).status_code == 403 and not names.read(place)
    answer = teacher.post(forms[0]["action"], data={**sent, "token": "yes"})
    assert answer.status_code == 303 and [one.id for one in names.read(place)] == [group]
    named = teacher.get(answer.headers["location"].partition("#")[0])
    assert f"{group} has a name now" in BeautifulSoup(named.text, "html.parser").select_one("#named").text.replace(
        "\n", " "
    )
    told = {}
    for attempt in record.attempts():
        verdict = Store(place).names.told(record.verdict(attempt.id))
        told[attempt.student] = [d.message for d in verdict.exercise("normalise").diagnosis]
    assert SAYS in told["ada"] and SAYS in told["bob"] and SAYS not in told["cleo"]
    client = AppClient(make_app(desk), headers={"x-who": "ada"})
    answers = client.get(f"/api/attempts/{record.attempts('student:ada')[0].id}").json()
    assert [one["message"] for one in answers["exercises"][0]["names"]] == [SAYS]
    assert desk.queue.woken == 1


def test_a_form_that_is_too_large_is_not_read(teacher):
    answer = teacher.post(f"/instructor/{NAME}/names", data={"token": "yes", "sentence": "x" * 70_000})
    assert answer.status_code == 413 and "too long" in answer.text


@pytest.mark.parametrize(
    "group, sentence, status, said",
    [
        ("normalise-000000", "x", 422, "There is no group normalise-000000 without a name"),
        ("../etc-000000", "x", 422, "is not a group of this course"),
        ("normalise-000000", " ", 422, "The sentence is empty"),
        ("normalise-000000", "x" * 601, 422, "has 601 characters"),
        ("<script>", "x", 422, "is not a group of this course"),
    ],
)
def test_what_cannot_be_named_is_one_sentence(desk, place, grader, teacher, group, sentence, status, said):
    desk.queue = Queue(place, grader)
    sent = {"group": group, "sentence": sentence, "token": "yes"}
    answer = teacher.post(f"/instructor/{NAME}/names", data=sent)
    page = BeautifulSoup(answer.text, "html.parser")
    assert answer.status_code == status and said in page.select_one("[role=alert]").text
    assert not page.find_all("script", src=None) and not names.read(place)


def test_points_that_were_not_taken_are_shown_to_instructors_alone_and_sent_by_their_form(desk, place, record):
    hand_in(record, place, "ada", {})
    (attempt,) = record.attempts()
    with record.writing() as connection:
        row = {"person": attempt.person, "attempt": attempt.id, "assignment": NAME, "points": 1.5, "max_points": 9.0}
        connection.execute(sa.insert(DELIVERY).values(**row, is_all=True, tries=3, next=2e9, problem="503 <b>no</b>"))
    app = make_app(desk, [*instructor.routes(), *deliveries.routes()])
    ada = AppClient(app, headers={"x-who": "ada"})
    post = {"token": "yes"}
    assert ada.get("/deliveries").status_code == 403 and ada.post("/deliveries", data=post).status_code == 403
    with AppClient(app, headers={"x-who": "teacher"}) as teacher:
        assert "1 result" in teacher.get("/instructor").text and 'href="/deliveries"' in teacher.get("/instructor").text
        page = teacher.get("/deliveries").text
        assert "1.5 of 9" in page and "503 &lt;b&gt;no&lt;/b&gt;" in page and "18 May 2033" in page
        assert teacher.post("/deliveries", data={"token": ""}).status_code == 403, "another site has no token"
        assert deliveries.undelivered(record)[0].again.year == 2033
        answer = teacher.post("/deliveries", data=post)
        assert answer.status_code == 303 and "are being sent" in teacher.get(answer.headers["location"]).text
        assert deliveries.undelivered(record)[0].again.year < 2033
