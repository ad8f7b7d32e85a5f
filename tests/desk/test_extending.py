"""More time for a student or the class: at the desk, in what is collected, in penalties, before and after a hand-in."""

from datetime import UTC, datetime, timedelta

import desk_class
import pytest
from bs4 import BeautifulSoup
from desk_class import built, kit, place, record
from desks import AppClient, Believing, Guard
from nbgrader.api import Gradebook
from small_course import NAME
from test_desk_collecting import configure, handed_in, run

from autograder.batch import extending
from autograder.desk import command
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.settings import Settings
from autograder.errors import UsageError
from autograder.grading.store import Store

DUE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def gradebook(place):
    return Gradebook(f"sqlite:///{place / 'gradebook.db'}")


@pytest.fixture
def due(place):
    """The assignment is due on DUE, and Ada and Bob are in the class."""
    with gradebook(place) as book:
        book.find_assignment(NAME).duedate = DUE.replace(tzinfo=None)
        for student in ("ada", "bob"):
            book.update_or_create_student(student)
        book.db.commit()


@pytest.fixture
def desk(place, record):
    book = GradebookReader(place, f"sqlite:///{place / 'gradebook.db'}")
    yield Desk(place, record, book, lambda name: Settings(who="everybody"), doors=[Believing()], guard=Guard())
    book.close()


def client(desk, who):
    return AppClient(make_app(desk, command.pages_of_class()), {"who": who} if who else {})


def text_of(answer):
    return " ".join(BeautifulSoup(answer.text, "html.parser").get_text(" ").split())


def penalties(place):
    with gradebook(place) as book:
        return {one.student_id: one.late_submission_penalty for one in book.assignment_submissions(NAME)}


@pytest.mark.parametrize(
    "text, span",
    [
        ("2d", timedelta(days=2)),
        (" 36H ", timedelta(hours=36)),
        ("1d12h", timedelta(hours=36)),
        ("90m", timedelta(minutes=90)),
        ("none", None),
        ("0", None),
    ],
)
def test_a_time(text, span):
    assert extending.span_of(text) == span


