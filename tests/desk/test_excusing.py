"""An assignment that does not count for a student: in penalties, averages, exports and reports, and at the desk."""

import csv
import io
import json
from datetime import timedelta
from types import SimpleNamespace

import desk_class
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from desk_class import built, client, desk, kit, place, record, text_of
from nbgrader.plugins import CsvExportPlugin
from small_course import NAME
from test_desk_collecting import configure, handed_in, run
from test_extending import WHO_MAY_NOT, due, gradebook, penalties

from autograder.batch import excusing
from autograder.desk.doors import delivering
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.nbgrader.runs import NbgraderCourse

HOSTILE = "ill\0\u202e\x1b[31m<b>"


@pytest.fixture
def late(place, record, run, due):
    """Ada and Bob have handed in late, where late is worth nothing."""
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    for student in ("ada", "bob"):
        handed_in(record, place, student, right, timedelta(hours=1))
    assert run("collect", "01", "--desk")[0] == 0


@pytest.mark.parametrize("text", ["x" * 201, "x" * 10**6])
def test_a_reason_has_an_end(text):
    with pytest.raises(UsageError, match="at most 200") as refused:
        excusing.reason_of(text)
    assert len(str(refused.value)) < 200


def test_a_reason_deceives_no_reader():
    assert excusing.reason_of("  ill \n since\tMonday ") == "ill since Monday"
    assert excusing.reason_of(HOSTILE).isprintable()


def test_a_penalty_goes_and_comes_back(place, run, late):
    assert run("grade", "01")[0] == 0 and penalties(place)["ada"] > 0
    code, said, _ = run("excuse", "ada", "01", "ill")
    assert code == 0 and f"ada is excused from {NAME}: ill." in said
    assert penalties(place)["ada"] == 0 and penalties(place)["bob"] > 0
    assert run("grade", "01")[0] == 0 and penalties(place)["ada"] == 0
    assert run("excuse")[1].splitlines()[-1] == f"{NAME}  ada: ill"
    code, said, _ = run("excuse", "--undo", "ada", "01")
    assert code == 0 and f"ada: {NAME} counts." in said and penalties(place)["ada"] > 0
    assert "Nobody is excused." in run("excuse")[1]


@pytest.mark.parametrize("by_the_kit", [True, False], ids=["grade", "nbgrader autograde"])
def test_who_is_excused_before_grading_has_no_penalty(place, run, late, by_the_kit):
    assert run("excuse", "ada", "01")[0] == 0
    if by_the_kit:
        assert run("grade", "01")[0] == 0
    else:
        for student in ("ada", "bob"):
            NbgraderCourse(place).autograde(NAME, student)
    assert penalties(place)["ada"] == 0 and penalties(place)["bob"] > 0


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def test_what_platforms_and_reports_have(place, run, late):
    with gradebook(place) as book:
        for student, number in (("ada", "7"), ("bob", "8"), ("cleo", "9"), ("dora", "10")):
            book.update_or_create_student(student, lms_user_id=number, email=f"{student}@example.org")
    for student in ("ada", "cleo"):
        assert run("excuse", student, "01", "ill")[0] == 0
    said = run("grade", "01")[1]
    assert any(line.startswith("ada ") and line.endswith(", excused") for line in said.splitlines())
    said = run("report", "01")[1]
    assert "1 student in the gradebook" in said and "1 is excused, and left out." in said
    report = BeautifulSoup((place / "reports" / f"{NAME}.html").read_text(), "html.parser").get_text(" ")
    words = " ".join(report.split())
    assert "Left out here and below: 2 excused ( ada , cleo )." in words and "handed in, of 2 1" in words
    page = (place / "feedback" / "ada" / NAME / f"{NAME}.html").read_text()
    assert "You are excused from this assignment: it does not count." in page and "deducted" not in page
    assert "excused" not in (place / "feedback" / "bob" / NAME / f"{NAME}.html").read_text()

    before = place / "exports" / NAME / "gradescope" / "ada" / "results.json"
    before.parent.mkdir(parents=True)
    before.write_text("{}")  # as an export from before has left it
    code, _, warned = run("export", "01", "canvas", "moodle", "csv", "gradescope", "--zeros")
    assert code == 0 and "excused, so EX for Canvas and no points elsewhere: ada, cleo" in warned
    assert "without a hand-in, and with 0: dora\n" in warned
    exports = place / "exports" / NAME
    canvas = {row["ID"]: row[NAME] for row in rows_of(exports / "canvas_grades.csv")}
    assert canvas["7"] == canvas["9"] == "EX" and float(canvas["8"]) == 0 and float(canvas["10"]) == 0
    own = {row["student_id"]: row for row in rows_of(exports / "grades.csv")}
    blank = ("raw_score", "late_submission_penalty", "score", "max_score")
    assert {own[who][column] for who in ("ada", "cleo") for column in blank} == {""}
    assert own["dora"]["score"] == "0.0" and own["bob"]["max_score"]
    assert [path.parent.name for path in (exports / "gradescope").glob("*/results.json")] == ["bob"]
    assert "without a hand-in: dora\n" in run("collect", "01", "--desk")[1]


