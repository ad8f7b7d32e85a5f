"""What is kept on disk: whatever lies there, a run reads it or makes it anew, and nothing ends."""

import copy
import json
import os
import tracemalloc

import nbformat
import pytest
from conftest import ASSIGNMENT
from stand_ins import Engine, Writer, run, verdict

from autograder import course
from autograder.grading.store import LARGEST, Store, course_parts, parts_of
from autograder.nbgrader.preprocessors import notebook_cells, write_outputs
from autograder.report import class_report, class_text, outcome_text
from autograder.submission.restore import RestoredCell
from autograder.verdict import FULL, LEVELS, Check, Diagnosis, Graded, Outcome, Verdict, VerdictError

WRONG = [None, [], {}, [[]], {"a": 1}, "", "x", True, -1, 10**30, 1.5, float("nan"), float("inf"), "10", ["x"]]
OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": "seen"},
    {"output_type": "display_data", "data": {"text/plain": "seen"}, "metadata": {}},
    {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["t"]},
]


def whole():
    """A Graded in which everything is that can be kept."""
    graded = Graded(verdict("error"))
    first, second = graded.verdict.exercises[:2]
    second.checks = [Check("c", "values", 2.0, False, "it fails")]
    second.diagnosis = [Diagnosis("d", "so it went")]
    second.skipped = [{"name": "s", "message": "no GPU"}]
    cells = [RestoredCell("code", "", "a"), RestoredCell("markdown", "", "", copy_of="b", lesson=True, added=True)]
    return Graded(graded.verdict, cells, {0: OUTPUTS})


def places(data, path=()):
    """The paths to everything in a JSON value."""
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*path, key))


def replaced(data, path, value):
    if not path:
        return value
    made = copy.copy(data)
    made[path[0]] = replaced(data[path[0]], path[1:], value)
    return made


def removed(data, path):
    if len(path) > 1:
        return replaced(data, path[:1], removed(data[path[0]], path[1:]))
    return [v for i, v in enumerate(data) if i != path[0]] if isinstance(data, list) else {**data, path[0]: []}


def tally(student, verdict):
    """What the report and the table make of a verdict."""
    assignment = course.find_assignment("02")
    class_text.ClassTable(assignment).add(student, verdict)
    class_report.render(assignment, [(student, verdict)])


def use(graded):
    """Do with a Graded what a run does."""
    json.dumps(graded.verdict.to_dict(), allow_nan=False)
    outcome_text.verdict_as_text(graded.verdict)
    tally("ada", graded.verdict)
    cells = [RestoredCell("code", "", "") for _ in range(2)]
    notebook = notebook_cells(cells, {})
    write_outputs(notebook, cells, graded)
    for outcome in graded.verdict.exercises:
        outcome_text.as_html(outcome)
    nbformat.v4.writes(nbformat.v4.new_notebook(cells=notebook))


def test_what_was_stopped_is_found_apart_from_what_counts(tmp_path):
    results, stopped = Store(tmp_path), Graded(verdict("timeout"), stopped=True)
    results.put("key", stopped)
    assert results.get("key") is None and not results.has("key")
    assert results.was_stopped("key") and results.get_stopped("key") == stopped
    results.put("key", whole())
    assert results.get("key") == whole() and not results.was_stopped("key")


def test_what_was_kept_is_found_again(tmp_path):
    results = Store(tmp_path)
    results.put("key", whole())
    found = results.get("key")
    assert found == whole()
    use(found)
    results.put_latest(ASSIGNMENT, "ada", whole().verdict, {"key": "k"})
    assert results.latest_of(ASSIGNMENT, "ada") == (whole().verdict, {"key": "k"})


def test_results_with_wrong_types_count_as_not_there(tmp_path):
    results = Store(tmp_path)
    results.put("key", whole())
    (path,) = tmp_path.rglob("*.json")
    right = json.loads(path.read_text())
    refused = 0
    for place in places(right):
        for wrong in [right] if not place else WRONG:
            path.write_text(json.dumps(replaced(right, place, wrong)))
            found = results.get("key")
            refused += found is None
            if found is not None:
                use(found)
        if place:
            path.write_text(json.dumps(removed(right, place)))
            if (found := results.get("key")) is not None:
                use(found)
    assert refused > 500


def test_latest_verdicts_with_wrong_types_count_as_not_there(tmp_path):
    results = Store(tmp_path)
    results.put_latest(ASSIGNMENT, "ada", whole().verdict, {"key": "k"})
    (path,) = tmp_path.rglob("*.json")
    right = json.loads(path.read_text())
    for place in places(right):
        for wrong in WRONG:
            path.write_text(json.dumps(replaced(right, place, wrong)))
            found, _ = results.latest_of(ASSIGNMENT, "ada")
            if found is not None:
                tally("ada", found)
                json.dumps(found.to_dict(), allow_nan=False)


