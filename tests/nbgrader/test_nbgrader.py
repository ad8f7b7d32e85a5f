"""The stock nbgrader commands on this course, end to end, over a class of awkward submissions."""

import csv
import os
import shutil
import subprocess
import sys

import pytest
import tiny
import warm
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in, load

from autograder.nbgrader.runs import NbgraderCourse
from autograder.sandbox.inside import unavailable


def command(place, *arguments, run=warm.run):
    """Run a command of the environment in the course `place`; returns what it printed."""
    done = run(place, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def really(place, *arguments):
    """Start it as a user does: for one of each kind."""
    program = os.path.join(os.path.dirname(sys.executable), arguments[0])
    return subprocess.run([program, *arguments[1:]], capture_output=True, text=True, cwd=place)


def wrong(notebook):
    cell_of(notebook, "attention-solution")["source"] = (
        "def attention(query, key, value, mask=None):\n"
        "    weights = F.softmax(query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5, dim=-2)\n"
        "    return weights @ value, weights\n"
    )
    return notebook


def without_tests(notebook):
    for cell in [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade")]:
        notebook["cells"].remove(cell)
    return notebook


def without_a_solution_and_its_test(notebook):
    ids = ("attention", "attention-solution")
    notebook["cells"] = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") not in ids]
    return notebook


def doubled(notebook):
    notebook["cells"] = [c for cell in notebook["cells"] for c in (cell, dict(cell, id=cell["id"] + "-2"))]
    return notebook


def edited(notebook):
    for cell in notebook["cells"]:
        meta = cell["metadata"].get("nbgrader", {})
        if meta.get("grade") and cell["cell_type"] == "code":
            cell["source"] = "100"
            meta["points"] = 1000
    return wrong(notebook)


def forged_outputs(notebook):
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "execute_result", "data": {"text/plain": "10.0"}, "metadata": {}, "execution_count": 1}
            ]
    return wrong(notebook)


def scripted(notebook):
    notebook["cells"].append(
        {
            "cell_type": "markdown",
            "id": "evil",
            "metadata": {},
            "source": "<script>alert('markdown')</script><img src=x onerror=alert(1)>",
        }
    )
    notebook["cells"].append(
        {
            "cell_type": "code",
            "id": "evil-too",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": "from IPython.display import HTML\nprint('<script>alert(2)</script>')\n"
            "HTML('<script>alert(3)</script>')",
        }
    )
    return notebook


def offline(notebook):
    """A download and an installation that cannot work, above an answer in its cell."""
    cell = cell_of(notebook, "attention-solution")
    above = "!pip install einops\nimport urllib.request\nurllib.request.urlopen('http://example.org')\n"
    cell["source"] = above + "".join(cell["source"])
    return notebook


# student -> (how the solution is mangled, score of attention)
CLASS = {
    "right": (lambda n: n, 10),
    "wrong": (wrong, None),
    "without_tests": (without_tests, 10),
    "without_pair": (without_a_solution_and_its_test, 0),
    "doubled": (doubled, 10),
    "edited": (edited, None),
    "forged_outputs": (forged_outputs, None),
    "scripted": (scripted, 10),
    "offline": (offline, 10),
}
# when some of it was handed in; it was due at noon of March 1st
TIMES = {
    "right": "2026-03-01 11:00:00 UTC",
    "wrong": "2026-03-01 14:00:00 +0100",
    "offline": "2026-03-02 10:00:00 UTC",
    "no_notebook": "2026-03-09 10:00:00 UTC",
    "scripted": "some time in March",
    "doubled": "2026-02-28 10:00:00 UTC",
}
UNREADABLE = {"no_notebook": b"hello", "empty": b"", "odd [name]": b"{}"}

# who gets nothing: what cannot be read, and what is not theirs
NOBODYS = [*UNREADABLE, "bare_folder", "linked", "linker", "linking", "no_folder"]


