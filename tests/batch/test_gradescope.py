"""The zip for Gradescope, and what comes of the folders that students hand in there."""

import contextlib
import json
import os
import zipfile

import pytest
from conftest import ASSIGNMENT, ROOT, hand_in, load

from autograder import cli, course
from autograder.batch import gradescope
from autograder.errors import Unreadable, UsageError
from autograder.verdict import Graded, Verdict, without_grade


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("zip") / "02.zip"
    gradescope.bundle(course.assignments(ROOT)[ASSIGNMENT], path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture
def assignment():
    return course.assignments()[ASSIGNMENT]


def test_the_zip_has_what_gradescope_wants_at_its_top(archive):
    for name in ("setup.sh", "run_autograder"):
        assert archive.getinfo(name).external_attr >> 16 & 0o111
        assert archive.read(name).startswith(b"#!/usr/bin/env bash\n")
    assert f"gradescope {ASSIGNMENT} --sandbox process".encode() in archive.read("run_autograder")
    for name, text in gradescope.requirements().items():
        assert archive.read(name) == text.encode()


def test_the_zip_holds_the_course_and_the_kit_and_nothing_of_students(archive):
    names = archive.namelist()
    assert f"course/source/{ASSIGNMENT}/{ASSIGNMENT}.ipynb" in names and "kit/autograder/cli/__init__.py" in names
    assert "kit/autograder/exercises/attention/checks.py" in names
    assert len(names) == len(set(names)) < 1000
    for word in ("submitted", "gradebook", ".autograder", "__pycache__", "autograder/demo/", "feedback/", ".git"):
        assert not [name for name in names if word in name.split("report/")[0]], word


def test_the_zip_never_lies_where_others_get_files(monkeypatch):
    for place in ("release/02.zip", "submitted/x/02.zip", "source/02.zip"):
        with pytest.raises(UsageError, match="hidden checks"):
            gradescope.require_room(ROOT / place)
    gradescope.require_room(ROOT / "gradescope" / "02.zip")


def test_the_notebook_is_found_under_any_name(tmp_path, assignment, solution):
    with pytest.raises(Unreadable, match="no notebook"):
        gradescope.notebook_in(tmp_path, assignment)
    mine = hand_in(solution, tmp_path / "a", "mine (1).ipynb")
    assert gradescope.notebook_in(tmp_path, assignment) == mine
    other = "01_self_attention"
    hand_in(load(ROOT / "solutions" / other / f"{other}.ipynb"), tmp_path, "x.ipynb")
    hand_in("{}", tmp_path / "__MACOSX", "._mine.ipynb")
    assert gradescope.notebook_in(tmp_path, assignment) == mine
    hand_in(solution, tmp_path, "copy.ipynb")
    with pytest.raises(Unreadable, match="3 notebooks"):
        gradescope.notebook_in(tmp_path, assignment)
    named = hand_in(solution, tmp_path)
    assert gradescope.notebook_in(tmp_path, assignment) == named


def test_notebooks_that_are_not_graded_are_named_to_the_student(tmp_path, solution):
    assert gradescope.left_out(tmp_path, "") == ""
    graded = str(hand_in(solution, tmp_path))
    assert gradescope.left_out(tmp_path, graded) == ""
    hand_in(solution, tmp_path, f"{ASSIGNMENT} (1).ipynb")
    hand_in(solution, tmp_path / "a", "\x1b.ipynb")
    said = f"Graded: {ASSIGNMENT}.ipynb. Not graded: {ASSIGNMENT} (1).ipynb, a/\N{REPLACEMENT CHARACTER}.ipynb."
    assert gradescope.left_out(tmp_path, graded) == said
    for number in range(3):
        hand_in(solution, tmp_path / "a", f"{number}.ipynb")
    assert gradescope.left_out(tmp_path, graded).endswith("a/0.ipynb ….")


def test_links_and_floods_are_not_followed(tmp_path, assignment, monkeypatch):
    (tmp_path / f"{ASSIGNMENT}.ipynb").symlink_to(ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    (tmp_path / "folder").symlink_to(ROOT / "solutions")
    with pytest.raises(Unreadable, match="no notebook"):
        gradescope.notebook_in(tmp_path, assignment)
    monkeypatch.setattr(gradescope, "MOST_FILES", 1)
    with pytest.raises(Unreadable, match="more than 1 files"):
        gradescope.notebook_in(tmp_path, assignment)


def test_another_assignment_and_no_notebook_at_all_get_a_sentence(grader, tmp_path, assignment):
    other = "01_self_attention"
    hand_in(load(ROOT / "release" / other / f"{other}.ipynb"), tmp_path / "one", "x.ipynb")
    hand_in(b"\x00", tmp_path / "two")
    (tmp_path / "three").mkdir()
    for folder, says in (("one", f"This is {other}"), ("two", ""), ("three", "The hand-in contains no notebook")):
        verdict = gradescope.grade(assignment, tmp_path / folder, grader)
        assert verdict.score == 0 and {e.status for e in verdict.exercises} == {"rejected"}
        assert says in verdict.exercises[0].message and bool(verdict.path) == (folder != "three")
        assert verdict.max_score == sum(e.points for e in assignment.exercises)


def test_a_second_attempt_is_on_what_was_read_for_the_first(tmp_path, assignment, solution):
    path, programs = hand_in(solution, tmp_path), []

    class Stopped:
        def grade_program(self, program, wanted, seed):
            programs.append(program)
            path.write_text("{}")
            outcomes = [without_grade(e.name, e.points, "timeout", "so") for e in wanted]
            return Graded(Verdict(program.path, outcomes, seed, program.assignment))

    assert gradescope.grade(assignment, tmp_path, Stopped()).path == str(path)
    first, second = programs
    assert first is second and first.cells


def test_what_it_writes_is_whole_and_needs_both_options(grader, tmp_path, assignment, capsys, monkeypatch):
    gradescope.write_results(gradescope.grade(assignment, tmp_path, grader), tmp_path / "results.json")
    assert json.loads((tmp_path / "results.json").read_text())["score"] == 0.0
    for name in (f"{ASSIGNMENT}.ipynb", "mine.ipynb"):
        hand_in("{}", tmp_path, name)
    results = str(tmp_path / "results.json")
    monkeypatch.setattr("autograder.grading.start.started_grader", lambda *options: contextlib.nullcontext(grader))
    assert cli.main(["gradescope", "02", "--grade", str(tmp_path), "--results", results]) == 0
    said = json.loads((tmp_path / "results.json").read_text())["output"]
    assert said.endswith(f"\n\nGraded: {ASSIGNMENT}.ipynb. Not graded: mine.ipynb.")
    assert cli.main(["gradescope", "02", "--grade", str(tmp_path)]) == 2
    assert "go together" in capsys.readouterr().err
