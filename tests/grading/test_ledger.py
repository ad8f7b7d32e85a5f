"""What grading costs, as AUTOGRADER_COSTS has it written: what is counted, for whom, and that no student sees it."""

import dataclasses
import json
import os
import select
import stat
import subprocess
import sys
import time

import pytest
import small_course
from conftest import ROOT

from autograder import course
from autograder.batch import pool, tasks
from autograder.errors import UsageError
from autograder.grading import ledger, start
from autograder.grading.apart import GraderApart
from autograder.grading.ledger import COUNTED, CPU, LONGEST, Ledger, Process
from autograder.mistakes.bank import bank, right_answer
from autograder.mistakes.name_check import cells_for
from autograder.submission.restore import RestoredCell
from autograder.verdict import Diagnosis, Graded, Outcome, Verdict

ATTENTION = course.exercises()["attention"]
WRONG = bank("attention")["softmax-over-queries"].source
# which one edit makes right, and no mistake of the bank is
SLIP = bank("attention").right.replace("weights.masked_fill(~has_a_key, 0.0)", "weights.masked_fill(~has_a_key, 0.7)")
assert bank("attention").right != SLIP
PEEK = """
import glob, os, sys
print(sorted(os.environ), file=sys.stderr)
for path in [*glob.glob("/proc/*/environ"), "COSTS"]:
    try:
        print(path, open(path, "rb").read())
    except OSError as error:
        print(path, error.strerror)
for number in (0, 1, 2, 4, 5, 6):  # 3 is its own connection
    try:
        os.write(number, b'{"costs": 1, "submission": "forged"}\\n')
    except OSError:
        pass
try:
    open("COSTS", "a").write("forged")
except OSError as error:
    print(error.strerror)
"""


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("costs") / "costs.jsonl"


@pytest.fixture(scope="module")
def counting(file):
    """A grader that counts, as commands use it."""
    with GraderApart(ledger=Ledger(file)) as grader:
        yield grader


@pytest.fixture
def graded(counting, file):
    """Grades answers to one exercise: what was graded, the lines of its exercises, and the line of the submission."""

    def graded(exercise, answer, before=(), **settings):
        file.write_text("")
        cells = [*(RestoredCell("code", text, "") for text in before), *cells_for(exercise, answer)]
        made = counting.grade_cells(cells, [course.exercises()[exercise]], 1, **settings)
        *exercises, whole = lines_of(file)
        assert made.costs == [*exercises, whole]
        return made, exercises, whole

    return graded


def test_a_right_answer_costs_its_checks(graded):
    made, (line,), whole = graded("attention", right_answer("attention"), path="ada.ipynb")
    (outcome,) = made.verdict.exercises
    assert outcome.full
    assert {line["submission"], whole["submission"]} == {"ada.ipynb"}
    assert (line["exercise"], line["status"], line["score"], line["names"]) == ("attention", "graded", 10, [])
    assert list(line["stages"]) == ["checks"] and list(whole["stages"]) == ["cells"]
    assert line["checks"] == len(outcome.checks) + len(outcome.skipped)
    assert line["round_trips"] > 10 and line["bytes_sent"] > 10_000 and line["bytes_received"] > 10_000
    assert (line["checks_of_mistakes"], line["edits"], line["children"]) == (0, 0, 0)
    assert whole["children"] == 1 and whole["cells"] == len(made.cells)
    for name in (*COUNTED, *CPU, "seconds"):
        assert whole[name] >= line[name] >= 0
    assert line["cpu_grading"] > 0 < line["cpu_sandbox"]
    assert whole["slowest_cell"].startswith("code cell ") and 0 < whole["slowest_cell_seconds"] < whole["seconds"]
    (process,) = whole["processes"]
    assert process["stage"] == "cells" and process["cpu"] >= whole["cpu_sandbox"] * 0.5 and process["memory"] > 2**26


def test_a_wrong_one_costs_its_diagnosis(graded):
    _, (line,), _ = graded("attention", WRONG)
    assert line["names"] == ["softmax-over-queries"]
    assert line["stages"]["diagnosis"]["checks_of_mistakes"] == line["checks_of_mistakes"] > 10
    assert line["stages"]["diagnosis"]["cpu_grading"] > 0
    assert "edits" not in line["stages"]["diagnosis"], "what is 0 is left out"


def test_an_edit_that_is_looked_for_costs_edits_and_processes(graded):
    _, (line,), whole = graded("attention", SLIP)
    assert line["names"] == ["place-one-change"]
    assert line["edits"] == line["stages"]["edits"]["edits"] > 0
    assert whole["children"] == len(whole["processes"]) > 1
    assert {one["exercise"] for one in whole["processes"]} == {"", "attention"}
    assert {one["stage"] for one in whole["processes"]} >= {"cells", "edits"}
    assert sum(one["cpu"] for one in whole["processes"]) == pytest.approx(whole["cpu_sandbox"], rel=0.5)


