"""The roster from each system's tables, and each layout of grades and feedback read back as its system reads it."""

import csv
import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from conftest import ASSIGNMENT, ROOT
from nbgrader.api import Gradebook

from autograder import course
from autograder.errors import UsageError
from autograder.grading.store import Store
from autograder.intake import tables
from autograder.intake.people import Student
from autograder.lms import exports, roster
from autograder.report import results_json
from autograder.report.standing import Mark, Standing
from autograder.verdict import Check, Diagnosis, Outcome, Verdict

WHO = {"ada": ("Ada", "Lovelace", "ada@example.org")}
HEADINGS = {
    "ours": ("id,first_name,last_name,email,lms_user_id,dropped", "ada,Ada,Lovelace,ada@example.org,123,"),
    "Moodle's grades": (
        "First name,Last name,ID number,Institution,Department,Email address,Assignment: HW (Real)",
        "Ada,Lovelace,123,,,ada@example.org,9",
    ),
    "Moodle's worksheet": (
        "Identifier,Full name,Email address,Status,Grade,ID number",
        "Participant 9,Ada Lovelace,ada@example.org,,,123",
    ),
    "Canvas's gradebook": (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (4)",
        '    Points Possible,,,,,10\n"Lovelace, Ada",123,s1,ada@example.org,A,\n"Student, Test",9,,'
        + "0a" * 20
        + ",A,",
    ),
    "Gradescope's": (
        "First Name,Last Name,SID,Email,Role",
        "Ada,Lovelace,123,ada@example.org,Student\nT,A,,t@x.org,TA",
    ),
    "with semicolons": ("id;first_name;last_name;email;lms_user_id", "ada;Ada;Lovelace;ada@example.org;123"),
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """An empty gradebook: making one takes seconds."""
    path = tmp_path_factory.mktemp("empty") / "gradebook.db"
    Gradebook(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def runs(tmp_path, empty):
    shutil.copy(empty, tmp_path)
    return SimpleNamespace(
        gradebook=lambda: Gradebook(f"sqlite:///{tmp_path}/gradebook.db"),
        directory=SimpleNamespace(db_url=f"sqlite:///{tmp_path}/gradebook.db"),
    )


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return tables.read_table(path)


# --- the roster -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HEADINGS)
def test_every_systems_table_is_a_roster(tmp_path, runs, kind):
    taken, _ = roster.take(table(tmp_path, "\n".join(HEADINGS[kind]), "utf-8-sig"), runs, Store(tmp_path))
    assert taken == [Student("ada", *WHO["ada"], "123")]
    assert list(roster.read(runs, Store(tmp_path))) == taken


def test_ids_that_the_gradebook_knows_are_kept(tmp_path, runs):
    with runs.gradebook() as book:
        book.add_student("al")
        book.add_student("mc@x.org")
    said = "First name,Last name,Email address\nAda,Lovelace,al@x.org\nMarie,Curie,mc@x.org\nKim,Lee,kl@x.org\n"
    taken, _ = roster.take(table(tmp_path, said), runs, Store(tmp_path))
    assert [s.id for s in taken] == ["al", "mc@x.org", "kl"]
    taken, _ = roster.take(table(tmp_path, "email\nx@a.org\nx@b.org\n"), runs, Store(tmp_path))
    assert [s.id for s in taken] == ["x", "x@b.org"]
    again, others = roster.take(table(tmp_path, said.replace("Kim,Lee,kl@x.org\n", "")), runs, Store(tmp_path))
    assert [s.id for s in again] == ["al", "mc@x.org"] and [s.id for s in others] == ["kl", "x", "x@b.org"]


def test_a_dropped_student_stays_so_until_taken_back(tmp_path, runs):
    store, said = Store(tmp_path), "id,dropped\nada,\nlee,yes\n"
    roster.take(table(tmp_path, said), runs, store)
    assert store.dropped() == {"lee"} and [s.id for s in roster.read(runs, store)] == ["ada"]
    roster.take(table(tmp_path, "id\nlee\n"), runs, store)
    assert store.dropped() == {"lee"}, "a table without that column drops and takes back nobody"
    roster.change(store, roster.read(runs, store), ["ada"], ["lee"])
    assert store.dropped() == {"ada"}
    with pytest.raises(UsageError, match="No student has the id eve"):
        roster.change(store, roster.read(runs, store), ["eve"], [])


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "not a table with a header"),
        ("a,b\n1,2\n", "is not a roster"),
        ("id\n../x\n", "row 2"),
        ("id\nada\nada\n", "the id of two students"),
        ("id\nAda\nada\n", "row 3: the ids 'Ada' and 'ada' differ only in case or form"),
        ("id\nzo\u00eb\nzoe\u0308\n", "row 3: the ids .* differ only in case or form"),
        ("id,dropped\nada,no\nbela,ja\n", "row 3: 'ja' in the column dropped: write yes or no"),
        ("email\nada@x.org\nADA@x.org\n", "row 2: the address ada@x.org is that of another row"),
        ("id,email\nada,ada@x.org; a@home.org\n", "row 2: 'ada@x.org; a@home.org' is not an e-mail address"),
        ("email\nAda <ada@x.org>\n", "row 2: 'Ada <ada@x.org>' is not an e-mail address"),
        ("email\nmailto:ada@x.org\n", "row 2: 'mailto:ada@x.org' is not an e-mail address"),
        ('id\n"ada', "not a table: save it as CSV"),
        ('id,email\n"ada\\",bela@uni.example,\\"",ada@uni.example\n', "row 2.*more cells than the header"),
        ("id,x\n" + "a" * 200_000, "not a table: save it as CSV"),
        ("a" * 200_000, "not a table: save it as CSV"),
    ],
)
def test_a_table_of_no_use_is_one_sentence_and_writes_nothing(tmp_path, runs, text, why):
    with pytest.raises(UsageError, match=why):
        roster.take(table(tmp_path, text), runs, Store(tmp_path))
    assert not list(roster.read(runs, Store(tmp_path)))


