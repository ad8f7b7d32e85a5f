"""A file is graded on each save: with the verdicts of `check`, only once it is whole, and nothing is left behind."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

from autograder import cli, course
from autograder.checks.proxies import Local
from autograder.course import hints_of, original_of, solution_of
from autograder.grading import start
from autograder.watch import changes, service
from autograder.watch.session import Watch

SEED = 7
ALL = [exercise.name for exercise in course.assignments(ROOT)[ASSIGNMENT].exercises]


BEGUN = f"{original_of(solution_of('SelfAttention', ROOT).source)}\nbegun = True\n"


class Counting:
    """A grader that notes which exercises it is `asked` for; the one that it `stops` runs too long."""

    def __init__(self, grader):
        self.grader, self.asked, self.stops = grader, [], None

    def grade_program(self, program, wanted, seed, known, *more):
        self.asked.append([exercise.name for exercise in wanted])
        graded = self.grader.grade_program(program, wanted, seed, known, *more)
        for outcome in graded.verdict.exercises:
            if outcome.exercise == self.stops:
                outcome.status, outcome.score, outcome.checks = "timeout", 0.0, []
        return graded

    def learn(self, name, seed):
        pass


@pytest.fixture
def watched(grader, solution, tmp_path):
    """(a Watch of the solution of 02 that has settled, the parsed notebook, a function that saves it)."""
    path = hand_in(solution, tmp_path)
    watch = Watch(Counting(grader), str(path), None, SEED)
    assert watch.look() and not watch.settle(), "all is right, so there is nothing more to show"
    assert watch.state.settled and not watch.settle() and not watch.look()

    def save():
        hand_in(solution, tmp_path, "new")
        os.replace(tmp_path / "new", path)

    return watch, solution, save


def test_a_save_grades_what_it_concerns_and_then_all_as_check_does(watched, grader):
    watch, notebook, save = watched
    assert watch.state.verdict.full and watch.state.next is None
    cell_of(notebook, "SelfAttention-solution")["source"] = BEGUN
    save()
    watch.grader.asked.clear()
    assert watch.look() and watch.grader.asked == [["SelfAttention"]]
    assert watch.state.next == "SelfAttention" and not watch.state.settled
    assert [e.exercise for e in watch.state.verdict.exercises if not e.full] == ["SelfAttention"]
    assert watch.settle() and watch.grader.asked[1] == ALL and watch.state.settled
    assert watch.state.verdict == grader.grade_file(watch.state.path, None, SEED).verdict
    assert [named.id for named in watch.state.verdict.exercise("SelfAttention").diagnosis] == ["original-004"]


@pytest.fixture
def searching(grader, monkeypatch):
    """A list of what happens one after another while the mistakes are searched for, in searches without an end."""
    happens, diagnose = [], grader.diagnostician.diagnose

    def search(run):
        if not happens:
            return diagnose(run)
        happens.pop(0)()
        for _ in range(1000):
            grader.graders.run(run.exercise, Local({}), SEED)
        raise AssertionError("nobody was heard")

    monkeypatch.setattr(grader.diagnostician, "diagnose", search)
    return happens


def test_a_save_ends_a_search(watched, grader, searching):
    watch, notebook, save = watched
    right = cell_of(notebook, "SelfAttention-solution")["source"]
    cell_of(notebook, "SelfAttention-solution")["source"] = BEGUN
    save()
    assert watch.look() and watch.state.next == "SelfAttention"
    cell_of(notebook, "SelfAttention-solution")["source"] = right
    searching.append(save)
    assert not watch.settle() and not searching and not watch.state.settled
    assert watch.look() and watch.state.verdict.full
    assert not watch.settle() and watch.state.settled
    grader.graders.before_each()


@pytest.mark.slow("it waits for a watch")
def test_a_key_ends_a_search_which_begins_anew(watched, searching):
    watch, notebook, save = watched
    cell_of(notebook, "SelfAttention-solution")["source"] = BEGUN
    save()
    assert watch.look()
    keys = []
    watch.has_key = lambda: bool(keys)
    searching.append(lambda: keys.append("h"))
    assert not watch.settle() and not watch.state.settled and watch.show_a_hint()
    keys.clear()
    assert not watch.look() and watch.settle() and watch.state.settled
    assert [named.id for named in watch.state.verdict.exercise("SelfAttention").diagnosis] == ["original-004"]


def test_hints_come_one_by_one(watched):
    watch, notebook, save = watched
    cell_of(notebook, "attention-solution")["source"] = "def attention(query, key, value, mask=None):\n    return 1\n"
    save()
    watch.look()
    hints = hints_of("attention")
    assert [hint.title[:6] for hint in hints] == ["Hint 1", "Hint 2", "Hint 3"]
    assert watch.state.hints == hints[:1] and watch.state.more_hints == 2
    assert watch.show_a_hint() and watch.show_a_hint() and not watch.show_a_hint()
    assert watch.state.hints == hints and watch.state.more_hints == 0


@pytest.mark.slow("it waits for a watch")
def test_what_the_text_of_a_change_does_not_tell_is_found_out_after_all(watched, monkeypatch):
    """A function may change torch itself when it is called, so what is kept from before is only kept for a moment."""
    watch, notebook, save = watched
    monkeypatch.setattr(changes, "concerned", lambda *_: set())
    cell_of(notebook, "SelfAttention-solution")["source"] = BEGUN
    save()
    assert watch.look() and watch.state.verdict.full
    assert watch.settle() and not watch.state.verdict.exercise("SelfAttention").full


@pytest.mark.slow("it waits for a watch")
def test_an_endless_loop_is_told_and_not_waited_for_twice(watched):
    watch, notebook, save = watched
    cell_of(notebook, "attention-solution")["source"] += "# slow\n"
    watch.grader.stops = "attention"
    save()
    watch.grader.asked.clear()
    assert watch.look() and watch.grader.asked == [["attention"]]
    assert watch.state.verdict.exercise("attention").status == "timeout" and watch.state.next == "attention"
    watch.settle()
    assert watch.grader.asked[1:] == [[name for name in ALL if name != "attention"]]
    assert watch.state.verdict.exercise("attention").status == "timeout"
    save()
    assert watch.look() and watch.grader.asked[2] == ALL, "another save is another try, of everything"


def test_a_cell_that_never_ends_is_told(watched, grader, monkeypatch):
    watch, notebook, save = watched
    monkeypatch.setattr(grader.parent, "limits", replace(grader.parent.limits, cell=0.5))
    notebook["cells"].append({"cell_type": "code", "id": "endless", "metadata": {}, "source": "while True: pass"})
    save()
    assert watch.look() and not watch.settle() and watch.state.verdict.full
    number = sum(cell["cell_type"] == "code" for cell in notebook["cells"])
    assert f"In code cell {number}, the cell was stopped" in watch.state.warning


def test_a_half_written_notebook_is_no_error_at_once(watched, monkeypatch):
    watch, _, save = watched
    path = Path(watch.state.path)
    whole = path.read_bytes()
    for half in (whole[: len(whole) // 2], b""):
        path.write_bytes(half)
        assert not watch.look() and not watch.settle() and not watch.state.problem
    path.unlink()
    assert not watch.look() and not watch.state.problem
    path.write_bytes(whole)
    assert watch.look() and watch.state.verdict.full and not watch.state.problem
    monkeypatch.setattr(changes, "GRACE", 0.0)
    path.write_bytes(whole[: len(whole) // 2])
    assert watch.look() and "not JSON" in watch.state.problem and not watch.look()
    path.unlink()
    assert watch.look() and watch.state.problem == "There is no such file."


RIGHT = """
import torch

