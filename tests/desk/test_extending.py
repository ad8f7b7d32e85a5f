"""More time for a student or the class: at the desk, in what is collected, in penalties, before and after a hand-in."""

import errno
from datetime import UTC, datetime, timedelta

import desk_class
import pytest
from bs4 import BeautifulSoup
from desk_class import built, client, desk, kit, place, record, text_of
from desks import AppClient, Believing, Guard
from nbgrader.api import Gradebook
from small_course import NAME
from test_desk_collecting import configure, handed_in, run

from autograder.batch import extending
from autograder.cli import main
from autograder.desk import command
from autograder.desk.app import make_app
from autograder.desk.desk import Desk
from autograder.desk.gradebook_reader import GradebookReader
from autograder.desk.settings import Settings
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.nbgrader.runs import NbgraderCourse

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


# who may send no form on a student's page: (who sends it, its token, its student, the answer)
WHO_MAY_NOT = [
    ("ada", "yes", "ada", 403),
    ("ada", "yes", "bob", 403),
    ("", "yes", "ada", 401),
    ("teacher", "no", "ada", 403),
    ("teacher", "", "ada", 403),
    ("teacher", "yes", "../ada", 404),
    ("teacher", "yes", "nobody", 404),
    ("teacher", "yes", "nobody\0", 404),
]


def grade_ada_and_bob(place, run, by_the_kit):
    """Collect what Ada and Bob handed in at the desk, of which Bob's is late, and grade it; returns their penalties."""
    assert "  late: bob\n" in run("collect", "01", "--desk")[1]
    if by_the_kit:
        assert run("grade", "01")[0] == 0
    else:
        for student in ("ada", "bob"):
            NbgraderCourse(place).autograde(NAME, student)
    return penalties(place)


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
    found = grade_ada_and_bob(place, run, by_the_kit)
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


@pytest.mark.parametrize("who, token, student, status", WHO_MAY_NOT)
def test_who_gives_no_time(desk, place, due, who, token, student, status):
    answer = client(desk, who).post(
        f"/instructor/{NAME}/extend", data={"student": student, "time": "2d", "token": token}
    )
    assert answer.status_code == status and Store(place).extensions(NAME) == {}