@pytest.mark.parametrize(
    "text",
    [
        "Vorname,Name,E-Mail\nBela,Bartok,b@x.example\n",
        "Prénom,Nom,E-mail\nBela,Bartok,b@x.example\n",
        "Nom,Cognoms,E-mail\nBela,Bartok,b@x.example\n",
        "Nom,E-mail\nBela Bartok,b@x.example\n",
        "Name,E-mail\nBela Bartok,b@x.example\n",
    ],
)
def test_a_table_made_by_hand_loses_no_part_of_a_name(tmp_path, runs, text):
    ((bela,), _) = roster.take(table(tmp_path, text), runs, Store(tmp_path))
    assert (bela.first_name, bela.last_name) == ("Bela", "Bartok")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_are_read_as_spreadsheets_save_them(tmp_path, encoding, end):
    assert table(tmp_path, f"id\tlast_name{end}zoe\tGödel{end}", encoding).rows == [["zoe", "Gödel"]]


@pytest.mark.parametrize("known, new", [("ada", "Ada"), ("Ada", "ada"), ("zo\u00eb", "zoe\u0308")])
def test_no_id_is_that_of_somebody_known_in_another_case(tmp_path, runs, known, new):
    """A grade would be looked for beside the right row; where case is one, both would have one folder."""
    roster.take(table(tmp_path, f"id,email\n{known},al@x.org\n"), runs, Store(tmp_path))
    with pytest.raises(UsageError, match=f"row 2: the ids '{known}' and '{new}' differ only in case or form"):
        roster.take(table(tmp_path, f"id,email\n{new},mc@x.org\n"), runs, Store(tmp_path))
    roster.take(table(tmp_path, "email\nada@x.org\n"), runs, Store(tmp_path))
    ids = [student.id.casefold() for student in roster.read(runs, Store(tmp_path))]
    assert len(ids) == len(set(ids)) == 2


# --- grades ---------------------------------------------------------------------------------------

EVIL = '=HYPERLINK("http://example.org")'


def standing(score, waits=False):
    """What the gradebook has of a submission with these points, of ten."""
    answer = (Mark("essay", "", None, None, 0.0, 1.0, True),) if waits else ()
    return Standing((Mark("one", "one", score, None, 0.0, 10.0, False), *answer))


ADA = exports.Grade(
    Student("ada", *WHO["ada"], "123"),
    standing(7.5),
    {
        "system": "canvas",
        "lms_id": "123",
        "entry": f"lovelaceada_123_456_{ASSIGNMENT}.ipynb",
        "participant": "4711",
        "given": "Ada Lovelace_4711_assignsubmission_file_",
        "name": "Ada Lovelace",
    },
)
BAD = exports.Grade(
    Student("bad", EVIL, "+1", "@x", ""), standing(12.0, waits=True), {"participant": "4712", "name": EVIL}
)
EVE = exports.Grade(Student("eve", "Eve", "Ning", "eve@example.org", "125"), None, {})
ALL, TEN = [ADA, BAD, EVE], exports.Settings(10.0)


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def moodle_reads(text):
    """{participant: grade} as mod/assign/feedback/offline/importgradeslib.php and locallib.php read it."""
    header, *lines = rows(text)
    id, grade, _ = (header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)"))
    found = {line[id][len("Participant ") :]: line[grade] for line in lines}
    return {who: float(score) for who, score in found.items() if score != "" and 0 <= float(score) <= 10}


