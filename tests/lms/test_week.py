"""A week of a made-up class of 60 through Moodle: from the bulk download to the bulk upload, every number the same.

In the middle of it, two checks are found wrong and mended. Equal hand-ins are graded once, so it takes some seconds.
"""

import csv
import io
import json
import random
import re
import statistics
import zipfile

import one_process
import pytest
from bs4 import BeautifulSoup
from conftest import cell_of, load
from nbgrader.api import Gradebook
from small_course import AVERAGES, NAME, copy

from autograder.grading.store import Store
from autograder.mistakes.bank import bank, right_answer
from autograder.report.outcome_text import points

NAMES = [
    f"{first} {last}"
    for last in ("Lovelace", "Noether", "Curie", "Meitner", "Gödel", "O'Neill")
    for first in ("Ada", "Emmy", "Marie", "Lise", "Kurt", "Sofia", "Anna-Lena", "Li", "Zoë", "Max")
]
LATE, DROPPED, ABSENT, STRANGER = range(0, 5), 7, (20, 21), "Eve Nobody"
ODD = {10: f"{NAME} (1).ipynb", 11: "homework.ipynb", 12: "../../../evil.ipynb", 13: "work.zip", 14: "=1+1.ipynb"}

NOT_MENDED = {  # by exercise: a check as it should be, and as it is until the middle of the week
    "normalise": ('refuses(normalise.error(torch.zeros(2, 3)), "a matrix")', '"a matrix")', '"a matrix", "(2, 3)")'),
    "moving_average": ("for window in (1, 2, 3, 6):", "1, 2, 3, 6", "1,"),
}
COMPLAINED = "s09"  # and was given full points for `normalise` by hand


def email(index):
    return f"s{index:02}@example.org"


@pytest.fixture(scope="module")
def kit(grader):
    """Runs a command of the kit in a folder, in this process; returns its exit code."""
    with one_process.kit(grader) as run:
        yield run