def test_learning_what_checks_ask_is_told_apart_and_saves_round_trips(graded):
    assignment = ATTENTION.assignment
    *_, first = graded("attention", right_answer("attention"), assignment=assignment)
    lines = [graded("attention", right_answer("attention"), assignment=assignment)[1:] for _ in range(2)]
    assert "learning" not in first["stages"] or "learning" not in lines[-1][1]["stages"]
    ((line,), whole) = lines[-1]
    assert line["requests"] > 2 * line["round_trips"], "they are sent together"
    assert whole["children"] == 1


def test_costs_change_no_verdict(graded, grader):
    for answer in (right_answer("attention"), WRONG):
        made, *_ = graded("attention", answer)
        plain = grader.grade_cells(cells_for("attention", answer), [ATTENTION], 1)
        assert made.verdict == plain.verdict and plain.costs == []


def test_a_student_sees_and_forges_nothing(graded, counting, file, monkeypatch):
    monkeypatch.setenv(start.COSTS, str(file))
    counting.end_process()
    counting.parent.close()  # so that the sandbox starts with the variable
    made, lines, whole = graded("attention", right_answer("attention"), before=[PEEK.replace("COSTS", str(file))])
    shown = json.dumps(made.outputs)
    assert "AUTOGRADER" not in shown and "softmax" not in shown and "PATH" in shown
    assert len(lines) == 1 and "forged" not in file.read_text() + json.dumps(whole)


def test_what_it_is_called_stays_on_one_line(counting, graded):
    strange = "x" * 10_000 + 'a"\n{"costs": 2}\u2028'
    _, (line,), whole = graded("softmax", right_answer("softmax"), path=strange)
    assert line["submission"] == whole["submission"] and strange.endswith(line["submission"])
    assert LONGEST - 12 <= len(json.dumps(line["submission"])) <= LONGEST


def test_who_has_handed_in_is_told_where_a_worker_knows(counting, file):
    """Whose bytes they are, the worker knows from its task."""
    name = next(iter(course.assignments()))
    data = (ROOT / "solutions" / name / f"{name}.ipynb").read_bytes()
    file.write_text("")
    for student in ("ada", "bela"):
        exercise = course.assignments()[name].exercises[0].name
        assert not isinstance(
            tasks.grade(counting, tasks.Task(student, "", data, name, 1, exercise=exercise)), Exception
        )
    assert [line["submission"] for line in lines_of(file) if "exercise" in line] == ["ada", "bela"]
    counting.ledger.about = ""


def test_a_process_that_ends_is_told_with_what_it_was_at(counting, file, monkeypatch):
    file.write_text("")
    counting.end_process()
    checks = counting.graders.checks["softmax"]
    crash = dataclasses.replace(checks[0], test=lambda submission, draw: os._exit(3))
    monkeypatch.setitem(counting.graders.checks, "softmax", [crash, *checks[1:]])
    cells = cells_for("softmax", right_answer("softmax"))
    counting.apart(burn, 1.0)
    counting.grade_cells(cells, [course.exercises()["softmax"]], 1, path="ada.ipynb")
    counting.end_process()
    first, second, *_ = lines_of(file)
    for line in (first, second):
        assert line["submission"] == "ada.ipynb"
        assert "softmax" in line["lost"] and "ended with code 3" in line["why"] and line["cpu_grading"] > 0
    assert first["cpu_grading"] < 1, "what it took for submissions before is theirs"


