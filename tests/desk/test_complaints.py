"""Complaints about grades: said once, read beside code and verdict, answered, kept; points go into the gradebook."""

import json

import desk_class
import pytest
from bs4 import BeautifulSoup
from desk_class import built, client, desk, kit, place, record, text_of
from desks import AppClient, Believing, Guard
from small_course import NAME
from sqlalchemy.exc import IntegrityError

from autograder import course
from autograder.cli import main
from autograder.desk import bodies, command, complaints, waiting
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.settings import Settings
from autograder.nbgrader.runs import NbgraderCourse

WHY = "The text says the numbers, not their root.\n<script>alert(1)</script>"


@pytest.fixture
def attempt(desk, record, place, grader):
    """A graded attempt of Ada's, with a named mistake."""
    answers = desk_class.mistaken(place, NAME, "normalise", ".sqrt()", "")
    data = json.dumps(desk_class.notebook(place, NAME, answers)).encode()
    made = desk_class.hand_in(record, place, desk_class.visitor("ada"), NAME, data)
    desk_class.grade_all(record, grader)
    return record.attempt(made.id)


def complain(desk, attempt, exercise="normalise", says=WHY, who="ada", **fields):
    sent = {"exercise": exercise, "says": says, "token": "yes", **fields}
    return client(desk, who).post(f"/attempts/{attempt.id}/complaint", data=sent)


def reply(desk, says="You are right.", who="teacher", id=1, **fields):
    return client(desk, who).post(f"/complaints/{id}", data={"answer": says, "token": "yes", **fields})


def in_the_gradebook(place):
    """Ada's points for `normalise` by hand, in the gradebook's row of her submission, and whether they wait."""
    with NbgraderCourse(place).gradebook() as book:
        book.update_or_create_student("ada")
        book.update_or_create_submission(NAME, "ada")
        grades = book.find_submission_notebook(NAME, NAME, "ada").grades
        return next((g.manual_score, g.needs_manual_grade) for g in grades if g.name.startswith("normalise"))


def test_a_complaint_from_the_page_to_the_answer(desk, attempt, place):
    page = client(desk, "ada").get(f"/attempts/{attempt.id}")
    assert f"attempts/{attempt.id}/complaint" in page.text
    assert complain(desk, attempt).status_code == 303
    assert "1 waits for an answer" in text_of(client(desk, "teacher").get("/instructor"))
    assert "Ada" in text_of(client(desk, "teacher").get("/complaints"))
    seen = client(desk, "teacher").get("/complaints/1")
    assert "<script>alert" not in seen.text and "<script>alert(1)</script>" in text_of(seen)
    assert "def normalise" in seen.text and "Checks that fail:" in seen.text
    assert "The gradebook has no grade of this yet" in text_of(seen)
    assert 'c.Exercises.waived = {"normalise": ["test_' in text_of(seen)
    assert reply(desk).status_code == 303
    told = client(desk, "ada").get(f"/attempts/{attempt.id}/complaint")
    assert "You are right." in text_of(told)
    assert "Answers to your complaints" in text_of(client(desk, "ada").get("/"))
    assert "none waits" in text_of(client(desk, "teacher").get("/instructor"))


def test_points_that_are_set_with_an_answer_are_the_gradebooks(desk, attempt, place):
    complain(desk, attempt)
    assert "no grade of ada in normalise yet" in text_of(reply(desk, points="2"))
    assert complaints.count(desk.record) == 1  # nothing was answered
    assert in_the_gradebook(place) == (None, True)
    page = text_of(client(desk, "teacher").get("/complaints/1"))
    assert "in the gradebook, where it has 0 of 2 now" in page
    for wrong in ("3", "-1", "nan", "inf", "two", "1e400", "1_0", "٢", "0" * 40 + "1", "."):
        assert reply(desk, points=wrong).status_code == 422
    assert in_the_gradebook(place) == (None, True) and complaints.count(desk.record) == 1
    assert reply(desk, points="1,5").status_code == 303
    assert in_the_gradebook(place) == (1.5, False)
    assert "You have 1.5 points for normalise now." in text_of(
        client(desk, "ada").get(f"/attempts/{attempt.id}/complaint")
    )