CONTENTS = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"7",
    "nested": b"[" * 200_000 + b"]" * 200_000,
    "nested in a verdict": b'{"verdict": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an empty verdict": b'{"verdict": []}',
    "other text": b'{"verdict": "full", "cells": 7, "outputs": [], "recorded": 7}',
    "empty": b"",
}


@pytest.mark.parametrize("content", CONTENTS)
def test_a_run_goes_on_whatever_lies_in_the_store(tmp_path, submit, content):  # noqa: F811
    for student in ("ada", "bela"):
        submit(student, "graded" if student == "ada" else "error")
    writer = Writer()
    made, done = run(tmp_path, Engine(), writer)
    results = Store(tmp_path)
    for student, found in done:
        results.put_latest(ASSIGNMENT, student, found)
    kept = list((tmp_path / ".autograder").rglob("*.json"))
    assert len(kept) == 5
    for path in kept:
        path.write_bytes(CONTENTS[content])
    made, done = run(tmp_path, Engine(), Writer())
    assert dict(done)["ada"].full and dict(done).keys() == {"ada", "bela"}
    assert results.latest(ASSIGNMENT) == {}


@pytest.mark.parametrize("kind", ["large", "pipe", "folder", "link"])
def test_files_that_are_none_of_ours_are_not_read(tmp_path, kind):
    results = Store(tmp_path)
    results.put("key", whole())
    (path,) = tmp_path.rglob("*.json")
    path.rename(tmp_path / "away")
    if kind == "large":
        path.write_bytes(b"")
        os.truncate(path, LARGEST + 1)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    tracemalloc.start()
    assert results.get("key") is None
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_levels_of_the_sandbox_never_mix(tmp_path):
    """A result is known at the level that made it alone, and says so; older records are of the full level."""
    store, of = Store(tmp_path), ("digest", ASSIGNMENT, 1, "cpu")
    keys = {level: store.key(*of, level) for level in LEVELS}
    assert len(set(keys.values())) == len(LEVELS) and store.key(*of) == keys[FULL]
    made = verdict("graded")
    made.sandbox = "process"
    data = made.to_dict()
    assert Verdict.from_dict(data).sandbox == "process"
    del data["sandbox"]
    assert Verdict.from_dict(data).sandbox == FULL
    with pytest.raises(VerdictError, match="level"):
        Verdict.from_dict({**data, "sandbox": "none"})


def test_reports_name_a_level_that_is_not_the_full_one():
    assignment, made = course.find_assignment("02"), verdict("graded")
    assert "--sandbox" not in class_report.render(assignment, [("ada", made)])
    made.sandbox = "process"
    page = class_report.render(assignment, [("ada", made), ("eva", verdict("graded"))])
    assert "1 of 2 submissions were graded with <code>--sandbox process</code>" in page


def test_an_older_record_has_one_score_which_is_by_checks():
    outcome = Outcome("one", 2.0, 4.0, "graded", diagnosis=[Diagnosis("x", "It is wrong.")])
    data = Verdict("", [outcome], 1).to_dict()
    del (
        data["exercises"][0]["by_checks"],
        data["exercises"][0]["by_prices"],
        data["exercises"][0]["diagnosis"][0]["price"],
    )
    found = Verdict.from_dict(data)
    assert found.exercises == [outcome] and found == found.credited("prices") == found.credited("checks")


@pytest.mark.parametrize("by_prices, score", [(3.0, 3.0), (1.0, 2.0)])
def test_a_score_is_the_larger_of_two_where_prices_count(by_prices, score):
    verdict = Verdict("", [Outcome("one", 2.0, 4.0, "graded", by_prices=by_prices)], 1)
    priced = Verdict.from_dict(verdict.credited("prices").to_dict())
    assert priced.score == score and priced.credited("checks") == verdict


@pytest.mark.parametrize("part, file", [("exercises", "checks.py"), ("source", "shared.ipynb")])
def test_a_change_behind_a_link_is_a_change_of_the_course(tmp_path, monkeypatch, part, file):
    """A course may share an exercise with another by a link: what was known of it then holds no more."""
    for folder in ("course/exercises", "course/source", "shared"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "course" / "nbgrader_config.py").touch()
    (tmp_path / "course" / part / "shared").symlink_to(tmp_path / "shared")
    (tmp_path / "shared" / "around").symlink_to(tmp_path / "shared")  # it ends all the same
    monkeypatch.chdir(tmp_path / "course")
    found = []
    for text in ("", "new", "new"):
        (tmp_path / "shared" / file).write_text(text)
        parts_of.cache_clear()
        found.append(course_parts())
    parts_of.cache_clear()
    assert found[0] != found[1] == found[2]