def test_canvas_own_table_has_ex_for_who_is_excused(place, run, late, tmp_path):
    with gradebook(place) as book:
        for student, number in (("ada", "7"), ("bob", "8"), ("cleo", "9")):
            book.update_or_create_student(student, lms_user_id=number)
    assert run("excuse", "cleo", "01")[0] == run("grade", "01")[0] == 0
    with gradebook(place) as book:
        most = book.find_assignment(NAME).max_score
    table = tmp_path / "canvas.csv"
    head = f"Student,ID,SIS User ID,SIS Login ID,Section,{NAME} (5)\n    Points Possible,,,,,{most}\n"
    table.write_text(head + "Ada,7,,,A,\nBob,8,,,A,\nCleo,9,,,A,3\n")
    assert run("export", "01", "canvas", "--fill", str(table))[0] == 0
    filled = {row["ID"]: row[f"{NAME} (5)"] for row in rows_of(place / "exports" / NAME / "canvas_grades.csv")}
    assert filled["9"] == "EX" and filled["8"] == "0.0"


def test_moodle_leaves_a_grade_alone(place, run, late, tmp_path):
    with gradebook(place) as book:
        for student in ("ada", "bob"):
            book.update_or_create_student(student, email=f"{student}@example.org")
        most = book.find_assignment(NAME).max_score
    assert run("excuse", "ada", "01")[0] == run("grade", "01")[0] == 0
    sheet = tmp_path / "sheet.csv"
    head = "Identifier,Full name,Email address,Grade,Maximum Grade,Last modified (submission),Last modified (grade)\n"
    rows = [f"Participant {n},{who},{who}@example.org,,{most},," for n, who in enumerate(("ada", "bob"), 1)]
    sheet.write_text(head + "\n".join(rows) + "\n")
    code, _, warned = run("export", "01", "moodle", "--fill", str(sheet), "--zeros")
    grades = {row["Full name"]: row["Grade"] for row in rows_of(place / "exports" / NAME / "moodle_grades.csv")}
    assert code == 0 and grades == {"ada": "", "bob": "0.0"}
    assert "a grade that Moodle has of them already stays there" in warned


def test_nbgrader_export_leaves_it_out(place, run, late):
    assert run("excuse", "ada", "01")[0] == run("grade", "01")[0] == 0
    runs = NbgraderCourse(place)
    plugin = CsvExportPlugin(parent=runs.autograding())
    plugin.to = str(place / "all.csv")
    with gradebook(place) as book:
        plugin.export(book)
    own = {row["student_id"]: row for row in rows_of(place / "all.csv")}
    assert own["ada"]["score"] == own["ada"]["max_score"] == "" and own["bob"]["score"] == "0.0"