def test_moodles_worksheet_without_and_with_its_own():
    text, remarks = exports.moodle_table(ALL, TEN)
    assert moodle_reads(text) == {"4711": 7.5} and "--fill" in remarks[-1]


def test_moodles_own_worksheet_is_filled_in(tmp_path):
    sheet = table(
        tmp_path,
        "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
        "Last modified (submission),Online text,Last modified (grade),Feedback comments\n"
        'Participant 4711,Ada Lovelace,ada@example.org,Submitted,3,"10,00",Yes,x,=1,"Monday, 1 June 2026, 9:00 AM",=2\n'
        "Participant 4712,=Bad,b@x,Submitted,,10.00,Yes,-,,-,\nParticipant 9,Eve,eve@example.org,,,10.00,Yes,-,,-,\n",
    )
    text, remarks = exports.moodle_filled(ALL, TEN, sheet)
    assert moodle_reads(text) == {"4711": 7.5} and remarks == ["bad: 12 is more than 10, so Moodle will ignore it"]
    assert rows(text)[1][-1] == "Monday, 1 June 2026, 9:00 AM" and "Online text" not in text and "'=Bad" in text
    assert moodle_reads(exports.moodle_filled(ALL, exports.Settings(10.0, zeros=True), sheet)[0])["9"] == 0
    with pytest.raises(UsageError, match="The highest grade is 10 in .* and 20 in the course"):
        exports.moodle_filled(ALL, exports.Settings(20.0), sheet)
    scaled, _ = exports.moodle_filled(ALL, exports.Settings(20.0, scale=True), sheet)
    assert moodle_reads(scaled) == {"4711": 3.75, "4712": 6.0}


def canvas_reads(text):
    """(title, id of the assignment, its points, {user id: grade}) as lib/gradebook_importer.rb reads it."""
    header, *lines = rows(text)
    assert "Student" in header[0] and "ID" in header[1] and re.match(r"SIS\s+User\s+ID", header[2])
    assert re.match(r"SIS\s+Login\s+ID", header[3]) and "Section" in header[4] and len(header) == 6
    title, id = re.fullmatch(r"(.*?)(?: \((\d+)\))?", header[5]).groups()
    (points,) = [float(line[5]) for line in lines if "Points Possible" in line[0]]
    return title, id, points, {line[1]: line[5] for line in lines if "Points Possible" not in line[0]}


def test_canvas_gradebook_without_and_with_its_own(tmp_path):
    text, remarks = exports.canvas_table(ALL, TEN, ASSIGNMENT)
    assert canvas_reads(text) == (ASSIGNMENT, None, 10.0, {"123": "7.5", "": "12.0", "125": ""})
    assert "makes one" in remarks[0] and "'=HYPERLINK" in text and not re.search(r"(^|,)[=+@]", text, re.MULTILINE)
    assert canvas_reads(exports.canvas_table(ALL, TEN, ASSIGNMENT, "HW (77)")[0])[:2] == ("HW", "77")
    own = (
        "Student,ID,SIS User ID,SIS Login ID,Section,Notes,HW 1 (76),HW 2 (77),Final Score\n"
        ",,,,,,,Manual Posting,\n    Points Possible,,,,,,5,10,(read only)\n"
        '"Lovelace, Ada",123,s1,al,A,n,5,,\n"Ning, Eve",125,,eve@example.org,A,,1,3,\n"Lee, Kim",9,,kl,A,,4,4,\n'
    )
    text, remarks = exports.canvas_filled(ALL, TEN, ASSIGNMENT, table(tmp_path, own))
    assert canvas_reads(text) == ("HW 2", "77", 10.0, {"123": "7.5", "125": "", "9": ""}), "no grade: as it was"
    assert remarks == [
        "the grades go into the column 'HW 2 (77)', which has the assignment's number: use --column for another",
        f"bad: not in {tmp_path}/table.csv, so no row gets the grade",
    ]
    with pytest.raises(UsageError, match="Which column"):
        exports.canvas_filled(ALL, TEN, "03_x", table(tmp_path, own))
    with pytest.raises(UsageError, match="highest grade"):
        exports.canvas_filled(ALL, TEN, "01_x", table(tmp_path, own))


