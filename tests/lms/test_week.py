"""A week of a made-up class of 60 through Moodle: from the bulk download to the bulk upload, every number the same.

It costs some seconds, most of them for building and grading: equal hand-ins are graded once.
"""

import csv
import io
import json
import random
import zipfile

import pytest
from conftest import cell_of, load
from nbgrader.api import Gradebook
from small_course import NAME, copy

from autograder import cli, course
from autograder.mistakes.bank import bank, right_answer

NAMES = [
    f"{first} {last}"
    for last in ("Lovelace", "Noether", "Curie", "Meitner", "Gödel", "O'Neill")
    for first in ("Ada", "Emmy", "Marie", "Lise", "Kurt", "Sofia", "Anna-Lena", "Li", "Zoë", "Max")
]
LATE, DROPPED, ABSENT, STRANGER = range(0, 5), 7, (20, 21), "Eve Nobody"
ODD = {10: f"{NAME} (1).ipynb", 11: "homework.ipynb", 12: "../../../evil.ipynb", 13: "work.zip", 14: "=1+1.ipynb"}


def email(index):
    return f"s{index:02}@example.org"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The small course with a written answer, built; in the process's folder."""
    folder = copy(tmp_path_factory.mktemp("week") / "course")
    path = folder / "source" / NAME / f"{NAME}.ipynb"
    notebook = load(path)
    about = {"schema_version": 3, "grade_id": "why", "grade": True, "solution": True, "locked": False, "task": False}
    intro = notebook["cells"][0]
    intro["source"] = "".join(intro["source"]).replace("| **total**", "| 3. why | explain | 2 | 5 |\n| **total**")
    heading = "## 3. Why?\n\n**2 points · 5 minutes · easy**"
    notebook["cells"] += [
        {"cell_type": "markdown", "id": "why-exercise", "metadata": {}, "source": heading},
        {"cell_type": "markdown", "id": "why", "metadata": {"nbgrader": {**about, "points": 2}}, "source": "Why?"},
    ]
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with open(folder / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    course.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert cli.main(["build"]) == 0
        with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
            book.update_or_create_assignment(NAME, duedate="2026-11-22 00:00:00 UTC")
        yield folder
    course.forget()


def answers(place, index):
    """A student's notebook: right, wrong in one exercise, or untouched; some with a written answer."""
    notebook = load(place / "release" / NAME / f"{NAME}.ipynb")
    if index % 3 != 2:
        cell_of(notebook, "normalise-solution")["source"] = right_answer("normalise", "std")
        wrong, right = bank("moving_average")["sums"].source, right_answer("moving_average", "cumulative")
        cell_of(notebook, "moving_average-solution")["source"] = wrong if index % 3 else right
    if index % 2:
        cell_of(notebook, "why")["source"] = "Since I think so."
    return json.dumps(notebook).encode()


def zipped(files):
    with zipfile.ZipFile(made := io.BytesIO(), "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def download(place):
    """What Moodle lets the instructor download: the hand-ins, and the grading worksheet."""
    numbers = random.Random(1).sample(range(10_000, 99_999), len(NAMES) + 1)
    files, rows = {}, []
    for index, name in enumerate([*NAMES, STRANGER]):
        folder = f"{name}_{numbers[index]}_assignsubmission_file"
        own = ODD.get(index, f"{NAME}.ipynb")
        content = answers(place, index)
        if index not in ABSENT:
            files[f"{folder}/{own}"] = zipped({f"mine/{NAME}.ipynb": content}) if own.endswith(".zip") else content
        late = "2 days late" if index in LATE else ""
        time = "-" if index in ABSENT else f"Monday, {23 if index in LATE else 20} November 2026, 9:00 AM"
        status = "No submission" if index in ABSENT else f"Submitted for grading - {late}"
        if name != STRANGER:
            rows.append(
                (f"Participant {numbers[index]}", name, email(index), status, "", "7.00", "Yes", time, "-", "- so?")
            )
    header = (
        "Identifier",
        "Full name",
        "Email address",
        "Status",
        "Grade",
        "Maximum grade",
        "Grade can be changed",
        "Last modified (submission)",
        "Last modified (grade)",
        "Feedback comments",
    )
    with open(place / "worksheet.csv", "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([header, *rows])
    (place / "class.zip").write_bytes(zipped(files))
    return {email(i): str(n) for i, n in enumerate(numbers)}


def run(capsys, *arguments, code=0):
    capsys.readouterr()
    assert cli.main([str(a) for a in arguments]) == code, capsys.readouterr().err
    return capsys.readouterr()


def test_a_week(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    numbers = download(place)
    with open(place / "class.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(*name.rsplit(" ", 1), email(i), "yes" if i == DROPPED else "") for i, name in enumerate(NAMES)]
        csv.writer(file).writerows([("First name", "Last name", "Email address", "dropped"), *rows])
    assert "60 students" in run(capsys, "roster", "class.csv").out

    # in
    said = run(capsys, "collect", "01", "class.zip", "worksheet.csv", "--timezone", "Europe/Berlin", code=1)
    assert "56 handed in (56 new, 0 changed, 0 unchanged), from moodle" in said.out
    assert "late: s00, s01, s02, s03, s04" in said.out and "without a hand-in: s12, s20, s21" in said.out
    for index in (10, 11, 14):
        assert f"s{index}: '{ODD[index]}' is taken, since its cells are this assignment's" in said.out
    assert "s07 was dropped" in said.err and f"{STRANGER}_" in said.err and "on the roster" in said.err
    assert (place / "submitted" / "s00" / NAME / "timestamp.txt").read_text() == "2026-11-23 08:00:00 UTC\n"
    assert not (place / "submitted" / "s07").exists() and not list(place.parent.rglob("evil*"))
    again = run(capsys, "collect", "01", "class.zip", "worksheet.csv", "--timezone", "Europe/Berlin", code=1)
    assert "56 handed in (0 new, 0 changed, 56 unchanged)" in again.out

    # graded, by the kit and by hand; a file in the dropped one's folder brings nobody back
    left = place / "submitted" / "s07" / NAME
    left.mkdir(parents=True)
    (left / f"{NAME}.ipynb").write_bytes(answers(place, 0))
    run(capsys, "grade", "01", "--jobs", "1")
    waiting = run(capsys, "export", "01", "csv")
    assert "28 students have answers that wait" in waiting.err
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        assert "s07" in {s.id for s in book.students} and not book.student_submissions("s07")
        for submission in book.assignment_submissions(NAME):
            grade = book.find_grade("why", NAME, NAME, submission.student.id)
            if grade.needs_manual_grade:
                grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
        found = book.assignment_submissions(NAME)
        scores = {s.student.id: max(0.0, s.score - s.late_submission_penalty) for s in found}
        assert {s.student.id for s in found if s.late_submission_penalty} == {"s00", "s01", "s03", "s04"}, "s02 had 0"
    assert len(scores) == 56 and len(set(scores.values())) >= 4
    run(capsys, "report", "01", "--jobs", "1")

    # back
    said = run(capsys, "export", "01", "moodle", "csv", "gradescope", "exercism", "--fill", "worksheet.csv")
    assert "wait" not in said.err and "and with no grade (--zeros gives 0): s12, s20, s21" in said.err
    folder = place / "exports" / NAME
    sheet = list(csv.DictReader(io.StringIO((folder / "moodle_grades.csv").read_text())))
    given = {row["Email address"]: row for row in sheet}
    assert {e.split("@")[0]: float(r["Grade"]) for e, r in given.items() if r["Grade"]} == scores
    assert all(row["Identifier"] == f"Participant {numbers[e]}" for e, row in given.items()) and len(sheet) == 60
    assert "Feedback comments" not in sheet[0] and {r["Last modified (grade)"] for r in sheet} == {"-"}
    ours = {r["student_id"]: r for r in csv.DictReader(io.StringIO((folder / "grades.csv").read_text()))}
    assert {s: float(r["score"]) for s, r in ours.items() if s in scores} == scores and "s07" not in ours
    for student in sorted(scores)[len(LATE) :]:  # what an autograder finds has no penalties
        result = json.loads((folder / "gradescope" / student / "results.json").read_text())
        auto = scores[student] - (1.5 if int(student[1:]) % 2 else 0)
        assert result["score"] == pytest.approx(auto) == pytest.approx(sum(t["score"] for t in result["tests"]))
    with zipfile.ZipFile(folder / "moodle_feedback.zip") as pages:
        assert len(pages.namelist()) == 56
        for name in pages.namelist():
            who, number, kind, plugin, rest = name.split("_", 4)
            assert (kind, plugin, rest) == ("assignsubmission", "file", f"/{NAME}.html") and who in NAMES
            assert number == numbers[email(NAMES.index(who))]
    before = (folder / "moodle_feedback.zip").read_bytes()
    run(capsys, "export", "01", "moodle", "--fill", "worksheet.csv")
    assert (folder / "moodle_feedback.zip").read_bytes() == before