def burn(grader, seconds):
    """In the process that grades: take so many seconds of CPU."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def dearest():
    """A ledger with the longest lines that a submission makes, and that submission."""
    made = Ledger()
    made.begin("\U0001f600" * 1000, "05_transformer_block_and_gpt")
    every = {**dict.fromkeys(COUNTED, 10**7), **dict.fromkeys((*CPU, "seconds"), 123.123456)}
    for stage in ("checks", "lent parts", "diagnosis", "bases", "edits", "forgiving"):
        made.spent["ScaledDotProductAttention", stage].update(every)
    for stage in ("cells", "learning"):
        made.spent["", stage].update(every)
    made.processes = [Process("ScaledDotProductAttention", "forgiving", n + 0.123456, 2**32) for n in range(1000)]
    names = [Diagnosis("scale-by-the-wrong-dimension", "") for _ in range(8)]
    outcome = Outcome("ScaledDotProductAttention", 1.2345678901234567, 10.0, "graded", [], names)
    return made, Graded(Verdict("", [outcome], 1, ""), [], {}, {"code cell 12": 1.0})


def test_a_line_is_short_enough_for_workers_that_share_a_pipe():
    made, graded = dearest()
    lines = [made._line_of(graded.verdict.exercises[0]), made._line_of_all(graded)]
    assert [len(json.dumps(line)) < select.PIPE_BUF for line in lines] == [True, True]
    assert [one["cpu"] for one in lines[1]["processes"]][:2] == [999.123456, 998.123456], "those that took most"


@pytest.mark.parametrize("shared", ["a pipe", "a file"])
def test_lines_of_workers_that_write_at_once_stay_whole(monkeypatch, tmp_path, shared):
    made, graded = dearest()
    if shared == "a file":
        made.path = tmp_path / "costs.jsonl"
    reader, writer = os.pipe()
    monkeypatch.setattr(ledger, "STDERR", writer)
    workers = []
    for _ in range(4):
        if not (worker := os.fork()):
            for _ in range(50):
                made.close(graded)
            os._exit(0)
        workers.append(worker)
    os.close(writer)
    with open(reader) as pipe:
        text = pipe.read()
    assert [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers] == [0] * 4
    lines = [json.loads(line) for line in (made.path.read_text() if made.path else text).splitlines()]
    assert len(lines) == 4 * 50 * 2 and {line["submission"] for line in lines} == {"\U0001f600" * ((LONGEST - 2) // 12)}


def test_a_process_that_is_not_known_has_taken_nothing():
    assert ledger._cpu(os.getpid()) > 0
    assert ledger._cpu(0) == ledger._cpu(-1) == 0.0


def test_what_cannot_be_written_stops_nothing(tmp_path, monkeypatch, caplog):
    ledger = Ledger(tmp_path / "costs.jsonl")
    monkeypatch.setattr(ledger, "path", tmp_path)  # a folder
    ledger.lose("a", "b", 1.0)
    ledger.lose("a", "b", 1.0)
    assert caplog.text.count("could not be written") == 1


@pytest.mark.parametrize("value, wanted", [("", False), ("0", False), ("1", True), ("costs.jsonl", True)])
def test_when_it_is_wanted(monkeypatch, tmp_path, value, wanted):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(start.COSTS, value)
    assert start.wants_costs() is wanted and (start._ledger() is not None) is wanted
    assert [path.name for path in tmp_path.iterdir()] == (["costs.jsonl"] if wanted and value != "1" else [])
    if value.endswith("l"):
        assert stat.S_IMODE((tmp_path / value).stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "no folder/costs.jsonl", "fifo"])
def test_a_file_that_cannot_be_written_is_named(monkeypatch, tmp_path, name):
    os.mkfifo(tmp_path / "fifo")  # opened as files are, it would wait for a reader
    monkeypatch.setattr(start.os, "environ", {start.COSTS: f"{tmp_path}/{name}"})
    with pytest.raises(UsageError, match="AUTOGRADER_COSTS names .*: name another file"):
        start._ledger()


def test_nothing_is_imported_where_nobody_asks():
    program = "import sys, autograder.grading.apart; print('autograder.grading.ledger' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.slow("it starts a worker, as `grade` and a desk do")
def test_workers_count(monkeypatch, tmp_path):
    file = tmp_path / "costs.jsonl"
    monkeypatch.setenv(start.COSTS, str(file))
    name = next(iter(course.assignments()))
    data = (ROOT / "solutions" / name / f"{name}.ipynb").read_bytes()
    with pool.Pool(1) as engine:
        ((_, made),) = engine.graded(iter([tasks.Task("ada", "key", data, name, 1)]), 1)
    assert made.verdict.full
    lines = lines_of(file)
    assert lines == made.costs and {line["submission"] for line in lines} == {"ada"}
    assert [line["exercise"] for line in lines[:-1]] == [e.name for e in course.assignments()[name].exercises]


@pytest.mark.slow("it starts commands as a user does")
def test_commands_say_what_they_cost(monkeypatch, tmp_path):
    """`check` on standard error; `grade` into a file, its own trial of the course included."""
    place = small_course.copy(tmp_path / "course")
    assert small_course.command(place, "autograder", "build")[0] == 0
    path = small_course.submit(place, "ada", {"normalise": "def normalise(x):\n    return x * 2\n"}, "solutions")
    monkeypatch.setenv(start.COSTS, "1")
    code, out, said = small_course.real(place, "autograder", "check", str(path))
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert code == 1 and "costs" not in out
    assert [line.get("exercise") for line in lines][-1] is None and lines[-1]["submission"] == str(path)
    monkeypatch.setenv(start.COSTS, "costs.jsonl")
    code, out, said = small_course.real(place, "autograder", "grade", "01", "--jobs", "1")
    assert code == 0 and "{" not in said
    assert "ada" in {line["submission"] for line in lines_of(place / "costs.jsonl")}
    monkeypatch.setenv(start.COSTS, str(place / "nowhere" / "costs.jsonl"))
    code, out, said = small_course.real(place, "autograder", "check", str(path))
    assert code == 2 and "AUTOGRADER_COSTS names" in said