@pytest.mark.parametrize("text", ["", "2", "d", "2 d", "-2d", "2d-", "0d", "367d", "9999d", "1.5d", "٢d", "x" * 10**5])
def test_no_time(text):
    with pytest.raises(UsageError, match="Write the time as 2d") as refused:
        extending.span_of(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("by_the_kit", [True, False], ids=["grade", "nbgrader autograde"])
def test_who_has_handed_in_nothing_yet_keeps_it(place, record, run, due, by_the_kit):
    """It counts for what is collected, for the penalty, and stands in the gradebook for Formgrader."""
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    code, said, _ = run("extend", "ada", "01", "1d")
    assert code == 0 and f"ada: {NAME} is due on 2026-11-21 12:00 UTC, 1 day after the class." in said
    with gradebook(place) as book:
        assert book.assignment_submissions(NAME) == []  # or exports would take it for a hand-in
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    for student in ("ada", "bob"):
        handed_in(record, place, student, right, timedelta(hours=1))
    assert "  late: bob" in run("collect", "01", "--desk")[1]
    if by_the_kit:
        assert run("grade", "01")[0] == 0
    else:
        from autograder.nbgrader.runs import NbgraderCourse

        for student in ("ada", "bob"):
            NbgraderCourse(place).autograde(NAME, student)
    found = penalties(place)
    assert found["ada"] == 0 and found["bob"] > 0
    with gradebook(place) as book:
        assert {s.student_id: s.extension for s in book.assignment_submissions(NAME)} == {"ada": DAY, "bob": None}
    assert run("extend")[1].splitlines()[-1] == f"{NAME}  ada: 1 day, until 2026-11-21 12:00 UTC"


def test_a_penalty_follows_what_is_given_later(place, record, run, due):
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    handed_in(record, place, "ada", desk_class.mistaken(place, NAME, "normalise", "", ""), timedelta(hours=1))
    assert run("collect", "01", "--desk")[0] == run("grade", "01")[0] == 0
    assert penalties(place)["ada"] > 0
    assert run("extend", "ada", "01", "2h")[0] == 0 and penalties(place)["ada"] == 0
    code, said, _ = run("extend", "ada", "01", "none")
    assert code == 0 and "due with the class, on 2026-11-20 12:00 UTC" in said and penalties(place)["ada"] > 0
    code, said, _ = run("extend", "--all", "01", "3h")
    assert code == 0 and f"{NAME} is due on 2026-11-20 15:00 UTC for the class." in said
    assert penalties(place)["ada"] == 0 and "Nobody has an extension." in run("extend")[1]


@pytest.mark.parametrize(
    "words, says",
    [
        (["adda", "01", "1d"], "did you mean 'ada'?"),
        (["zoe", "01", "1d"], "`autograder roster` lists the class"),
        (["ada", "99", "1d"], "There is no assignment '99'"),
        (["ada", "01", "soon"], "'soon' is no time"),
        (["ada", "01"], "Say who, what and how long"),
        (["--all", "01", "none"], "give the class a due date"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(place, run, due, words, says):
    code, _, warned = run("extend", *words)
    assert code != 0 and says in warned and "Traceback" not in warned
    assert Store(place).extensions(NAME) == {}


def test_without_a_due_date_nothing_is_extended(place, run):
    with gradebook(place) as book:
        book.update_or_create_student("ada")
    code, _, warned = run("extend", "ada", "01", "1d")
    assert code != 0 and "has no due date" in warned and "--duedate=" in warned


@pytest.mark.parametrize("content", ["[1]", '{"ada": "x", "bob": -5, "eve": 1e400, "bo": true}', "{", '{"ada": 1.5}'])
def test_what_the_kit_has_not_written_gives_nobody_time(place, content):
    path = place / ".autograder" / "extensions" / f"{NAME}.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert Store(place).extensions(NAME) == {}


def test_at_the_desk(desk, place, record, due):
    with gradebook(place) as book:
        book.find_assignment(NAME).duedate = (datetime.now(UTC) - timedelta(hours=1)).replace(tzinfo=None)
        book.db.commit()
    student, teacher = client(desk, "ada"), client(desk, "teacher")
    assert student.get("/api/me").json()["assignments"][0]["is_over"]
    page = teacher.get(f"/instructor/{NAME}/student?id=ada")
    form = BeautifulSoup(page.text, "html.parser").select_one("form[action$=extend]")
    sent = {field["name"]: field.get("value", "") for field in form.select("input")}
    assert sent == {"token": "yes", "student": "ada", "time": ""}
    wrong = teacher.post(form["action"], data={**sent, "time": "soon"})
    assert wrong.status_code == 422 and "is no time" in text_of(wrong)
    answer = teacher.post(form["action"], data={**sent, "time": "2d"})
    assert answer.status_code == 303
    assert "with an extension: the class's is" in text_of(teacher.get(answer.headers["location"]))
    mine = student.get("/api/me").json()["assignments"][0]
    assert mine["is_extended"] and not mine["is_over"]
    assert "with your extension" in text_of(student.get("/"))
    assert "with your extension" not in text_of(client(desk, "bob").get("/"))


@pytest.mark.parametrize(
    "who, token, student, status",
    [
        ("ada", "yes", "ada", 403),
        ("", "yes", "ada", 401),
        ("teacher", "no", "ada", 403),
        ("teacher", "", "ada", 403),
        ("teacher", "yes", "../ada", 404),
        ("teacher", "yes", "nobody", 404),
    ],
)
def test_who_gives_no_time(desk, place, due, who, token, student, status):
    answer = client(desk, who).post(
        f"/instructor/{NAME}/extend", data={"student": student, "time": "2d", "token": token}
    )
    assert answer.status_code == status and Store(place).extensions(NAME) == {}