# --- feedback -------------------------------------------------------------------------------------


def moodle_takes(name):
    """(participant, the file's name) as importziplib.php reads a path in the zip."""
    parts = name.split("/")
    info = (parts[0].split("_", 4) + [""])[:5]
    assert info[1].isdigit() and info[2:4] == ["assignsubmission", "file"]
    return info[1], "/".join([info[4], *parts[1:]]).strip("/")


def canvas_takes(name):
    """(user id, attachment id) as `infer_comment_context_from_filename` reads a name in the zip."""
    return tuple([part for part in name.split("_") if part.isdigit()][:2])


def test_feedback_goes_back_under_the_names_it_came_by(tmp_path, monkeypatch):
    assignment = course.assignments(ROOT)[ASSIGNMENT]
    page = tmp_path / "feedback" / "ada" / ASSIGNMENT / f"{ASSIGNMENT}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>right</p>")
    data, remarks = exports.moodle_feedback(tmp_path, ALL, assignment)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert [moodle_takes(n) for n in archive.namelist()] == [("4711", f"{ASSIGNMENT}.html")]
        assert archive.read(archive.namelist()[0]) == b"<p>right</p>"
    assert len(remarks) == 1 and "bad" in remarks[0]

    by_hand = Mark("attention", "attention", 1.5, 9.0, 0.0, 10.0, False)
    ada = replace(ADA, standing=Standing((by_hand, Mark("essay", "", None, 2.0, 0.0, 4.0, False)), penalty=1.0))
    results = Store(tmp_path)
    results.put_latest(ASSIGNMENT, "ada", verdict())
    data, _ = exports.canvas_feedback(tmp_path, [ada, BAD, EVE], assignment, results)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (name,) = archive.namelist()
        notebook = json.loads(archive.read(name))
    assert canvas_takes(name) == ("123", "456") and name == ADA.note["entry"]
    text = "\n".join(cell["source"] for cell in notebook["cells"])
    assert (
        "10 of 14 points, 1 deducted because it was late" in text
        and "Changed by hand: 9 of 10" in text
        and "2 of 4 points" in text
    )
    assert "<script>" not in text and "\n\n![" not in text


# --- results.json ---------------------------------------------------------------------------------


def verdict():
    checks = [
        Check("test_a", "values", 1.5, True, "It is right."),
        Check(
            "test_b",
            "masking",
            0.5,
            False,
            "It hides. It does not.\n\n![x](//evil) <script>",
            "It does not.\n\n![x](//evil) <script>",
        ),
    ]
    return Verdict(
        "x.ipynb",
        [
            Outcome("attention", 1.5, 2.0, "graded", checks, [Diagnosis("id", "The mask is late.", "y = 1")]),
            Outcome("Head", 0.0, 3.0, "timeout", message="It ran too long."),
        ],
        seed=1,
        assignment=ASSIGNMENT,
    )


def test_gradescopes_fields():
    """Against https://gradescope-autograders.readthedocs.io/en/latest/specs/."""
    made = json.loads(json.dumps(results_json.gradescope(verdict(), "after_published")))
    top = {
        "score",
        "execution_time",
        "output",
        "output_format",
        "test_output_format",
        "test_name_format",
        "visibility",
        "stdout_visibility",
        "extra_data",
        "tests",
        "leaderboard",
    }
    each = {
        "score",
        "max_score",
        "status",
        "name",
        "name_format",
        "number",
        "output",
        "output_format",
        "tags",
        "visibility",
        "extra_data",
    }
    assert made.keys() <= top and made["score"] == 1.5 and isinstance(made["extra_data"], dict)
    visible = {"hidden", "after_due_date", "after_published", "visible"}
    formats = {"text", "html", "simple_format", "md", "ansi"}
    assert made["visibility"] in visible and made["stdout_visibility"] in visible and made["output_format"] in formats
    for test in made["tests"]:
        assert test.keys() <= each and test["status"] in ("passed", "failed") and test["visibility"] in visible
        assert test["output_format"] == test["name_format"] == "text" and 0 <= test["score"] <= test["max_score"]
        assert isinstance(test["number"], str) and isinstance(test["tags"], list)
    assert [(t["number"], t["name"]) for t in made["tests"]] == [("1", "attention"), ("2", "Head")]
    assert sum(t["max_score"] for t in made["tests"]) == 5 and "The mask is late." in made["tests"][0]["output"]
    assert "test_a" not in json.dumps(made), "names of checks are not for students"