@pytest.mark.parametrize(
    "words, says",
    [
        (["adda", "01", "ill"], "did you mean 'ada'?"),
        (["zoe", "01"], "`autograder roster` lists the class"),
        (["x\u202e" * 10**5, "01"], "is not in the gradebook"),
        (["ada", "99"], "There is no assignment '99'"),
        (["ada"], "Say who, what"),
        (["ada", "01", "ill", "again"], "Say who, what"),
        (["--undo", "ada", "01", "ill"], "Say who, what"),
        (["--undo"], "Say who, what"),
        (["ada", "01", "x" * 10**6], "at most 200"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(place, run, due, words, says):
    code, _, warned = run("excuse", *words)
    assert code != 0 and says in warned and "Traceback" not in warned and len(warned) < 500 and "\u202e" not in warned
    assert Store(place).excused(NAME) == {}


@pytest.mark.parametrize("content", ["[1]", '{"ada": 1, "bob": null, "eve": ["x"]}', "{"])
def test_what_the_kit_has_not_written_excuses_nobody(place, content):
    path = place / ".autograder" / "excused" / f"{NAME}.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert Store(place).excused(NAME) == {}


def test_who_has_left_the_class_is_not_listed(place, run, due):
    assert run("excuse", "ada", "01")[0] == run("excuse", "bob", "01")[0] == 0
    Store(place).put_dropped(["ada"])
    assert run("excuse")[1].splitlines()[-1] == f"{NAME}  bob"
    assert "ada was dropped" in run("excuse", "ada", "01", "ill")[2]
    assert run("excuse", "--undo", "ada", "01")[0] == 0 and Store(place).excused(NAME) == {"bob": ""}


# --- at the desk ----------------------------------------------------------------------------------


def form_of(page, action):
    form = BeautifulSoup(page.text, "html.parser").select_one(f"form[action$={action}]")
    return form["action"], {field["name"]: field.get("value", "") for field in form.select("input")}


def test_at_the_desk(desk, place, record, due):
    student, teacher = client(desk, "ada"), client(desk, "teacher")
    assert student.get("/api/me").json()["assignments"][0]["is_over"]
    action, sent = form_of(teacher.get(f"/instructor/{NAME}/student?id=ada"), "excuse")
    assert sent == {"token": "yes", "student": "ada", "why": ""}
    answer = teacher.post(action, data={**sent, "why": HOSTILE})
    assert answer.status_code == 303
    page = teacher.get(answer.headers["location"])
    assert "Excused , so it does not count" in text_of(page) and "<b>" not in page.text and "\x1b" not in page.text
    mine = student.get("/api/me").json()["assignments"][0]
    assert mine["is_excused"] and not mine["is_over"]  # to hand in, for feedback
    for path in ("/", f"/assignments/{NAME}"):
        said = student.get(path)
        assert "excused: it does not count" in text_of(said) and "ill" not in text_of(said).split()
        assert "excused" not in client(desk, "bob").get(path).text
    data = json.dumps(desk_class.notebook(place, NAME, {})).encode()
    head = {"content-type": "application/x-ipynb+json", "authorization": "a key"}
    assert student.post(f"/api/hand-in/{NAME}", content=data, headers=head).status_code == 201
    assert client(desk, "bob").post(f"/api/hand-in/{NAME}", content=data, headers=head).status_code == 403
    said = text_of(teacher.get(f"/instructor/{NAME}"))
    assert "0 of 1 students have begun. 1 is excused" in said and "ada (excused)" in said.lower()
    action, sent = form_of(teacher.get(f"/instructor/{NAME}/student?id=ada"), "count")
    assert teacher.post(action, data=sent).status_code == 303 and Store(place).excused(NAME) == {}
    assert student.get("/api/me").json()["assignments"][0]["is_over"]


def test_a_reason_without_an_end_is_refused_at_the_desk(desk, place, due):
    teacher = client(desk, "teacher")
    for why, status in (("x" * 201, 422), ("x" * 10**6, 413)):
        sent = {"student": "ada", "why": why, "token": "yes"}
        answer = teacher.post(f"/instructor/{NAME}/excuse", data=sent)
        assert answer.status_code == status and len(answer.text) < 10**5
    assert Store(place).excused(NAME) == {}


@pytest.mark.parametrize("form", ["excuse", "count"])
@pytest.mark.parametrize("who, token, student, status", WHO_MAY_NOT)
def test_who_excuses_nobody(desk, place, due, form, who, token, student, status):
    Store(place).put_excused(NAME, {"bob": "ill"})
    sent = {"student": student, "why": "ill", "token": token}
    assert client(desk, who).post(f"/instructor/{NAME}/{form}", data=sent).status_code == status
    assert Store(place).excused(NAME) == {"bob": "ill"}


def test_no_other_course_has_this_assignment(desk, place, due):
    sent = {"student": "ada", "why": "ill", "token": "yes"}
    for other in ("02_of_another_course", "..%2f..%2fetc", "%00"):
        assert client(desk, "teacher").post(f"/instructor/{other}/excuse", data=sent).status_code == 404
    assert not (place / ".autograder" / "excused").exists()


def test_the_desk_tells_platforms_who_is_excused(desk, place, due):
    Store(place).put_excused(NAME, {"ada": "ill"})
    done = []
    fake = SimpleNamespace(note=None, settle=lambda excused: done.append(excused), send=lambda: done.append("sent"))
    delivering.look(desk, fake, 0.0)
    assert done == [{NAME: {"ada": "ill"}}, "sent"]
