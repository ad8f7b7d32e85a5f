"""`collect NN --desk`: the attempts that count, under the times at which they came, and just what the desk has said."""

import csv
import dataclasses
import json
from datetime import UTC, datetime, timedelta

import desk_class
import pytest
import sqlalchemy as sa
from desk_class import built, kit, place, record
from nbgrader.api import Gradebook
from small_course import NAME

from autograder import course
from autograder.desk import collecting, counting
from autograder.desk.record import Attempt
from autograder.desk.tables import ATTEMPT
from autograder.grading.store import Store

DUE = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.fixture
def run(place, kit, capsys):
    """Runs a command of the kit in the course: (exit code, what it prints, what it warns of)."""

    def run(*arguments):
        capsys.readouterr()
        code = kit(place, *arguments)
        course.forget()
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def handed_in(record, place, student, answers, at=None, folder="release", **how):
    """An attempt of a student's, with these answers; `at` is how long before (or after) the due date it came."""
    who = how.pop("who", None) or desk_class.visitor(student)
    data = json.dumps(desk_class.notebook(place, NAME, answers, folder)).encode()
    attempt = desk_class.hand_in(record, place, who, NAME, data, **how)
    if at is not None:
        with record.writing() as connection:
            moved = sa.update(ATTEMPT).where(ATTEMPT.c.id == attempt.id)
            connection.execute(moved.values(arrived=(DUE + at).timestamp()))
    return attempt


def due(place, extension=None):
    """Give the assignment a due date, and a student an extension."""
    with Gradebook(f"sqlite:///{place / 'gradebook.db'}") as gradebook:
        gradebook.find_assignment(NAME).duedate = DUE.replace(tzinfo=None)
        if extension:
            gradebook.add_student(extension[0])
            submission = gradebook.add_submission(NAME, extension[0])
            submission.extension = extension[1]
        gradebook.db.commit()


def configure(place, line):
    path = place / "nbgrader_config.py"
    path.write_text(f"{path.read_text()}\n{line}\n")


def lies_there(place, student):
    return (place / "submitted" / student / NAME / f"{NAME}.ipynb").read_bytes()


def wrong(number):
    return {"normalise": f"def normalise(values):\n    return {number}"}


def test_grade_gives_what_the_desk_said(place, record, grader, run, monkeypatch):
    """Nothing is graded again, the verdicts are the desk's, and reports and exports have the same points."""
    no_root = desk_class.mistaken(place, NAME, "normalise", ".sqrt()", "")
    for student, answers, folder in (("ada", {}, "solutions"), ("bob", wrong(1), "release"), ("cleo", {}, "release")):
        handed_in(record, place, student, no_root)
        handed_in(record, place, student, answers, folder=folder)
    handed_in(record, place, "bob", wrong(2), exercise="normalise")
    desk_class.grade_all(record, grader)
    assert record.verdict(record.attempts()[1].id).full and record.attempts()[0].told[0]["names"][0]["id"] == "no-root"
    code, said, warned = run("collect", "01", "--desk")
    assert (code, warned) == (0, "") and f"{NAME}: 3 handed in (3 new, 0 changed, 0 unchanged), from the desk" in said
    said_by_desk = {one.student: record.verdict(one.id) for one in record.attempts() if one.number == 2}

    def nothing(*args, **kwargs):
        raise AssertionError("it is graded again")

    with monkeypatch.context() as patch:
        patch.setattr(type(grader), "grade_cells", nothing)
        code, said, warned = run("grade", "01")
    assert code == 0, warned
    found = Store(place).latest(NAME)
    assert found.keys() == said_by_desk.keys()
    for student, verdict in found.items():
        assert verdict.exercises == said_by_desk[student].exercises and verdict.seed == said_by_desk[student].seed
    assert run("report", "01")[0] == 0 and run("export", "01", "csv", "gradescope")[0] == 0
    table = csv.DictReader((place / "exports" / NAME / "grades.csv").read_text().splitlines())
    scores = {row["student_id"]: float(row["score"]) for row in table}
    for student, verdict in said_by_desk.items():
        exported = json.loads((place / "exports" / NAME / "gradescope" / student / "results.json").read_text())
        assert exported["score"] == verdict.score
        assert scores[student] == verdict.score
    stamp = (place / "submitted" / "ada" / NAME / "timestamp.txt").read_text()
    last = max((one for one in record.attempts() if one.student == "ada"), key=lambda one: one.number)
    assert stamp == f"{last.arrived:%Y-%m-%d %H:%M:%S} UTC\n"


