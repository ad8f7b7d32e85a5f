"""The export of attempts: tables as the standard has them, and nothing in them says who somebody is."""

import csv
import json
import sqlite3
from collections import Counter
from pathlib import Path

import desk_class
import one_process
import pytest
from small_course import NAME, copy

from autograder import course
from autograder.desk import progsnap
from autograder.desk.record import Record

SECRET = "Adalbert Geheim"


@pytest.fixture(scope="module")
def kit(grader):
    with one_process.kit(grader) as run:
        yield run


@pytest.fixture(scope="module")
def place(tmp_path_factory, kit):
    place = copy(tmp_path_factory.mktemp("built") / "course")
    assert kit(place, "build") == 0
    course.forget()
    return place


@pytest.fixture
def record(place, tmp_path, monkeypatch):
    monkeypatch.chdir(place)
    course.forget()
    record = Record(f"sqlite:///{tmp_path}/desk.db")
    yield record
    record.close()
    course.forget()


def hand_in(record, place, who, answers, **how):
    notebook = desk_class.notebook(place, NAME, answers)
    notebook["cells"].append({**notebook["cells"][-1], "cell_type": "markdown", "source": SECRET, "metadata": {}})
    desk_class.hand_in(record, place, who, NAME, json.dumps(notebook).encode(), **how)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_tables_are_as_the_standard_has_them(place, record, grader, tmp_path):
    wrong = desk_class.mistaken(place, NAME, "normalise", ".sqrt()", "")
    source = wrong["normalise"].replace("\n", f'\n    """By {SECRET}."""  # {SECRET}\n', 1)
    ada = desk_class.visitor(SECRET, subject=SECRET)
    hand_in(record, place, ada, {"normalise": source})
    hand_in(record, place, ada, desk_class.mistaken(place, NAME, "normalise", "", ""), exercise="normalise")
    hand_in(record, place, desk_class.visitor("bob"), {"normalise": f"def normalise(: # {SECRET}"})
    hand_in(record, place, desk_class.visitor("", subject="t", role="instructor"), {})
    desk_class.grade_all(record, grader)
    out = tmp_path / "out"
    said = progsnap.export(place, record, out, "averages")
    assert "3 attempts of 2 students" in said
    about = {row["Property"]: row["Value"] for row in read(out / "DatasetMetadata.csv")}
    assert about["Version"] == "1.0" and about["CodeStateRepresentation"] == "Table"
    main = read(out / "MainTable.csv")
    assert [row["EventID"] for row in main] == [row["Order"] for row in main] == [str(n + 1) for n in range(len(main))]
    for row in main:
        needed = ["EventType", "EventID", "SubjectID", "ToolInstances"]
        needed += {"Run.Test": ["ExecutionID", "TestID", "ExecutionResult"]}.get(row["EventType"], [])
        needed += {
            "Intervention": ["EventInitiator", "InterventionCategory", "InterventionType", "InterventionMessage"]
        }.get(row["EventType"], [])
        assert all(row[name] for name in needed), row
    submits = [row for row in main if row["EventType"] == "Submit"]
    assert Counter(row["ProblemID"] for row in submits)["normalise"] == 3
    first, second = [row for row in submits if row["ProblemID"] == "normalise"][:2]
    assert first["SubjectID"] == second["SubjectID"] and (first["Attempt"], second["Attempt"]) == ("1", "2")
    assert float(first["Score"]) < 1 and float(second["Score"]) == 1
    (told,) = [row for row in main if row["EventType"] == "Intervention" and row["ParentEventID"] == first["EventID"]]
    assert told["InterventionType"] == "no-root" and told["InterventionMessage"].startswith(
        "It divides by the variance"
    )
    tests = [row for row in main if row["EventType"] == "Run.Test" and row["ExecutionID"] == second["ExecutionID"]]
    assert tests and {row["ExecutionResult"] for row in tests} == {"Success"}
    code = {row["CodeStateID"]: row["Code"] for row in read(out / "CodeStates" / "CodeStates.csv")}
    assert "mean()" in code[first["CodeStateID"]] and "sqrt" in code[second["CodeStateID"]]
    assert {row["CodeStateID"] for row in main} - {""} == code.keys()
    assert {row["ProblemID"] for row in read(out / "LinkTables" / "Problem.csv")} == {
        e.name for e in course.find_assignment("01").exercises
    }
    written = "".join(path.read_text(encoding="utf-8") for path in out.rglob("*") if path.is_file())
    assert SECRET not in written and "bob" not in written and "1 answers that are no Python" in written
    again = tmp_path / "again"
    progsnap.export(place, record, again, "averages")
    assert (again / "MainTable.csv").read_bytes() == (out / "MainTable.csv").read_bytes()


def test_pseudonyms_are_another_desks_own(place, record, grader, tmp_path):
    hand_in(record, place, desk_class.visitor("ada"), {})
    desk_class.grade_all(record, grader)
    progsnap.export(place, record, tmp_path / "one", "c")
    other = Record(f"sqlite:///{tmp_path}/other.db")
    hand_in(other, place, desk_class.visitor("ada"), {})
    desk_class.grade_all(other, grader)
    progsnap.export(place, other, tmp_path / "two", "c")
    other.close()
    subjects = [read(tmp_path / name / "MainTable.csv")[0]["SubjectID"] for name in ("one", "two")]
    assert subjects[0] != subjects[1]


def test_what_cannot_be_exported_is_one_sentence(place, record, kit, tmp_path, capsys):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for folder, said in (
        (tmp_path / "full", "is there already and is not empty"),
        (tmp_path / "new", "Nothing is graded"),
    ):
        url = f"sqlite:///{tmp_path}/desk.db"
        assert kit(place, "desk", "--export", str(folder), "--database", url) == 2
        assert said in capsys.readouterr().err
    assert not Path(tmp_path / "new").exists()


@pytest.mark.parametrize("how", [["--digest"], ["--export", "out"]])
def test_what_only_reads_makes_no_records(place, kit, capsys, how):
    (place / "empty.db").touch()
    for file in ("other.db", "empty.db", "gradebook.db"):
        assert kit(place, "desk", *how, "--database", f"sqlite:///{place / file}") == 2
        assert f"{file} has no desk's records" in capsys.readouterr().err
    assert kit(place, "desk", *how) == (0 if how == ["--digest"] else 2)
    assert "waits" not in capsys.readouterr().out
    assert not {"desk.db", "other.db", "out"} & {path.name for path in place.iterdir()}
    assert not (place / "empty.db").stat().st_size
    with sqlite3.connect(place / "gradebook.db") as book:
        assert not book.execute("select 1 from sqlite_master where name like 'desk%'").fetchall()


@pytest.mark.parametrize(
    "code, plain",
    [
        ("x = 1  # me", "x = 1"),
        ('"""me"""', "pass"),
        ("# only me", ""),
        ("", ""),
        ('def f():\n    "me"', "def f():\n    pass"),
        ('if x:\n    y\nelse:\n    "me"', "if x:\n    y\nelse:\n    pass"),
        ("class A(: # me", None),
        ("!echo me", None),
        (f"y = {'+'.join(['x'] * 300)}", f"y = {' + '.join(['x'] * 300)}"),
        (f"y = {'+'.join(['x'] * 2000)}", None),  # too deep to be written
    ],
)
def test_comments_and_docstrings_are_left_out(code, plain):
    assert progsnap._without_prose(code) == plain
    assert progsnap._without_prose(code) == plain, "what it took out is not missed by the next reader"
