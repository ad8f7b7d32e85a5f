"""What benchmarks compare is the same on both sides, each of them runs, and the pages name no program that is gone."""

import ast
import importlib.util
import json
import logging
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

from autograder import course
from autograder.checks.runner import Graders
from autograder.mistakes.bank import bank, namespace_of, right_answer, styles_of
from autograder.mistakes.name_check import cells_for
from autograder.verdict import Check, Diagnosis, Outcome

PROGRAMS = sorted(
    path for path in (ROOT / "benchmarks").glob("*.py") if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = re.compile(r"benchmarks/(\w+\.\w+)(?:` of [0-9a-f]{8}\b)?")


@pytest.fixture(autouse=True)
def _beside_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_programs_that_are_there(page):
    """Or the commit that they are in."""
    text = page.read_text(encoding="utf-8")
    gone = [found[0] for found in NAMED.finditer(text) if " of " not in found[0]]
    assert [name for name in gone if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_is_there(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert [module for module in sorted(modules) if importlib.util.find_spec(module) is None] == []


@pytest.mark.slow("each grades, and some build a course of their own")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_its_smallest_form_runs_to_its_end(tmp_path, program):
    """And leaves the results that are kept as they are."""
    before = results()
    done = run(program, "--smallest", folder=tmp_path)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    assert "Traceback" not in done.stderr and results() == before


def run(program, *arguments, folder=ROOT):
    command = [sys.executable, program, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def results():
    """What long runs of benchmarks have written into the repository."""
    kept = "benchmarks/seeds.json", "docs/comparison.md", "docs/planted_faults.md"
    return [(ROOT / name).read_bytes() for name in kept]


@pytest.mark.slow("it grades with two kits")
def test_a_commit_is_measured_against_this_tree_in_turn(tmp_path):
    done = run(ROOT / "benchmarks" / "one_more.py", "--smallest", "--against", "HEAD", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| 01 |")]
    assert [row[1] for row in rows] == ["right", "mixed"]
    assert all(0.2 < float(row[4].split()[0]) < 5 for row in rows)
    trees = subprocess.check_output(["git", "-C", ROOT, "worktree", "list"], text=True)
    assert "/benchmark-" not in trees, "the other tree is gone"


@pytest.mark.slow("it checks out the whole tree")
def test_the_tree_of_another_commit_goes_with_a_program_that_is_ended():
    program = (
        "import measuring, time\nwith measuring.worktree('HEAD') as tree: print(tree, flush=True); time.sleep(300)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=ROOT / "benchmarks", stdout=subprocess.PIPE, text=True) as process:
        tree = Path(process.stdout.readline().strip())
        assert (tree / "autograder").is_dir()
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM and not tree.parent.exists()
    assert str(tree) not in subprocess.check_output(["git", "-C", ROOT, "worktree", "list"], text=True)


@pytest.mark.parametrize("program", ["one_more", "growth"])
def test_a_commit_that_is_unknown_is_named(program):
    done = run(ROOT / "benchmarks" / f"{program}.py", "--smallest", "--against", "no-such-commit")
    assert done.returncode == 1 and "--against no-such-commit: fatal" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "values, mean, within, median, high, most",
    [
        ([1.0] * 5, 1.0, 0.0, 1.0, 1.0, 1.0),
        ([*range(1, 101)], 50.5, 5.757, 50.5, 95, 100),  # 29.011 / 10 * 1.984
        ([1.0, 2.0, 3.0, 4.0, 10.0], 4.0, 4.39, 3.0, 10.0, 10.0),  # 3.536 / sqrt(5) * 2.776
    ],
)
def test_a_summary_says_how_sure_its_mean_is(values, mean, within, median, high, most):
    import measuring

    found = measuring.Summary.of(values)
    assert (found.mean, found.median, found.high, found.most) == (mean, median, high, most)
    assert found.within == pytest.approx(within, rel=0.02)


def test_of_one_value_nothing_is_known_about_others():
    import measuring

    assert measuring.Summary.of([2.0]).cells() == ["2.000 ± inf", "2.000", "2.000"]


def test_a_difference_is_surer_than_what_differs():
    """Submissions differ much from each other, and little from themselves in another kit."""
    import one_more

    pairs = [(float(n), 0.5 * n) for n in range(1, 11)]
    before, after, ratio = one_more.difference(pairs)
    assert before.startswith("5.500 ± ") and after.startswith("2.750 ± ")
    assert ratio.startswith("0.500 ± ") and float(ratio.split()[-1]) < float(before.split()[-1]) / 5.5
    same = one_more.difference([(float(n), float(n)) for n in range(1, 11)])[2]
    assert same == "1.000 ± 0.000"


def test_what_a_submission_was_dear_for():
    import one_more

    lines = [
        {"exercise": "softmax", "stages": {"checks": {"cpu_grading": 0.1, "cpu_sandbox": 0.3}}},
        {"exercise": "attention", "stages": {"checks": {"cpu_grading": 0.2}, "edits": {"cpu_sandbox": 1.5}}},
        {"stages": {"cells": {"cpu_sandbox": 0.9}}},
    ]
    assert one_more.cause(lines, {"attention": "style loops"}) == "`attention`, style loops: edits 1.50 s"
    assert one_more.cause(lines[:1] + lines[2:], {}) == "cells 0.90 s"
    assert one_more.cause([], {}) == "", "an older kit counts nothing"


def test_checks_that_could_go_together_leave_each_mistake_to_another_one():
    import deciding

    found = deciding.looked_at(Graders(), "softmax")
    left = {one.check.name for one in found.checks if one.check.points and not one.could_go}
    runs = [Graders().run("softmax", mistake.local(), 1) for mistake in bank("softmax").values()]
    failed = [deciding.costing(run) for run in runs]
    assert len(left) < len(found.checks) and all(names & left for names in failed)
    for one in found.checks:
        assert one.fails == sum(one.check.name in names for names in failed)
        assert one.alone == sum({one.check.name} == names for names in failed) and one.cpu > 0
    assert found.never == [one for one in found.checks if one.check.points and not one.alone]


@pytest.mark.parametrize(
    "failed, gone",
    [
        ([{"a", "b"}, {"a", "c"}], {"b", "c"}),  # a, which is asked last, is left for both
        ([{"a", "b"}, {"b", "c"}, {"c", "a"}], {"b"}),
        ([{"a"}, {"b"}, {"c"}], set()),
        ([set(), {"a"}], {"b", "c"}),  # what no check fails for says nothing
    ],
)
def test_which_checks_could_go_together(failed, gone):
    import deciding

    checks = [SimpleNamespace(name=name) for name in "bca"]
    assert deciding.those_that_could_go(checks, checks, failed) == gone


def test_what_a_solution_costs_says_nothing_if_it_is_wrong(monkeypatch):
    import deciding

    graders = Graders()
    monkeypatch.setattr(deciding, "right_answer", lambda exercise: bank(exercise)["not-divided"].source)
    with pytest.raises(SystemExit, match="The solution of softmax fails test_"):
        deciding.costs_of(graders, "softmax")


def test_what_is_drawn_is_the_same_in_each_run_and_says_where_it_comes_from():
    import classes

    name = list(course.assignments(ROOT))[1]
    first = list(classes.drawn(4, names=[name]))
    again = [next(classes.drawn(1, names=[name], first=number)) for number in range(4)]
    assert first == again and len({json.dumps(one.notebook) for one in first}) == 4
    exercises = [e.name for e in course.assignments(ROOT)[name].exercises]
    for one in first:
        assert list(one.answers) == exercises
        assert all(where.startswith("style ") or where.endswith(" of the demo") for where in one.answers.values())


@pytest.mark.parametrize("exercise", ["causal_mask", "padding_mask", "check_softmax", "CharTokenizer", "learning_rate"])
def test_right_answers_get_all_points_in_a_kernel(exercise):
    """Some of their checks draw no inputs: they take `submission` alone."""
    import plain

    answers = right_answer(exercise), *(right_answer(exercise, style) for style in styles_of(exercise)[:1])
    for answer in answers:
        cells = [cell.source for cell in cells_for(exercise, answer)]
        errors = plain.found(exercise, namespace_of("in a kernel", *cells), cells)
        assert set(errors.values()) == {""}
        assert (
            plain.score(exercise, namespace_of("in a kernel", *cells), cells) == course.find_exercise(exercise).points
        )


@pytest.mark.parametrize("name", list(course.assignments(ROOT)))
def test_a_notebook_for_another_grader_has_the_parts_of_earlier_lessons(name):
    import classes

    released, bare = (code_of(next(classes.submissions(1, "right", bare, names=[name]))[2]) for bare in (False, True))
    brought = {part for text in released if text.startswith("bring(") for part in re.findall(r'"(\w+)"', text)}
    assert brought <= {found for text in bare for found in course.defined_in(text)}
    assert not [text for text in bare if text.startswith("bring(")]


def code_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def graded(score, *checks, **fields):
    """The Outcome of an exercise of 4 points, with (whether it passed, why not) of its checks."""
    made = [Check("test_a", "values", 4.0, passed, "", why) for passed, why in checks]
    return Outcome("f", score, 4.0, **{"status": "graded", "checks": made, **fields})


PRICED = {"diagnosis": [Diagnosis("no-scale", "")], "by_checks": 1.0, "by_prices": 2.0}


@pytest.mark.parametrize(
    "outcome, there, reason",
    [
        (graded(2.0, **PRICED), ({}, ""), "the prices of no-scale leave 2 here, and checks 1"),
        (graded(0.0, status="timeout", message="It ran too long."), ({}, ""), "timeout here: It ran too long."),
        (graded(4.0), (None, "no module plain"), "the test cell gets nothing there: no module plain"),
        (graded(4.0), (None, ""), "the test cell said nothing there"),
        (graded(4.0, (True, "")), ({"test_a": "NameError: g"}, ""), "test_a fails there: NameError: g"),
        (graded(0.0, (False, "All wrong.")), ({"test_a": ""}, ""), "test_a fails here: All wrong."),
    ],
)
def test_scores_that_differ_have_a_reason(outcome, there, reason):
    import against_nbgrader

    (found,) = against_nbgrader.reasons(outcome, there)
    assert found.startswith(reason)


def test_no_reason_is_made_up():
    import against_nbgrader

    assert list(against_nbgrader.reasons(graded(4.0, (True, "")), ({"test_a": ""}, ""))) == []


def test_stocks_kernel_says_which_checks_failed(tmp_path):
    import against_nbgrader
    import plain

    outputs = [
        {
            "output_type": "stream",
            "name": "stdout",
            "text": ["mine\n", f"{plain.FOUND}{json.dumps({'test_a': 'x'})}\n"],
        },
        {"output_type": "stream", "name": "stderr", "text": "a warning"},
    ]
    cell = {"metadata": {"nbgrader": {"grade_id": "f"}}, "outputs": outputs}
    place = tmp_path / "autograded" / "ada" / "02"
    place.mkdir(parents=True)
    (place / "02.ipynb").write_text(json.dumps({"cells": [SimpleNamespace(metadata={}).__dict__, cell]}))
    assert against_nbgrader.errors_there(tmp_path, "ada", "02", "f") == ({"test_a": "x"}, "a warning")


def test_what_an_answer_logs_costs_nothing_in_stock(capsys):
    """As torch does for a compiled answer, to the stderr that it found at its import."""
    import plain

    noise = logging.getLogger("noise")
    noise.addHandler(handler := logging.StreamHandler(sys.stderr))
    source = "def learning_rate(*args, **kwargs):\n    logging.getLogger('noise').warning('compiled again')\n"
    namespace = {"logging": logging}
    exec(source, namespace)
    try:
        assert plain.shown("learning_rate", namespace, [source]) == 0
        printed, warned = capsys.readouterr()
        assert plain.FOUND in printed and warned == ""
        noise.warning("after it")
        assert capsys.readouterr().err == "after it\n"
    finally:
        noise.removeHandler(handler)


@pytest.mark.slow("it grades a lesson twice")
def test_forged_are_exercises_of_one_notebook():
    """In a process of its own, since it sets what a process has one of."""
    program = "import forging; print(sorted({row[1] for row in forging.submissions()[0].values()}))"
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, cwd=ROOT / "benchmarks", capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "attention" in done.stdout and "KVCache" not in done.stdout, done.stderr
