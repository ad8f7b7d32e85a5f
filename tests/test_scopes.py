"""What the tests of a scope use is among what its digest is made of."""

import json
import os
import subprocess
import sys

import pytest
import unchanged
from conftest import ROOT

SCOPES = {
    "tests/checks/test_api.py": "",
    "tests/exercises/test_originals.py": "",
    "tests/exercises/test_exercises.py: causal_mask": "causal_mask] or causal_mask- or causal_mask/",
    "tests/exercises/test_visible_checks.py: check_attention": "check_attention]",
    "tests/grading/test_styles.py: causal_mask": "causal_mask-",
    "tests/lessons/test_lesson_02.py": "",
    "tests/lessons/test_runs.py: 02_queries_keys_values": "half-solved-02_",
    "tests/grading/test_grader.py": "a_part_of_a_part",
    "tests/sandbox/test_hostile.py: mangled": "gets_what and mangled/cut_off",
    "tests/exercises/test_release.py": "original and 03_",
    "tests/nbgrader/test_rounds_given_out.py": "",
    "tests/nbgrader/test_silence.py": "totals_count",
}
# Forks, and runs pytest there. It has imported what takes long, but nothing of the repository: what a fork imports of
# that, it opens.
FORKS = """
import json, os, sys
import nbgrader.apps.nbgraderapp, pytest, torch
for line in sys.stdin:
    out, environment, arguments = json.loads(line)
    if not (pid := os.fork()):
        os.environ.update(environment)
        for stream in (1, 2):
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        sys.exit(pytest.main(arguments))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def forked():
    """Runs pytest in a process that need not start: (exit code, what it printed)."""
    places = os.pathsep.join(str(ROOT / "tests" / place) for place in ("", "support"))
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": places},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(out, environment, *arguments):
        print(json.dumps([str(out), environment, arguments]), file=process.stdin, flush=True)
        return int(process.stdout.readline()), out.read_text(encoding="utf-8")

    with process:
        yield run
        process.stdin.close()


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_uses_no_other_file(tmp_path, forked, scope):
    """What ran or was opened while its tests ran."""
    used = tmp_path / "used"
    file, _, about = scope.partition(": ")
    arguments = ("-p", "opened", "-p", "no:cacheprovider", "-n", "0", file, "-k", SCOPES[scope])
    code, said = forked(tmp_path / "out", {"OPENED": str(used)}, *arguments)
    assert code == 0, said
    about_the_run = {"opened.py", "unchanged.py", "spreading.py"}
    paths = [ROOT / line for line in used.read_text(encoding="utf-8").splitlines()]
    assert len(paths) > 5
    left = {path for path in paths if path.name not in about_the_run} - unchanged.depends_on(scope)
    if about in unchanged.EXERCISES:  # the list of lessons is read to find the exercise's own
        left = {path for path in left if path.parent.parent != ROOT / "source"}
    assert left == set()