@pytest.fixture
def run(place, kit, capsys):
    """Runs a command of the kit in the course, which must end with that exit code: what it prints."""

    def run(*arguments, code=0):
        capsys.readouterr()
        assert kit(place, *arguments) == code, capsys.readouterr().err
        return capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def place(tmp_path_factory, kit):
    """The small course with a written answer and two wrong checks, built."""
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
    for exercise, (line, right, wrong) in NOT_MENDED.items():
        checks = folder / "exercises" / exercise / "checks.py"
        assert checks.read_text().count(line) == 1
        checks.write_text(checks.read_text().replace(line, line.replace(right, wrong)))
    with open(folder / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
        file.write('c.Exercises.credit = "checks"\n')  # so that a mended check shows in the scores
    assert kit(folder, "build") == 0
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        book.update_or_create_assignment(NAME, duedate="2026-11-22 00:00:00 UTC")
    return folder


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


def in_the_gradebook(place):
    """(scores by student, points by student and exercise), as nbgrader itself adds them up."""
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        found = book.assignment_submissions(NAME)
        scores = {s.student.id: max(0.0, s.score - s.late_submission_penalty) for s in found}
        late = {s.student.id for s in found if s.late_submission_penalty}
        marks = {(s.student.id, g.name): g.score for s in found for g in s.notebooks[0].grades}
    assert late <= {f"s{index:02}" for index in LATE}
    return scores, marks


def text_of(element):
    return " ".join(element.get_text().split())


@pytest.mark.slow("it runs a course for a week")
def test_a_week(place, run, monkeypatch):
    monkeypatch.chdir(place)
    numbers = download(place)
    with open(place / "class.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(*name.rsplit(" ", 1), email(i), "yes" if i == DROPPED else "") for i, name in enumerate(NAMES)]
        csv.writer(file).writerows([("First name", "Last name", "Email address", "dropped"), *rows])
    assert "60 students" in run("roster", "class.csv").out

    # in
    said = run("collect", "01", "class.zip", "worksheet.csv", "--timezone", "Europe/Berlin", code=1)
    assert "56 handed in (56 new, 0 changed, 0 unchanged), from moodle" in said.out
    assert "late: s00, s01, s02, s03, s04" in said.out and "without a hand-in: s20, s21\n" in said.out
    assert "handed in, but nothing usable: s12\n" in said.out
    for index in (10, 11, 14):
        assert f"s{index}: '{ODD[index]}' is taken, since its cells are this assignment's" in said.out
    assert "s07 was dropped" in said.err and f"{STRANGER}_" in said.err and "on the roster" in said.err
    assert (place / "submitted" / "s00" / NAME / "timestamp.txt").read_text() == "2026-11-23 08:00:00 UTC\n"
    assert not (place / "submitted" / "s07").exists() and not list(place.parent.rglob("evil*"))
    again = run("collect", "01", "class.zip", "worksheet.csv", "--timezone", "Europe/Berlin", code=1)
    assert "56 handed in (0 new, 0 changed, 56 unchanged)" in again.out

    # graded, by the kit and by hand; a file in the dropped one's folder brings nobody back
    left = place / "submitted" / "s07" / NAME
    left.mkdir(parents=True)
    (left / f"{NAME}.ipynb").write_bytes(answers(place, 0))
    run("grade", "01")
    waiting = run("export", "01", "csv")
    assert "28 students have answers still to be graded by hand" in waiting.err
    with Gradebook(f"sqlite:///{place}/gradebook.db") as book:
        assert "s07" in {s.id for s in book.students} and not book.student_submissions("s07")
        for submission in book.assignment_submissions(NAME):
            grade = book.find_grade("why", NAME, NAME, submission.student.id)
            if grade.needs_manual_grade:
                grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.find_grade("normalise", NAME, NAME, COMPLAINED).manual_score = 2.0
        book.db.commit()
    run("report", "01")
    every_number_is_that_of_the_gradebook(place, run, numbers)
    mend(place, run)
    run("report", "01")
    every_number_is_that_of_the_gradebook(place, run, numbers)
    before = (place / "exports" / NAME / "moodle_feedback.zip").read_bytes()
    run("export", "01", "moodle", "--fill", "worksheet.csv")
    assert (place / "exports" / NAME / "moodle_feedback.zip").read_bytes() == before


def mend(place, run):
    """Mend both checks, see who would gain and who would lose, and grade again: that is what comes of it."""
    book = place / "gradebook.db"
    before, held = in_the_gradebook(place)[1], book.read_bytes()
    for exercise in NOT_MENDED:
        checks = place / "exercises" / exercise / "checks.py"
        checks.write_bytes((AVERAGES / "exercises" / exercise / "checks.py").read_bytes())
    verdicts = dict(Store(place).each(NAME))
    told = run("grade", "01", "--regrade", "--dry-run").out
    assert " 5 of 5 by checks" in told and " of 7" not in told.split("\nNothing")[0]
    assert book.read_bytes() == held and dict(Store(place).each(NAME)) == verdicts
    assert not (place / "reports" / f"{NAME}.changes.jsonl").exists()
    _, would_be = told.split("Nothing is written. The change would be: ")

    found = run("grade", "01", "--regrade").out
    _, was = found.split("For the same work: ")
    assert set(would_be.splitlines()) <= set(was.splitlines()), "it is not what was said before"
    after = in_the_gradebook(place)[1]
    gains = {at: after[at] - before[at] for at in after if after[at] != before[at]}
    handed_in = {student for student, _ in after}
    right, wrong = ({s for s in handed_in if int(s[1:]) % 3 == rest} for rest in (0, 1))
    assert gains == {
        **{(student, "normalise"): 0.5 for student in (right | wrong) - {COMPLAINED}},
        **{(student, "moving_average"): -2.0 for student in wrong},
    }
    assert f"{len(right | wrong)} gain, {len(wrong)} lose, {len(handed_in - right - wrong)} stay as they are." in was
    assert f"moving_average, test_values ({len(wrong)} lose): Each number is the mean of its window" in was
    assert f"normalise, test_wrong_rank ({len(right | wrong)} gain): What is no vector is refused" in was
    listed = [json.loads(line) for line in (place / "reports" / f"{NAME}.changes.jsonl").read_text().splitlines()]
    by_hand = {(COMPLAINED, "normalise"): 0.5}  # the checks give it now, too
    assert {(change["student"], change["exercise"]): change["gain"] for change in listed} == {**gains, **by_hand}
    assert {s: verdict.seed for s, verdict in Store(place).each(NAME)} == {s: v.seed for s, v in verdicts.items()}


def every_number_is_that_of_the_gradebook(place, run, numbers):
    """On the terminal, in the class report, on the students' pages, and in what is exported."""
    scores, marks = in_the_gradebook(place)
    assert len(scores) == 56 and len(set(scores.values())) >= 4 and {scores[s] for s in ("s00", "s02")} == {0.0}
    mean = statistics.fmean(scores.values())
    total = {student: f"{points(score)} / 7" for student, score in scores.items()}

    table = run("grade", "01").out
    shown = {line.split()[0]: line for line in table.splitlines() if re.match(r"s\d\d ", line)}
    assert shown.keys() == scores.keys()
    for student, line in shown.items():
        assert re.search(r"  ([\d.]+ / 7)(,.* late.*)?$", line)[1] == total[student], line
        assert re.findall(r" ([\d.]+)/[\d.]+ ", f"{line} ")[:2] == [
            points(marks[student, name]) for name in ("normalise", "moving_average")
        ]
    said = run("report", "01", "--by-hand").out
    assert f"56 students in the gradebook, with {points(round(mean, 1))} of 7 points on average." in said

    page = BeautifulSoup((place / "reports" / f"{NAME}.html").read_text(), "html.parser")
    rows = {row.select_one("th .under").get_text(): row for row in page.select("#students tbody tr")}
    assert len(rows) == 59 and all(
        text_of(rows[student].select("td")[-1]).startswith(total[student]) for student in scores
    )
    for student in scores:
        cells = [float(text_of(pill).split()[1]) for pill in rows[student].select(".pill")[:2]]
        assert cells == [marks[student, "normalise"], marks[student, "moving_average"]]
    facts = {text_of(one.dt).split(",")[0]: text_of(one.dd) for one in page.select(".numbers > div")}
    middle = statistics.median(scores.values())
    code = {student: verdict.score for student, verdict in Store(place).each(NAME)}
    assert facts == {
        "handed in": "56",
        "mean": points(round(mean, 2)),
        "median": points(round(middle, 2)),
        "all code right": str(sum(score == 5 for score in code.values())),
    }

    for number, name in enumerate(("normalise", "moving_average"), 1):
        head = text_of(page.select_one(f"#exercise-{number} .head p"))
        assert f"mean {points(round(statistics.fmean(marks[s, name] for s in scores), 2))} of" in head

    for student, score in scores.items():
        page = BeautifulSoup((place / "feedback" / student / NAME / f"{NAME}.html").read_text(), "html.parser")
        assert text_of(page.select_one(".score")) == f"{points(score)} of 7 points"
        pills = [text_of(pill) for pill in page.select(".part .pill")]
        cells = ("normalise", 2), ("moving_average", 3), ("why", 2)
        assert pills == [f"{points(marks[student, cell])} of {most} points" for cell, most in cells]

    said = run("export", "01", "moodle", "csv", "gradescope", "exercism", "--fill", "worksheet.csv")
    assert "by hand" not in said.err and "and with no grade (--zeros gives 0): s12, s20, s21" in said.err
    folder = place / "exports" / NAME
    sheet = list(csv.DictReader(io.StringIO((folder / "moodle_grades.csv").read_text())))
    given = {row["Email address"]: row for row in sheet}
    assert {e.split("@")[0]: float(r["Grade"]) for e, r in given.items() if r["Grade"]} == scores
    assert all(row["Identifier"] == f"Participant {numbers[e]}" for e, row in given.items()) and len(sheet) == 60
    assert "Feedback comments" not in sheet[0] and {r["Last modified (grade)"] for r in sheet} == {"-"}
    ours = {r["student_id"]: r for r in csv.DictReader(io.StringIO((folder / "grades.csv").read_text()))}
    assert {s: float(r["score"]) for s, r in ours.items() if s in scores} == scores and "s07" not in ours
    for student in scores:  # what an autograder finds has no penalties, and nothing that a person gave
        result = json.loads((folder / "gradescope" / student / "results.json").read_text())
        assert (
            result["score"] == pytest.approx(code[student]) == pytest.approx(sum(t["score"] for t in result["tests"]))
        )
    with zipfile.ZipFile(folder / "moodle_feedback.zip") as pages:
        assert len(pages.namelist()) == 56
        for name in pages.namelist():
            who, number, kind, plugin, rest = name.split("_", 4)
            student = f"s{NAMES.index(who):02}"
            assert (kind, plugin, rest) == ("assignsubmission", "file", f"/{NAME}.html")
            assert number == numbers[f"{student}@example.org"]
            assert pages.read(name) == (place / "feedback" / student / NAME / f"{NAME}.html").read_bytes()
