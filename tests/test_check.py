"""`autograder check`: what it prints, and its exit codes."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

RELEASE = ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
SOLUTION = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def autograder(*arguments, **options):
    """Run the command: (exit code, stdout, stderr)."""
    command = [sys.executable, "-m", "autograder", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def checked():
    """Solutions and release, checked in one call."""
    code, out, err = autograder("check", SOLUTION, RELEASE, "--format", "json")
    return code, [json.loads(line) for line in out.splitlines()], err


def test_the_format_is_the_designs(checked):
    code, verdicts, err = checked
    assert err == ""
    assert [v["path"] for v in verdicts] == [str(SOLUTION), str(RELEASE)]
    for verdict in verdicts:
        assert verdict["schema"] == 1
        for exercise in verdict["exercises"]:
            assert {"exercise", "score", "max_score", "status", "checks", "diagnosis"} <= exercise.keys()
            for check in exercise["checks"]:
                assert {"name", "category", "points", "passed", "message"} == check.keys()
            assert exercise["max_score"] == sum(c["points"] for c in exercise["checks"])
            assert exercise["score"] == sum(c["points"] for c in exercise["checks"] if c["passed"])


def test_the_solutions_get_full_marks(checked):
    _, (solution, _), _ = checked
    assert all(e["status"] == "graded" and e["score"] == e["max_score"] for e in solution["exercises"])
    assert all(c["passed"] for e in solution["exercises"] for c in e["checks"])
    assert autograder("check", SOLUTION)[0] == 0


def test_the_release_gets_what_it_deserves(checked):
    """0 for what is a blank; less than full for the originals, with their defects named."""
    code, (_, release), _ = checked
    assert code == 1
    by_name = {e["exercise"]: e for e in release["exercises"]}
    assert by_name["attention"]["score"] == 0 and by_name["attention"]["status"] == "graded"
    for name, original in (("SingleHeadSelfAttention", "001"), ("SelfAttention", "004")):
        assert by_name[name]["score"] < by_name[name]["max_score"]
        assert any(original in d["id"] for d in by_name[name]["diagnosis"]), by_name[name]["diagnosis"]


def test_a_file_with_one_exercise(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch.nn.functional as F\n\n"
        "def attention(query, key, value, mask=None):\n"
        "    scores = query @ key.transpose(-2, -1)\n"
        "    weights = F.softmax(scores, dim=-1)\n"
        "    return weights @ value, weights\n"
    )
    code, out, err = autograder("check", path, "--exercise", "attention", "--format", "json")
    verdict = json.loads(out)
    assert code == 1 and err == ""
    assert [e["exercise"] for e in verdict["exercises"]] == ["attention"]
    assert 0 < verdict["exercises"][0]["score"] < verdict["exercises"][0]["max_score"]
    assert [d["id"] for d in verdict["exercises"][0]["diagnosis"]] == ["no-scale"]
    # without --exercise, a .py file is graded on what it defines
    _, out, _ = autograder("check", path, "--format", "json")
    assert [e["exercise"] for e in json.loads(out)["exercises"]] == ["attention"]


def test_a_file_without_what_was_asked_for_is_missing(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    for more in ([], ["--exercise", "attention"]):
        code, out, _ = autograder("check", path, "--format", "json", *more)
        verdict = json.loads(out)
        assert code == 1 and verdict["exercises"]
        assert all(e["status"] == "missing" and e["max_score"] > 0 == e["score"] for e in verdict["exercises"])


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"def f(:\n"])
def test_bad_files_give_a_sentence(tmp_path, content):
    for name in ("x.ipynb", "x.py", f"{ASSIGNMENT}.ipynb"):
        path = tmp_path / name
        path.write_bytes(content)
        code, out, err = autograder("check", path, tmp_path / "nothing.ipynb", "--format", "json")
        assert code == 1 and err == ""
        for line in out.splitlines():
            verdict = json.loads(line)
            assert all(e["score"] == 0 < e["max_score"] and e["message"] for e in verdict["exercises"])


def test_an_unknown_exercise_is_bad_usage():
    code, out, err = autograder("check", SOLUTION, "--exercise", "attentoin")
    assert code == 2 and out == "" and "attentoin" in err and "SelfAttention" in err


def test_a_seed_makes_runs_alike(tmp_path, release):
    path = hand_in(release, tmp_path)
    outs = [autograder("check", path, "--format", "json", "--seed", "7")[1] for _ in range(2)]
    assert outs[0] == outs[1] and json.loads(outs[0])["seed"] == 7


def test_help_loads_nothing_heavy():
    code = "import sys; from autograder import cli; cli.parser().format_help(); print('torch' in sys.modules, 'nbgrader' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout
    assert out == "False False\n"
    for command in ((), ("build",), ("check",), ("grade",), ("report",), ("demo",)):
        code, out, _ = autograder(*command, "--help")
        assert code == 0 and "usage:" in out


def test_the_graders_run_by_hand():
    """`pytest autograder/graders` grades the solutions; `--submission` grades a file."""
    graders = [sys.executable, "-m", "pytest", "autograder/graders", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(graders, capture_output=True, text=True, cwd=ROOT, env={**os.environ})
    assert done.returncode == 0, done.stdout[-2000:]
    done = subprocess.run([*graders, "--submission", RELEASE], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "NotImplementedError" in done.stdout


def test_a_notebook_checks_only_the_exercise_asked_for(solution, tmp_path):
    cell_of(solution, "attention-solution")["source"] = "def attention(:\n"
    path = hand_in(solution, tmp_path)
    code, out, _ = autograder("check", path, "--exercise", "SelfAttention", "--format", "json")
    assert code == 0
    code, out, _ = autograder("check", path, "--exercise", "attention", "--format", "json")
    outcome = json.loads(out)["exercises"][0]
    assert code == 1 and outcome["status"] == "error" and "SyntaxError" in outcome["message"]