@pytest.fixture(scope="module")
def place(tmp_path_factory, db_url):
    """A course that has gone through all of nbgrader's own commands."""
    place = tmp_path_factory.mktemp("nbgrader")
    shutil.copytree(ROOT / "source", place / "source")
    tiny.configure(place, db_url)
    with open(place / "nbgrader_config.py", "a") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    (place / "source" / ASSIGNMENT / "data.txt").write_text("for everybody")
    command(place, "nbgrader", "generate_assignment", ASSIGNMENT, run=really)
    with NbgraderCourse(place).gradebook() as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate="2026-03-01 12:00:00")
    command(place, "nbgrader", "generate_solution", ASSIGNMENT)
    for student, (mangle, _) in CLASS.items():
        notebook = load(place / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
        hand_in(mangle(notebook), place / "submitted" / student / ASSIGNMENT)
    for student, data in UNREADABLE.items():
        hand_in(data, place / "submitted" / student / ASSIGNMENT)
    for student, text in TIMES.items():
        (place / "submitted" / student / ASSIGNMENT / "timestamp.txt").write_text(text)
    beside = place / "submitted" / "doubled" / ASSIGNMENT
    (beside / "data.txt").write_text("mine")
    (beside / "own").mkdir()
    (beside / "own" / "notes.txt").write_text("notes")
    (place / "secret").write_text("the answers")
    folder = place / "submitted" / "bare_folder" / ASSIGNMENT
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "link.txt").symlink_to(place / "secret")
    folder = place / "submitted" / "linked" / ASSIGNMENT
    folder.mkdir(parents=True)
    (folder / f"{ASSIGNMENT}.ipynb").symlink_to(place / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    (place / "submitted" / "linker").symlink_to("doubled")
    for student in ("linking", "no_folder"):
        (place / "submitted" / student).mkdir()
    (place / "submitted" / "linking" / ASSIGNMENT).symlink_to(f"../doubled/{ASSIGNMENT}")
    (place / "submitted" / "no_folder" / ASSIGNMENT).write_text("nothing")
    command(place, "nbgrader", "autograde", ASSIGNMENT, run=really)
    command(place, "nbgrader", "generate_feedback", ASSIGNMENT, run=really)
    command(place, "nbgrader", "export", "--to", str(place / "grades.csv"))
    return place


def grades(place, student):
    with NbgraderCourse(place).gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student)
        return {g.name: (g.auto_score, g.needs_manual_grade) for g in notebook.grades}