def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
"""
WRONG = RIGHT.replace("tril", "triu")


def children_of(process):
    """The ids of the processes that a process has started, and those that they have."""
    found, waiting = set(), [process]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            new = set(task.read_text().split()) - found
            found |= new
            waiting += new
    return found


def test_the_command_from_the_first_save_to_ctrl_c(tmp_path, monkeypatch, capsys, grader):
    """The one test with a sandbox of its own: a process that is watched from outside, and lends its sandbox."""
    runtime = tempfile.mkdtemp(prefix="run-")  # the path of a socket has to be short
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    path = tmp_path / "mine.py"
    path.write_text(WRONG)
    command = [sys.executable, "-m", "autograder", "watch", str(path), "--exercise", "causal_mask"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the tests may run where SIGINT is ignored
    )
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in process.stdout], daemon=True).start()

    def until(words):
        seen = []
        while not (seen and words in seen[-1]):
            seen.append(lines.get(timeout=120))
        return "".join(seen)

    try:
        assert "\x1b" not in until("Next: causal_mask")
        until("What went wrong: ")
        until("Hint 1")
        path.write_text(RIGHT)
        until("All solved")
        monkeypatch.setattr(start, "started_grader", lambda *_: pytest.fail("check started a sandbox of its own"))
        monkeypatch.setattr(service, "SOON", 60.0)  # it still learns, which takes long on a busy machine
        arguments = ["check", str(path), "--exercise", "causal_mask", "--seed", str(SEED), "--format", "json"]
        for last in (False, False, True):  # on a busy machine, 1.5 s may pass before the watch has its question
            try:
                assert cli.main(arguments) == 0
                break
            except pytest.fail.Exception:
                if last:
                    raise
        printed = json.loads(capsys.readouterr().out)
        assert printed.pop("blank") == []
        assert printed == grader.grade_file(path, "causal_mask", SEED).verdict.to_dict()
        started = children_of(process.pid)
        assert started
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0 and process.stderr.read() == ""
        end = time.monotonic() + 10
        while any(Path(f"/proc/{child}").exists() for child in started) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(Path(f"/proc/{child}").exists() for child in started)
        assert not list(Path(runtime).rglob("*.sock"))
    finally:
        process.kill()
        shutil.rmtree(runtime)


def test_what_cannot_be_watched_is_bad_usage(capsys, tmp_path):
    assert cli.main(["watch", str(tmp_path / f"{ASSIGNMENT}.ipynb")]) == 2
    assert "There is no file" in capsys.readouterr().err