def test_a_download_calls_nobody_late_who_has_more_time(place, run, due):
    """The system that it is from knows of no extension; where it does not say when, its word stands."""
    with gradebook(place) as book:
        for student in ("cleo", "dora"):
            book.update_or_create_student(student)
    for student in ("ada", "bob", "dora"):
        assert run("extend", student, "01", "2h")[0] == 0
    downloaded = place / "downloaded"
    downloaded.mkdir()
    notebook = (place / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    for about in ("ada_2026-11-20 14:00:00", "bob_2026-11-20 14:00:01", "cleo_2026-11-20 13:00:00", "dora_"):
        (downloaded / f"LATE_{about}.ipynb").write_bytes(notebook)
    pattern = r"(?P<late>LATE_)?(?P<student_id>[a-z]+)_(?P<time>.*)\.ipynb"
    _, said, _ = run("collect", "01", str(downloaded), "--pattern", pattern, "--timezone", "UTC")
    assert "4 handed in" in said and "  late: bob, cleo, dora\n" in said


def test_a_gradebook_without_a_whole_path_is_found_from_any_folder_of_the_course(place, due, monkeypatch, capsys):
    configure(place, 'c.CourseDirectory.db_url = "sqlite:///gradebook.db"')
    monkeypatch.chdir(place / "source")
    assert main(["extend", "ada", "01", "1d"]) == 0
    assert f"ada: {NAME} is due on 2026-11-21 12:00 UTC" in capsys.readouterr().out
    assert not (place / "source" / "gradebook.db").exists()


@pytest.mark.parametrize(
    "url, found",
    [
        ("sqlite:///gradebook.db", "sqlite:///{}/gradebook.db"),
        ("sqlite:///marks/100%25 a.db", "sqlite:///{}/marks/100%25 a.db"),
        ("sqlite:////srv/gradebook.db", "sqlite:////srv/gradebook.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite:///file:marks.db?uri=true", "sqlite:///file:marks.db?uri=true"),
        ("postgresql+psycopg://alice:s%40crt@db.example.org/marks",) * 2,
        ("no address",) * 2,
    ],
)
def test_where_the_gradebook_is(place, url, found):
    configure(place, f"c.CourseDirectory.db_url = {url!r}")
    runs = NbgraderCourse(place)
    assert runs.directory.db_url == found.replace("{}", runs.root)


FAR = datetime(9999, 12, 31, 12, 0)  # "never", as some write it


def test_where_no_date_is_later_nothing_is_extended(desk, place, run, due):
    with gradebook(place) as book:
        book.find_assignment(NAME).duedate = FAR
        book.db.commit()
    for words in (["ada", "01", "2d"], ["--all", "01", "2d"]):
        code, _, warned = run("extend", *words)
        assert code != 0 and "9999-12-31 12:00 UTC: no date is 2 days later" in warned
    assert Store(place).extensions(NAME) == {}


def test_an_extension_from_before_such_a_date_closes_no_page(desk, place, run, due):
    assert run("extend", "ada", "01", "2d")[0] == 0
    with gradebook(place) as book:
        book.find_assignment(NAME).duedate = FAR
        book.db.commit()
    for who, page in (("ada", "/"), ("ada", "/api/me"), ("teacher", f"/instructor/{NAME}/student?id=ada")):
        assert client(desk, who).get(page).status_code == 200
    assert "ada: 2 days, until 9999-12-31" in run("extend")[1]


def test_an_id_turns_no_terminal(place, run, due):
    with gradebook(place) as book:
        book.update_or_create_student("a\x1b[31m\u202eb")
    for time in ("1d", "none"):
        code, said, _ = run("extend", "a\x1b[31m\u202eb", "01", time)
        assert code == 0 and "\x1b" not in said and "\u202e" not in said


def test_who_has_left_the_class_gets_no_time_and_is_not_listed(desk, place, run, due):
    assert run("extend", "ada", "01", "1d")[0] == run("extend", "bob", "01", "1d")[0] == 0
    Store(place).put_dropped(["ada"])
    code, _, warned = run("extend", "ada", "01", "2d")
    assert code != 0 and "ada was dropped" in warned
    assert Store(place).extensions(NAME)["ada"] == DAY
    sent = {"student": "ada", "time": "2d", "token": "yes"}
    assert client(desk, "teacher").post(f"/instructor/{NAME}/extend", data=sent).status_code == 404
    listed = run("extend")[1]
    assert "bob: 1 day" in listed and "ada" not in listed
    assert "1 student has an extension on top of that" in run("extend", "--all", "01", "1h")[1]
    assert run("extend", "ada", "01", "none")[0] == 0 and Store(place).extensions(NAME) == {"bob": DAY}


def test_a_submission_without_it_gets_the_one_that_is_kept(place, record, run, due):
    """As after a run that failed once it had made the submission."""
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    assert run("extend", "ada", "01", "1d")[0] == 0
    with gradebook(place) as book:
        for student, none in (("ada", None), ("bob", timedelta(0))):
            book.update_or_create_submission(NAME, student).extension = none
        book.db.commit()
    for student in ("ada", "bob"):
        handed_in(record, place, student, desk_class.mistaken(place, NAME, "normalise", "", ""), timedelta(hours=1))
    assert "  late: bob" in run("collect", "01", "--desk")[1]
    assert run("grade", "01")[0] == 0
    found = penalties(place)
    assert found["ada"] == 0 and found["bob"] > 0
    with gradebook(place) as book:
        assert book.find_submission(NAME, "ada").extension == DAY


@pytest.mark.parametrize("fails", ["the gradebook", "the store"])
def test_it_is_kept_in_both_places_or_in_none(place, run, due, monkeypatch, fails):
    with gradebook(place) as book:
        book.update_or_create_submission(NAME, "ada")
    assert run("extend", "ada", "01", "1h")[0] == 0

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    target = (extending, "update") if fails == "the gradebook" else (Store, "put_extensions")
    monkeypatch.setattr(*target, fail)
    assert run("extend", "ada", "01", "1d")[0] != 0
    monkeypatch.undo()
    assert Store(place).extensions(NAME) == {"ada": timedelta(hours=1)}
    with gradebook(place) as book:
        assert book.find_submission(NAME, "ada").extension == timedelta(hours=1)


def test_a_due_date_moves_with_its_penalties_or_not_at_all(place, run, due, monkeypatch):
    """Or the same command, given again, would move it twice."""

    def fail(*_):
        raise RuntimeError("The course's own plug-in has a mistake.")

    monkeypatch.setattr(extending.penalties, "settle", fail)
    assert run("extend", "--all", "01", "1h")[0] != 0
    with gradebook(place) as book:
        assert book.find_assignment(NAME).duedate == DUE.replace(tzinfo=None)