def test_gradescope_shows_the_names_first_and_a_test_for_each_exercise():
    """As docs/containers.md promises: what is wrong and what to do next on top, the checks in the exercise's test."""
    made = results_json.gradescope(verdict())
    assert made["output"] == (
        "1.5 of 5 points\n\nattention: The mask is late. In your line: y = 1\nHead: It ran too long.\n\n"
        "Next step: fix attention. Its test below says more."
    )
    first, second = (test["output"] for test in made["tests"])
    assert first.startswith("What went wrong: The mask is late.\n  in your line: y = 1\nFAIL")
    assert "It hides. It does not." in first and first.splitlines()[-1].endswith("It is right.")
    assert second == "ran too long: It ran too long."
    assert [test["status"] for test in made["tests"]] == ["failed", "failed"]
    fresh = Verdict("", [Outcome("Head", 0.0, 3.0, "graded", not_started=True), Outcome("x", 1.0, 1.0, "graded")], 1)
    made = results_json.gradescope(fresh)
    assert (
        made["output"] == "1 of 4 points\n\nHead: not started\n\nNext step: begin with Head. Its test below says more."
    )
    assert [test["output"] for test in made["tests"]] == ["not started", "x: 1 of 1 points"]
    rejected = [Outcome(name, 0.0, 1.0, "rejected", message="It is not a notebook.") for name in "ab"]
    assert results_json.gradescope(Verdict("", rejected, 1))["output"] == "0 of 2 points\n\nIt is not a notebook."
    right = Verdict("", [Outcome("x", 1.0, 1.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    assert results_json.gradescope(right)["output"] == "1 of 1 points"


def test_exercisms_fields():
    """Against https://exercism.org/docs/building/tooling/test-runners/interface, version 3."""
    made = json.loads(json.dumps(results_json.exercism(verdict())))
    assert made.keys() == {"version", "status", "message", "tests"}
    assert (made["version"], made["status"], made["message"]) == (3, "fail", None)
    assert [(t["status"], t["task_id"]) for t in made["tests"]] == [("pass", 1), ("fail", 1), ("error", 2)]
    assert all(t["message"] is None if t["status"] == "pass" else t["message"] for t in made["tests"])
    assert all(t.keys() <= {"name", "test_code", "status", "message", "output", "task_id"} for t in made["tests"])
    stopped = Verdict("", [Outcome("Head", 0.0, 3.0, "error", message="SyntaxError")], 1)
    assert (
        results_json.exercism(stopped)["status"] == "error"
        and "SyntaxError" in results_json.exercism(stopped)["message"]
    )
    right = Verdict("", [Outcome("Head", 1.0, 1.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    assert results_json.exercism(right)["status"] == "pass"


def test_changed_points_still_sum_up():
    """If the checks' points are not the exercise's, the exercise is one test."""
    odd = Verdict("", [Outcome("Head", 7.0, 20.0, "graded", [Check("t", "values", 1.0, True, "Right.")])], 1)
    made = results_json.gradescope(odd)
    assert made["score"] == 7.0 and made["tests"][0]["max_score"] == 20.0


def test_the_instructor_alone_learns_of_a_mistake_of_the_checks():
    outcome = Outcome("Head", 1.0, 3.0, "graded", unjudged="test_b raised KeyError")
    *seen, told = results_json.gradescope(Verdict("", [outcome], 1, sandbox="process"))["tests"]
    assert told["visibility"] == "hidden" and "KeyError" in told["output"] and told["max_score"] == 0.0
    assert "KeyError" not in json.dumps(seen)


def test_the_table_has_a_column_for_what_was_measured_and_leaves_it_empty_where_nothing_was(monkeypatch):
    measured = {"ada": {"loss": 0.01234567, "bytes": 128.0}, "bela": {"bytes": 64.0}, "carl": None}
    verdicts = {
        who: found and Verdict("", [Outcome("MyModel", 10.0, 10.0, "graded", measured=found)], seed=1)
        for who, found in measured.items()
    }
    results = SimpleNamespace(latest_of=lambda name, student: (verdicts[student], None))

    book = MagicMock()
    monkeypatch.setattr(exports.exporting, "row", lambda book, about, student: exports.exporting.COLUMNS)
    students = [SimpleNamespace(id=who) for who in measured]
    text = exports.nbgrader_table(SimpleNamespace(gradebook=book), SimpleNamespace(name="12"), students, results)
    header, *rows = csv.reader(io.StringIO(text))
    assert header[-2:] == ["MyModel bytes", "MyModel loss"]
    assert [one[-2:] for one in rows] == [["128.0", "0.0123"], ["64.0", ""], ["", ""]]