def test_which_counts_by_the_settings(place, record, grader, run):
    """The last in time, the best in time, or the last, for which the late penalty is taken off."""
    due(place)
    handed_in(record, place, "ada", {}, -timedelta(hours=3), folder="solutions")
    second = handed_in(record, place, "ada", wrong(1), -timedelta(hours=2))
    right = desk_class.mistaken(place, NAME, "normalise", "", "")
    late = handed_in(record, place, "ada", right, timedelta(hours=1))
    handed_in(record, place, "bob", right, timedelta(seconds=1))
    handed_in(record, place, "cleo", right, timedelta(microseconds=1))
    desk_class.grade_all(record, grader)
    code, said, _ = run("collect", "01", "--desk")
    assert code == 0 and "2 handed in (2 new" in said
    assert "  bob: handed in after the due date, which does not count" in said and "late:" not in said
    assert lies_there(place, "ada") == record.content(second.sha256)
    configure(place, 'c.Desk.counts = "best"')
    code, said, _ = run("collect", "01", "--desk")
    assert code == 0 and "2 handed in (0 new, 1 changed, 1 unchanged)" in said
    assert run("grade", "01")[0] == 0 and Store(place).latest(NAME)["ada"].full
    configure(place, 'c.Desk.counts = "latest"')
    configure(place, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    code, said, _ = run("collect", "01", "--desk")
    assert code == 0 and "  late: ada, bob" in said and lies_there(place, "ada") == record.content(late.sha256)
    assert run("grade", "01")[0] == 0
    with Gradebook(f"sqlite:///{place / 'gradebook.db'}") as gradebook:
        penalties = {s.student_id: s.late_submission_penalty for s in gradebook.assignment_submissions(NAME)}
        scores = {s.student_id: s.score for s in gradebook.assignment_submissions(NAME)}
    assert scores["ada"] and penalties == {"ada": scores["ada"], "bob": scores["bob"], "cleo": 0.0}


def test_an_extension_is_part_of_in_time(place, record, grader, run):
    due(place, ("ada", timedelta(days=1)))
    handed_in(record, place, "ada", wrong(1), timedelta(hours=1))
    assert "1 handed in (1 new" in run("collect", "01", "--desk")[1]


def test_what_is_not_graded_yet_is_graded_on_the_same_inputs(place, record, grader, run):
    attempt = handed_in(record, place, "ada", wrong(1))
    assert run("collect", "01", "--desk")[0] == 0 and run("grade", "01")[0] == 0
    desk_class.grade_all(record, grader)
    assert Store(place).latest(NAME)["ada"].seed == attempt.seed
    assert Store(place).latest(NAME)["ada"].exercises == record.verdict(attempt.id).exercises


def test_a_result_of_another_version_of_the_course_is_not_taken(place, record, grader, run, monkeypatch):
    handed_in(record, place, "ada", wrong(1))
    desk_class.grade_all(record, grader)
    monkeypatch.setattr(collecting, "course_version", lambda: "another")
    code, said, _ = run("collect", "01", "--desk")
    assert code == 0 and "graded again, since the course has changed: 1 (ada)" in said
    assert not list((place / ".autograder" / "results").rglob("*.json"))


def test_later_hand_ins_elsewhere_have_inputs_that_nobody_has_seen(place, record, grader, run):
    first = handed_in(record, place, "ada", wrong(1))
    asked = handed_in(record, place, "ada", wrong(2), exercise="normalise")
    run("collect", "01", "--desk")
    (place / "submitted" / "ada" / NAME / f"{NAME}.ipynb").write_text(
        json.dumps(desk_class.notebook(place, NAME, wrong(3)))
    )
    run("grade", "01")
    assert Store(place).latest(NAME)["ada"].seed not in (first.seed, asked.seed)


# --- who ------------------------------------------------------------------------------------------


def test_a_person_is_known_by_the_account(place, record, run):
    """Another account of the same door for one student is told, and not taken, until the instructor says so."""
    handed_in(record, place, "ada", wrong(1))
    assert run("collect", "01", "--desk")[0] == 0
    note = Store(place).handed_in(NAME)["ada"]
    assert (note["system"], note["lms_id"], note["name"]) == ("links", "links-ada", "Ada")
    before = lies_there(place, "ada")
    handed_in(record, place, "ada", wrong(2), who=desk_class.visitor("ada", subject="another"))
    code, _, warned = run("collect", "01", "--desk")
    assert code == 1 and "ada: links id another, and before it was links id links-ada" in warned
    assert lies_there(place, "ada") == before
    assert run("collect", "01", "--desk", "--forget", "ada")[0] == 0 and lies_there(place, "ada") != before


def test_another_door_is_the_same_student(place, record, run):
    handed_in(record, place, "ada", wrong(1))
    run("collect", "01", "--desk")
    handed_in(record, place, "ada", wrong(2), who=desk_class.visitor("ada", door="hub"))
    assert run("collect", "01", "--desk")[0] == 0


def test_who_is_no_student_is_left_out(place, record, run):
    handed_in(record, place, "", wrong(1), who=desk_class.visitor("", subject="guest"))
    handed_in(record, place, "", wrong(1), who=desk_class.visitor("", subject="teacher", role="instructor"))
    code, said, _ = run("collect", "01", "--desk")
    assert code == 0 and "0 handed in" in said and "not on the roster, so nothing is taken: links:guest" in said
    assert "teacher" not in said


def test_what_came_later_by_another_way_stays(place, record, run):
    handed_in(record, place, "ada", wrong(1), -timedelta(hours=1))
    folder = place / "submitted" / "ada" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_text("mine")
    (folder / "timestamp.txt").write_text("2026-11-20 12:00:00 UTC\n")
    code, said, _ = run("collect", "01", "--desk")
    assert "what lies in submitted/ is of 2026-11-20 12:00:00 UTC, later, and stays" in said
    assert lies_there(place, "ada") == b"mine"


@pytest.mark.parametrize("student", ["../evil", "a/b", "."])
def test_no_name_leads_out_of_the_folder(place, record, run, student):
    handed_in(record, place, student, wrong(1))
    before = sorted(place.rglob("*.ipynb"))
    code, _, warned = run("collect", "01", "--desk")
    assert code == 1 and warned.count("\n") == 1 and sorted(place.rglob("*.ipynb")) == before


def test_no_link_is_followed(place, record, run, tmp_path):
    handed_in(record, place, "ada", wrong(1))
    (tmp_path / "other").mkdir()
    (place / "submitted").mkdir()
    (place / "submitted" / "ada").symlink_to(tmp_path / "other")
    code, _, warned = run("collect", "01", "--desk")
    assert code == 1 and "is or holds a link" in warned and not list((tmp_path / "other").iterdir())


def test_options_that_do_not_fit(place, run):
    for arguments, said in (
        (("--desk", "x.zip"), "--desk takes what was handed in at the desk: give no download with it."),
        (("--database", "sqlite://", "x.zip"), "--database goes with --desk."),
    ):
        code, _, warned = run("collect", "01", *arguments)
        assert code == 2 and said in warned
    with pytest.raises(SystemExit):
        run("collect", "01")


# --- which counts ---------------------------------------------------------------------------------


def attempt(number, score=None, at=0.0, exercise=None):
    made = {field.name: None for field in dataclasses.fields(Attempt)}
    state = "waiting" if score is None else "done"
    arrived = DUE + timedelta(seconds=at)
    return Attempt(
        **{**made, "number": number, "score": score, "arrived": arrived, "exercise": exercise, "state": state}
    )


@pytest.mark.parametrize(
    "counts, attempts, number",
    [
        ("last", [attempt(1, 5, -9), attempt(2, 3, -1), attempt(3, 9, 1)], 2),
        ("last", [attempt(2, None, -1), attempt(1, 5, -9)], 2),
        ("last", [attempt(1, 5, 1)], None),
        ("last", [attempt(1, 5, 0.9)], 1),
        ("best", [attempt(1, 5, -9), attempt(2, 3, -1), attempt(3, 9, 1)], 1),
        ("best", [attempt(1, 5, -9), attempt(2, 5, -1)], 2),
        ("best", [attempt(1, None, -9)], None),
        ("latest", [attempt(1, 5, -9), attempt(2, 3, -1), attempt(3, 1, 1)], 3),
        ("latest", [attempt(1, 5, -9), attempt(2, 10, -1, "normalise")], 1),
        ("latest", [], None),
    ],
)
def test_which_attempt_counts(counts, attempts, number):
    found = counting.counted(attempts, counts, DUE)
    assert (found and found.number) == number
