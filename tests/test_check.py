"""`autograder check`: what it prints, and its exit codes."""

import json
import subprocess
import sys
import tomllib

import one_process
import pytest
from conftest import ASSIGNMENT, ROOT, cell_of, hand_in

from autograder.cli.shared import DISTRIBUTION
from autograder.grading.workspace import near_name
from autograder.submission import read

RELEASE = ROOT / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
SOLUTION = ROOT / "solutions" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def autograder(*arguments, **options):
    """Run the command: (exit code, stdout, stderr)."""
    command = [sys.executable, "-m", "autograder", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def check(grader, capsys):
    """Runs `autograder check` in this process, with the sandbox of the other tests: (exit code, stdout, stderr)."""
    with one_process.kit(grader) as run:

        def check(*arguments):
            capsys.readouterr()
            code = run(ROOT, "check", *arguments)
            return code, *capsys.readouterr()

        yield check


BAD = {"empty": b"", "not UTF-8": b"\xff\xfe", "no cells": b"{}", "a syntax error": b"def f(:\n"}

MINE = """
import torch.nn.functional as F

def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All the files that one call checks."""
    folder = tmp_path_factory.mktemp("files")
    paths = {"solution": SOLUTION, "release": RELEASE, "mine": folder / "mine.py", "nothing": folder / "nothing.py"}
    paths["mine"].write_text(MINE)
    paths["nothing"].write_text("x = 1\n")
    paths["absent"] = folder / "absent.ipynb"
    for number, (what, content) in enumerate(BAD.items()):
        for name in ("x.ipynb", "x.py", f"{ASSIGNMENT}.ipynb"):
            path = folder / str(number) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            paths[f"{what} as {name}"] = path
    paths["folder"] = folder / "folder"
    for name in ("x.ipynb", f"{ASSIGNMENT}.ipynb", "notes.txt"):
        hand_in("{}", paths["folder"] / "0", name)
    return paths


@pytest.fixture(scope="module")
def checked(files):
    """The verdicts of one call on all files, by name: one warm parent serves them all."""
    code, out, err = autograder("check", *files.values(), "--format", "json")
    assert code == 1 and err == ""
    verdicts = [json.loads(line) for line in out.splitlines()]
    assert [v["path"] for v in verdicts] == [str(p) for p in files.values()], "one line per file, in order"
    return dict(zip(files, verdicts, strict=True))


def test_the_format_is_the_designs(checked):
    for verdict in checked.values():
        assert verdict["schema"] == 1
        for exercise in verdict["exercises"]:
            assert {"exercise", "score", "max_score", "status", "checks", "diagnosis"} <= exercise.keys()
            for check in exercise["checks"]:
                assert {"name", "category", "points", "passed", "message", "reason"} == check.keys()
                assert bool(check["reason"]) != check["passed"] and check["message"].endswith(check["reason"])
            for named in exercise["diagnosis"]:
                assert {"id", "message", "line", "price"} == named.keys()
            if exercise["status"] == "graded":
                assert exercise["max_score"] == sum(c["points"] for c in exercise["checks"])
                assert exercise["score"] == sum(c["points"] for c in exercise["checks"] if c["passed"])


def test_the_solutions_get_full_marks(checked, check):
    for exercise in checked["solution"]["exercises"]:
        assert exercise["status"] == "graded" and exercise["score"] == exercise["max_score"]
        assert all(c["passed"] for c in exercise["checks"])
    assert check(SOLUTION)[0] == 0


def test_the_release_gets_what_it_deserves(checked):
    """0 for what is a blank; less than full for the originals, with their defects named. None of them is started."""
    by_name = {e["exercise"]: e for e in checked["release"]["exercises"]}
    assert by_name["attention"]["score"] == 0 and by_name["attention"]["status"] == "graded"
    assert all(e["not_started"] for e in by_name.values())
    assert not any(e["not_started"] for e in (*checked["solution"]["exercises"], *checked["mine"]["exercises"]))
    for name, original in (("SingleHeadSelfAttention", "001"), ("SelfAttention", "004")):
        assert by_name[name]["score"] < by_name[name]["max_score"]
        assert any(original in d["id"] for d in by_name[name]["diagnosis"]), by_name[name]["diagnosis"]


@pytest.mark.slow("it grades two notebooks of lesson 08")
def test_a_skeleton_is_not_started_until_it_is_written_on(check, tmp_path):
    """GroupedQueryAttention comes with most of its constructor; it computes nothing, so there is nothing to name."""
    modern = "08_modern_block"
    released, begun = ROOT / "release" / modern / f"{modern}.ipynb", tmp_path / f"{modern}.ipynb"
    notebook = json.loads(released.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in notebook["cells"] if "class GroupedQueryAttention" in "".join(cell["source"][:1])]
    cell["source"][-1] = "        b, t, _ = x.shape\n" + cell["source"][-1]
    begun.write_text(json.dumps(notebook), encoding="utf-8")
    _, out, _ = check(released, begun, "--exercise", "GroupedQueryAttention", "--format", "json")
    (fresh,), (written,) = (json.loads(line)["exercises"] for line in out.splitlines())
    assert fresh["not_started"] and fresh["diagnosis"] == [] and not written["not_started"]


def test_the_text_says_what_is_not_started_and_what_is_given_by_hand(check, release, tmp_path):
    """An exercise in a line; one that is begun, at length. A cell goes by its number among the code cells."""
    cell = cell_of(release, "attention-solution")
    cell["source"] = "def attention(query, key, value, mask=None):\n    return undefined\n"
    number = [c["id"] for c in release["cells"] if c["cell_type"] == "code"].index(cell["id"]) + 1
    code, out, _ = check(hand_in(release, tmp_path))
    lines = out.splitlines()
    assert code == 1 and lines[0] == f"The course in {ROOT}"
    assert "of 28 points so far; 4 more are given by hand" in lines[1]
    first, second, last = [line for line in lines if "not started" in line]
    assert [first, second] == lines[2:4] and last.startswith("check_attention")
    assert f"in code cell {number}, line 2 (`return undefined`)" in out and out.count("Your code raised NameError") == 1
    assert "test_cuda" not in out


def test_what_is_blank_is_said_of_what_was_graded(check, tmp_path, monkeypatch):
    """The file is read once: here it is gone as soon as that is done."""
    path, usual = hand_in({"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, tmp_path), read.read_bytes

    def read_bytes(which, *limits, **more):
        try:
            return usual(which, *limits, **more)
        finally:
            if str(which) == str(path):
                path.unlink()

    monkeypatch.setattr(read, "read_bytes", read_bytes)
    (verdict,) = map(json.loads, check(path, "--format", "json")[1].splitlines())
    assert {e["status"] for e in verdict["exercises"]} == {"missing"} and not path.exists()
    assert any(one["message"].endswith("your answer cell is empty.") for one in verdict["blank"])


@pytest.mark.slow("it starts the command")
def test_a_script_is_graded_on_what_it_defines(checked, check, files):
    assert [e["exercise"] for e in checked["mine"]["exercises"]] == ["attention"]
    (outcome,) = checked["mine"]["exercises"]
    assert 0 < outcome["score"] < outcome["max_score"]
    assert [d["id"] for d in outcome["diagnosis"]] == ["no-scale", "mask-ignored", "rank-not-checked"]
    arguments = (files["mine"], "--exercise", "attention", "--format", "json", "--seed", "7")
    first, second = check(*arguments), check(*arguments)
    assert first == second, "a seed makes runs alike"
    verdict = json.loads(first[1])
    assert first[0] == 1 and verdict["seed"] == 7 and verdict["exercises"][0]["score"] == outcome["score"]


def test_a_file_without_what_was_asked_for_is_missing(checked, check, files):
    code, out, _ = check(files["nothing"], "--format", "json", "--exercise", "attention")
    asked = json.loads(out)
    assert code == 1 and [e["exercise"] for e in asked["exercises"]] == ["attention"]
    for verdict in (checked["nothing"], asked):
        assert verdict["exercises"]
        assert all(e["status"] == "missing" and e["max_score"] > 0 == e["score"] for e in verdict["exercises"])


def test_a_slip_in_a_name_is_told(check, tmp_path):
    """Not for the name of another exercise, such as `self_attention` for `SelfAttention`."""
    slips = {"attention": "Attention", "SelfAttentionWide": "self_attention_wide", "masked_weights": "maskd_weights"}
    for exercise, defined in slips.items():
        assert near_name(exercise, ["import torch", f"x = 1\ndef {defined}(x):\n    pass\n"]) == defined
    for other in ("self_attention", "SelfAttention", "att", "intention", "attention" * 20):
        assert near_name("SelfAttention" if other == "self_attention" else "attention", [f"class {other}: pass"]) == ""
    (tmp_path / "mine.py").write_text(MINE.replace("attention", "Attention"))
    code, out, _ = check(tmp_path / "mine.py")
    said = "`attention` is not defined. `Attention` is, but the name must be exactly `attention`."
    assert code == 1 and out.splitlines()[1:] == [f"{tmp_path / 'mine.py'}: {said}"]


def test_a_folder_is_refused_with_what_to_give(checked, files):
    (said,) = {e["message"] for e in checked["folder"]["exercises"]}
    inside = [str(files["folder"] / "0" / name) for name in (f"{ASSIGNMENT}.ipynb", "x.ipynb")]
    assert said == f"It is a folder; hand in the notebook itself. It holds {', '.join(inside)}."


def test_bad_files_give_a_sentence(checked):
    bad = [name for name in checked if " as " in name or name == "absent"]
    assert len(bad) == 3 * len(BAD) + 1
    for name in bad:
        assert checked[name]["exercises"], name
        for exercise in checked[name]["exercises"]:
            assert exercise["score"] == 0 < exercise["max_score"], name
            assert exercise["status"] in ("rejected", "missing", "error") and exercise["message"], name


def test_an_unknown_exercise_is_bad_usage():
    code, out, err = autograder("check", SOLUTION, "--exercise", "attentoin")
    assert code == 2 and "points" not in out and "attentoin" in err and "SelfAttention" in err


def test_what_compares_no_tensors_does_not_wait_for_torch():
    """The head of a batch, the report's processes, and nbgrader's own commands with the course's configuration."""
    code = "import sys; from autograder.nbgrader.runs import NbgraderCourse; NbgraderCourse('.'); "
    code += "from autograder.batch import commands, feedback_pool, naming, run; "
    code += "from autograder.report import class_report; from autograder.nbgrader import by_hand, gradebook; "
    code += "print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT) == "False\n"


def test_help_loads_nothing_heavy():
    code = "import sys; from autograder import cli; cli.parser().format_help(); "
    code += "print('torch' in sys.modules, 'nbgrader' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stdout
    assert out == "False False\n"
    new = ("new",), ("new", "course"), ("new", "exercise")
    for command in (
        (),
        ("build",),
        ("check",),
        ("watch",),
        ("grade",),
        ("report",),
        ("demo",),
        *new,
        ("doctor",),
        ("name",),
        ("name-check",),
    ):
        code, out, _ = autograder(*command, "--help")
        assert code == 0 and "usage:" in out


@pytest.mark.slow("it starts the command")
def test_the_graders_run_by_hand():
    """`pytest autograder/exercises` grades the solutions, here of some kinds; `--submission` grades a file."""
    by_hand = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    kinds = [f"autograder/exercises/{name}" for name in ("softmax", "attention", "Head")]
    done = subprocess.run([*by_hand, *kinds], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:]
    arguments = ["autograder/exercises/attention/checks.py", "--submission", RELEASE]
    done = subprocess.run([*by_hand, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "NotImplementedError" in done.stdout


def test_a_notebook_checks_only_the_exercise_asked_for(check, solution, tmp_path):
    cell_of(solution, "attention-solution")["source"] = "def attention(:\n"
    path = hand_in(solution, tmp_path)
    code, out, _ = check(path, "--exercise", "SelfAttention", "--format", "json")
    assert code == 0
    code, out, _ = check(path, "--exercise", "attention", "--format", "json")
    outcome = json.loads(out)["exercises"][0]
    assert code == 1 and outcome["status"] == "error" and "SyntaxError" in outcome["message"]


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert DISTRIBUTION == project["name"]
    assert autograder("--version") == (0, f"autograder {project['version']}\n", "")