def feedback(place, student):
    return (place / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()


@pytest.mark.parametrize("student", CLASS)
def test_scores_are_what_the_code_deserves(place, student):
    scores = grades(place, student)
    expected = CLASS[student][1]
    if expected is None:
        assert 0 < scores["attention"][0] < 10
    else:
        assert scores["attention"][0] == expected
    assert scores["SelfAttention"][0] == 8 and scores["SingleHeadSelfAttention"][0] == 6


@pytest.mark.parametrize("student", NOBODYS)
def test_everybody_has_a_row(place, student):
    scores = grades(place, student)
    assert {name for name, (score, _) in scores.items() if score == 0} >= {"attention", "SelfAttention"}
    assert "read" in feedback(place, student)


def test_the_same_mistake_gets_the_same_score_however_it_is_dressed(place):
    assert len({grades(place, s)["attention"] for s in ("wrong", "edited", "forged_outputs")}) == 1


def test_written_answers_wait_for_a_person(place):
    assert grades(place, "right")["question-three-matrices"] == (None, True)
    assert grades(place, "without_tests")["question-three-matrices"][1] in (False, True)


def test_feedback_tells_checks_points_and_diagnosis_but_no_test(place):
    page = feedback(place, "wrong")
    assert "What went wrong" in page and "softmax runs over the queries" in page and "of 10<" in page
    for student in CLASS:
        page = feedback(place, student)
        assert "HIDDEN TESTS" not in page and "# exercise" not in page and "assert " not in page


def test_feedback_runs_no_script_of_a_student(place):
    for page in (feedback(place, "scripted"), feedback(place, "bare_folder")):
        assert "<script>alert" not in page and "onerror=alert" not in page


def test_feedback_says_what_could_not_work(place):
    page = feedback(place, "offline")
    assert unavailable.NO_PROCESS in page and unavailable.NO_NETWORK in page


def test_links_are_not_followed(place):
    for folder in ("autograded", "feedback"):
        copied = place / folder / "bare_folder" / ASSIGNMENT
        assert not (copied / "link.txt").exists() and not (copied / "pipe").exists()
    for student in ("linker", "linking"):
        assert "is a link, which is not followed" in feedback(place, student)
        assert (place / "autograded" / student / ASSIGNMENT / "data.txt").read_text() == "for everybody"
        assert not (place / "autograded" / student / ASSIGNMENT / "own").exists()
        assert rows(place)[student][0] is None, "it has another's time"


def test_the_export_has_every_student(place):
    with open(place / "grades.csv") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {*CLASS, *NOBODYS}
    assert float(rows["right"]["score"]) == 28 and float(rows["no_notebook"]["score"]) == 0


@pytest.mark.slow("it starts stock kernels")
def test_validate_runs_on_a_students_machine(place):
    """`nbgrader validate` (a stock kernel, the visible checks) passes the solutions and not the release."""
    path = place / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    assert "Success" in command(place, "nbgrader", "validate", str(path), run=really)
    path = place / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    assert "FAILED" in command(place, "nbgrader", "validate", str(path), run=really)


def rows(place):
    """All that the gradebook holds of submissions, without the ids that are drawn."""
    with NbgraderCourse(place).gradebook() as gradebook:
        return {
            submission.student.id: (
                submission.timestamp,
                [(n.name, n.late_submission_penalty, n.score) for n in submission.notebooks],
                sorted(
                    (g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade)
                    for n in submission.notebooks
                    for g in n.grades
                ),
                sorted((c.name, c.auto_comment, c.manual_comment) for n in submission.notebooks for c in n.comments),
            )
            for submission in gradebook.assignment_submissions(ASSIGNMENT)
        }


def files(place):
    """Everything in autograded/: bytes and permissions."""
    found = [p for p in (place / "autograded").rglob("*") if p.is_file()]
    return {str(p.relative_to(place)): (p.read_bytes(), p.stat().st_mode) for p in found}


def grade_by_hand(place, student, points):
    with NbgraderCourse(place).gradebook() as gradebook:
        gradebook.find_grade("question-three-matrices", ASSIGNMENT, ASSIGNMENT, student).manual_score = points
        gradebook.find_grade("attention", ASSIGNMENT, ASSIGNMENT, student).extra_credit = 0.5
        gradebook.find_comment("question-three-matrices", ASSIGNMENT, ASSIGNMENT, student).manual_comment = "Good."
        gradebook.db.commit()


@pytest.mark.slow("it grades a class three times")
def test_the_command_grade_records_the_same(place):
    """`autograder grade` and `nbgrader autograde` agree on every row, file and permission, in a gradebook that is new
    and in one that a person has written in; and a second run grades nothing again."""
    everybody = len(CLASS) + len(NOBODYS)
    grade_by_hand(place, "right", 2.0)
    grade_by_hand(place, "offline", 1.0)
    command(place, "nbgrader", "autograde", ASSIGNMENT, "--force")
    stock = rows(place), files(place)
    assert len(stock[0]) == everybody and stock[0]["offline"][1][0][1] > 0 and stock[0]["wrong"][1][0][1] > 0
    assert stock[0]["right"][1][0][1] is None and not stock[0]["right"][0] == stock[0]["wrong"][0]
    shutil.rmtree(place / ".autograder" / "results")
    shutil.rmtree(place / "autograded")
    assert f"{len(CLASS)} graded, 0 unchanged" in command(place, "autograder", "grade", "02", "--jobs", "2", run=really)
    assert (rows(place), files(place)) == stock
    with NbgraderCourse(place).gradebook() as gradebook:
        for student in stock[0]:
            gradebook.remove_submission(ASSIGNMENT, student)
            gradebook.remove_student(student)
    assert f"0 graded, {len(CLASS)} unchanged" in command(place, "autograder", "grade", "02")
    for student in ("right", "offline"):
        grade_by_hand(place, student, {"right": 2.0, "offline": 1.0}[student])
    command(place, "nbgrader", "autograde", ASSIGNMENT, "--force")  # it looks again at what a person has graded
    assert (rows(place), files(place)) == stock


def test_what_is_recorded_already_is_left_alone_and_what_is_not_is_mended(place):
    command(place, "autograder", "grade", "02")
    path = place / "autograded" / "right" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    whole, inode = (rows(place), files(place)), path.stat().st_ino
    assert f"0 graded, {len(CLASS)} unchanged" in command(place, "autograder", "grade", "02")
    assert (rows(place), files(place)) == whole and path.stat().st_ino == inode, "it was written again"
    with NbgraderCourse(place).gradebook() as gradebook:
        gradebook.find_grade("attention", ASSIGNMENT, ASSIGNMENT, "right").auto_score = 0.0
        gradebook.update_or_create_submission(ASSIGNMENT, "without_tests", timestamp="2026-05-05 00:00:00")
        gradebook.db.commit()
    shutil.rmtree(place / "autograded" / "doubled")
    command(place, "autograder", "grade", "02")
    after = rows(place)
    assert after.pop("right")[2] == [(*g[:4], g[4] or g[2] is not None) for g in whole[0].pop("right")[2]]
    assert files(place) == whole[1]
    assert after.keys() == whole[0].keys()


def test_a_course_that_has_nbgrader_do_more_is_recorded_by_nbgrader(place):
    """Here, a hook; what it is called for is what `nbgrader autograde` does."""
    config = place / "nbgrader_config.py"
    usual = config.read_text()
    told = place / "told"
    config.write_text(f"{usual}\ndef tell(**about):\n    open({str(told)!r}, 'a').write(about['student'] + ' ')\n")
    config.write_text(config.read_text() + "c.Autograde.post_convert_hook = tell\n")
    try:
        before = rows(place)
        command(place, "autograder", "grade", "02", "--student", "right", "--student", "edited")
    finally:
        config.write_text(usual)
    assert sorted(told.read_text().split()) == ["edited", "right"]
    assert {s: r[2] for s, r in rows(place).items() if s != "right"} == {
        s: r[2] for s, r in before.items() if s != "right"
    }


def test_the_report_is_written(place):
    command(place, "autograder", "report", "02")
    page = (place / "reports" / f"{ASSIGNMENT}.html").read_text()
    assert all(student in page for student in CLASS)


@pytest.fixture
def named(tmp_path):
    """A course of a small assignment, whose students have odd names; the first of them cannot have any."""
    release = tiny.course(tmp_path)
    for student in (*UNNAMED, *ODD):
        tiny.submit(tmp_path, release, student)
    return tmp_path


UNNAMED = ["%2e%2e?path=x", ".hidden", "x" * 130, "\N{CYRILLIC SMALL LETTER A}" * 126, "\udcff"]
ODD = ["two\nlines", "[a] {b} *", "100% (sure)", "zoe"]


@pytest.mark.parametrize("grade", [("nbgrader", "autograde", tiny.NAME), ("autograder", "grade", tiny.NAME)])
def test_names_are_told_or_have_rows_whichever_command_grades(named, grade):
    done = warm.run(named, *grade)
    said = done.stdout + done.stderr
    assert said.count("rename it") == len(UNNAMED) and "Traceback" not in said, said
    scores, _ = tiny.gradebook(named)
    assert scores.keys() == set(ODD) and len(set(map(str, scores.values()))) == 1
    assert {path.name for path in (named / "autograded").iterdir()} == set(ODD)