def test_it_is_said_once_and_within_limits(desk, attempt):
    assert complain(desk, attempt, says="  \n ").status_code == 422
    assert "2,001 characters" in text_of(complain(desk, attempt, says="x" * 2001))
    assert complain(desk, attempt, says="x" * 10**6).status_code == 413
    assert complain(desk, attempt, exercise="softmax").status_code == 422
    assert complain(desk, attempt, says="x" * 2000).status_code == 303
    again = complain(desk, attempt)
    assert again.status_code == 422 and "before" in text_of(again)
    assert complaints.count(desk.record) == 1


def test_so_many_may_wait_at_a_time(desk, attempt, monkeypatch):
    monkeypatch.setattr(complaints, "OPEN", 1)
    assert complain(desk, attempt).status_code == 303
    assert "wait for an answer" in text_of(complain(desk, attempt, exercise="moving_average"))
    reply(desk)
    assert complain(desk, attempt, exercise="moving_average").status_code == 303


@pytest.mark.parametrize("who, status", [("bela", 404), ("teacher", 403), ("", 401)])
def test_nobody_else_complains(desk, attempt, who, status):
    assert complain(desk, attempt, who=who).status_code == status
    assert complaints.count(desk.record) == 0


@pytest.mark.parametrize("who, status", [("ada", 403), ("bela", 403), ("", 401)])
def test_no_student_reads_or_answers_them(desk, attempt, who, status):
    complain(desk, attempt)
    asked = client(desk, who)
    assert {asked.get(path).status_code for path in ("/complaints", "/complaints/1")} == {status}
    assert reply(desk, who=who).status_code == status
    assert complaints.count(desk.record) == 1


def test_another_site_can_send_neither(desk, attempt):
    assert complain(desk, attempt, token="no").status_code == 403
    complain(desk, attempt)
    assert reply(desk, token="").status_code == 403
    assert complaints.count(desk.record) == 1


def test_what_was_written_is_not_lost_with_a_refusal(desk, attempt):
    long = "why \u202e\r\nah\u00a0? " + "x" * 2001
    page = complain(desk, attempt, says=long).text
    assert "\nah\u00a0? " + "x" * 2001 in page and "\u202e" not in page
    assert page.count("\N{REPLACEMENT CHARACTER}") == 1, "a browser ends lines with two characters"
    complain(desk, attempt)
    page = reply(desk, says="Because.\u202e", points="9999").text
    assert "Because." in page and "\u202e" not in page


@pytest.mark.parametrize("id", ["2", "0", "9" * 20, "9" * 5000, "x", "-1", "+1", "²", "١"])
def test_one_that_is_not_there(desk, attempt, id):
    assert client(desk, "teacher").get(f"/complaints/{id}").status_code == 404
    assert reply(desk, id=id).status_code == 404


def test_what_was_not_told_is_nothing_to_complain_about(desk, record, place, grader):
    data = json.dumps(desk_class.notebook(place, NAME, {})).encode()
    made = desk_class.hand_in(record, place, desk_class.visitor("ada"), NAME, data, level="received")
    assert complain(desk, made).status_code == 422
    desk_class.grade_all(record, grader)
    assert complain(desk, made).status_code == 422
    page = client(desk, "ada").get(f"/attempts/{made.id}/complaint")
    assert "Nothing of this attempt has points" in text_of(page)


def test_the_database_keeps_it_to_one(desk, attempt):
    complaints.complain(desk.record, attempt, "normalise", WHY)
    with pytest.raises(IntegrityError), desk.record.writing() as connection:
        connection.execute(complaints.COMPLAINT.insert().values(
            attempt=attempt.id, owner="x", exercise="normalise", made=1.0, says="again"
        ))  # fmt: skip


def test_the_digest_counts_and_names_nobody(desk, attempt, place, capsys):
    assert waiting.lines(desk.record, "averages") == []
    assert main(["desk", "--digest"]) == 0 and capsys.readouterr().out == ""
    complain(desk, attempt)
    assert main(["desk", "--digest"]) == 0
    said = capsys.readouterr().out
    assert "Complaints without an answer: 1" in said and f"1 about normalise ({NAME})" in said
    assert "Ada" not in said and "ada" not in said.replace("autograder", "")


def test_the_digest_counts_those_that_no_page_has_room_for(desk, attempt, monkeypatch):
    monkeypatch.setattr(complaints, "SHOWN", 1)
    for exercise in ("normalise", "moving_average"):
        complain(desk, attempt, exercise)
    (_, said) = waiting.lines(desk.record, "averages")
    assert ": 2, the oldest" in said and said.endswith(f"1 about moving_average ({NAME}), 1 about normalise ({NAME}).")


@pytest.mark.parametrize(
    "kind, body, length, status",
    [
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="says"\r\n\r\nx', None, 415),
        ("text/plain", b"says=x", None, 415),
        (bodies.PLAIN, b"says=x", "9" * 5000, 413),
        (bodies.PLAIN, b"says=x", "²", 413),
        (bodies.PLAIN, b"says=%ff%00", None, 403),  # it is read, and lacks the token
    ],
)
def test_a_form_that_no_page_of_the_desk_sends(desk, attempt, kind, body, length, status):
    headers = {"content-type": kind, "content-length": (length or str(len(body))).encode("utf-8")}
    answer = client(desk, "ada").post(f"/attempts/{attempt.id}/complaint", content=body, headers=headers)
    assert answer.status_code == status and complaints.count(desk.record) == 0


def test_its_pages_are_charged_to_who_asks(desk, attempt):
    asked, charged = client(desk, "ada"), []
    asked.app.state.costs.charge = lambda allowance, who, seconds: charged.append(who)
    assert asked.get(f"/attempts/{attempt.id}/complaint").status_code == 200
    sent = {"exercise": "normalise", "says": WHY, "token": "yes"}
    assert asked.post(f"/attempts/{attempt.id}/complaint", data=sent).status_code == 303
    assert charged == ["student:ada"] * 2


@pytest.mark.parametrize("what", ["assignment", "exercise"])
def test_what_the_course_no_longer_has_can_be_answered(desk, attempt, place, what):
    """Else it would wait for ever, and count among those that one person may have."""
    complain(desk, attempt)
    if what == "assignment":
        (place / "source" / NAME).rename(place / "gone")
        course.forget()
        desk.book._known = None
    else:
        with desk.record.writing() as connection:
            connection.execute(complaints.COMPLAINT.update().values(exercise="renamed"))
    page = client(desk, "teacher").get("/complaints/1")
    assert page.status_code == 200 and "no longer has this exercise" in text_of(page)
    assert f"attempts/{attempt.id}" not in page.text and "points" not in page.text
    assert "no longer has" in text_of(reply(desk, points="1"))
    assert reply(desk).status_code == 303 and complaints.count(desk.record) == 0
    assert (attempt.id in client(desk, "ada").get("/").text) is (what == "exercise")


def test_of_two_answers_at_once_the_second_is_asked_whether_to_replace_the_first(desk, attempt, place):
    complain(desk, attempt)
    in_the_gradebook(place)
    assert reply(desk, says="Two.", points="2").status_code == 303
    second = reply(desk, says="None.", points="0")  # from a page that was made before
    assert second.status_code == 422 and "Somebody has answered this in the meantime: “Two.”" in text_of(second)
    assert "None." in second.text and in_the_gradebook(place) == (2.0, False)
    state = BeautifulSoup(second.text, "html.parser").select_one("input[name=state]")["value"]
    assert state and reply(desk, says="None.", points="0", state=state).status_code == 303
    assert in_the_gradebook(place) == (0.0, False) and complaints.find(desk.record, 1).answer == "None."
