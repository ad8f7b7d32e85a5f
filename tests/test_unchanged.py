"""`make test` leaves out what passed before, and nothing else."""

from pathlib import Path

import pytest
import unchanged
from conftest import ROOT
from test_scopes import SCOPES

ONE = "tests/exercises/test_exercises.py: causal_mask"


@pytest.mark.parametrize(
    "nodeid, scope",
    [
        (
            "tests/exercises/test_exercises.py::test_a_mistake[1-Head-no-scale]",
            "tests/exercises/test_exercises.py: Head",
        ),
        ("tests/grading/test_styles.py::test_right[Head-loops]", "tests/grading/test_styles.py: Head"),
        ("tests/exercises/test_reference.py::test_x", "tests/exercises/test_reference.py"),
        ("tests/lessons/test_lesson_07.py::test_x[1]", "tests/lessons/test_lesson_07.py"),
        ("tests/exercises/test_release.py::test_x[01_self_attention-Head]", "tests/exercises/test_release.py"),
        ("tests/lessons/test_runs.py::test_x[untouched-09_long_texts]", "tests/lessons/test_runs.py: 09_long_texts"),
        ("tests/sandbox/test_hostile.py::test_x[forging/a_tracer]", "tests/sandbox/test_hostile.py: forging"),
        ("tests/sandbox/test_hostile.py::test_x[writing/a_server]", None),
        ("tests/sandbox/test_hostile.py::test_a_batch_ends", None),
        ("tests/sandbox/test_limits.py::test_x[Head]", None),
        ("tests/nbgrader/test_silence.py::test_x[points]", "tests/nbgrader/test_silence.py"),
        ("tests/nbgrader/test_feedback.py::test_x", None),
        ("tests/nbgrader/test_formgrader.py::test_x", None),
        ("tests/nbgrader/test_postgres.py::test_x", None),
        ("tests/batch/test_kills.py::test_x", None),
        ("tests/desk/test_browser.py::test_x", None),
    ],
)
def test_tests_of_processes_and_of_the_sandboxs_walls_run_each_time(nodeid, scope):
    assert unchanged.scope_of(nodeid) == scope


@pytest.mark.parametrize(
    "changed, matters",
    [
        ("autograder/exercises/causal_mask/checks.py", True),
        ("autograder/exercises/causal_mask/answers/tril.py", True),
        ("autograder/exercises/families/easy_cases.py", True),
        ("autograder/exercises/reference/causal.py", True),
        ("autograder/mistakes/diagnosis.py", True),
        ("autograder/checks/api.py", True),
        ("autograder/sandbox/inside/wire.py", True),
        ("source/03_causal_attention/03_causal_attention.ipynb", True),
        ("nbgrader_config.py", True),
        ("tests/conftest.py", True),
        ("tests/exercises/test_exercises.py", True),
        ("tests/support/pretended_gpu.py", True),
        ("autograder/exercises/Head/mistakes.py", False),
        ("autograder/desk/app.py", False),
        ("autograder/grading/grader.py", False),
        ("source/07_language_model/07_language_model.ipynb", False),
    ],
)
def test_a_change_of_what_a_scope_depends_on_runs_it_again(monkeypatch, changed, matters):
    assert (ROOT / changed).is_file()
    before = unchanged.digest(ONE)
    for name in ("_content", "_code"):
        usual = getattr(unchanged, name)
        monkeypatch.setattr(
            unchanged, name, lambda path, usual=usual: "other" if path == ROOT / changed else usual(path)
        )
    assert (unchanged.digest(ONE) != before) is matters


@pytest.mark.parametrize(
    "scope, changed",
    [
        ("tests/test_types.py", "autograder/desk/app.py"),
        ("tests/grading/test_grader.py", "autograder/exercises/EvictingCache/mistakes.py"),
        ("tests/grading/test_grader.py", "autograder/sandbox/inside/shell.py"),
        ("tests/grading/test_grader.py", "solutions/03_causal_attention/03_causal_attention.ipynb"),
        ("tests/sandbox/test_hostile.py: forging", "tests/hostile/forging/a_tracer/cell.py"),
        ("tests/sandbox/test_hostile.py: forging", "tests/support/attacks.py"),
        ("tests/sandbox/test_hostile.py: mangled", "autograder/submission/read.py"),
        ("tests/checks/test_api.py", "docs/checks.md"),
        ("tests/exercises/test_originals.py", "docs/originals.md"),
        ("tests/exercises/test_release.py", "source/readme_for_students.md"),
        ("tests/exercises/test_release.py", "autograder/nbgrader/diagrams.py"),
        ("tests/exercises/test_release.py", "autograder/nbgrader/collecting.py"),  # which nbgrader_config.py imports
        ("tests/lessons/test_runs.py: 04_multi_head_attention", "storyteller/weights.txt"),
        ("tests/lessons/test_touched.py", "source/08_modern_block/08_modern_block.ipynb"),
        ("tests/test_check.py", "autograder/exercises/pytest.ini"),
        ("tests/lms/test_handins.py", "LICENSE"),
        ("tests/nbgrader/test_hostile_pages.py", "tests/hostile/showing/buttons/make.py"),
        ("tests/nbgrader/test_hostile_pages.py", "tests/support/attacks.py"),
        ("tests/nbgrader/test_nbgrader.py", "autograder/sandbox/inside/shell.py"),
        ("tests/nbgrader/test_nbgrader.py", "tests/support/warm.py"),
        ("tests/nbgrader/test_private_names.py", "requirements.lock"),
        ("tests/nbgrader/test_rounds_given_out.py", ".gitignore"),
        ("tests/nbgrader/test_silence.py", "autograder/report/class_report.html.j2"),
        ("tests/nbgrader/test_silence.py", "tests/courses/averages/exercises/normalise/checks.py"),
        ("tests/test_scopes.py", "tests/support/opened.py"),
    ],
)
def test_a_file_that_the_tests_read_by_name_belongs_to_their_scope(scope, changed):
    assert ROOT / changed in unchanged.depends_on(scope)


@pytest.mark.parametrize(
    "scope, changed",
    [
        ("tests/checks/test_api.py", "docs/performance.md"),
        ("tests/grading/test_grader.py", "autograder/desk/app.py"),
        ("tests/sandbox/test_hostile.py: forging", "tests/hostile/writing/a_server/submission.py"),
        ("tests/lessons/test_runs.py: 04_multi_head_attention", "source/08_modern_block/08_modern_block.ipynb"),
        ("tests/lessons/test_touched.py", "autograder/desk/app.py"),
        ("tests/nbgrader/test_hostile_pages.py", "tests/hostile/writing/a_server/submission.py"),
        ("tests/nbgrader/test_silence.py", "tests/nbgrader/test_feedback.py"),
    ],
)
def test_a_scope_is_as_narrow_as_it_says(scope, changed):
    assert (ROOT / changed).is_file() and ROOT / changed not in unchanged.depends_on(scope)


def test_what_tests_of_scopes_need_belongs_to_the_test_that_looks_what_they_use():
    """It is in a scope, too."""
    for scope in SCOPES:
        assert unchanged.depends_on(scope) <= unchanged.depends_on("tests/test_scopes.py"), scope
    assert unchanged.RECORD not in unchanged.depends_on("tests/test_scopes.py"), "it would change by being noted"


def test_scopes_that_read_by_name_depend_on_the_versions_of_all_pinned_packages(monkeypatch):
    file = "tests/lessons/test_touched.py"
    before = unchanged.digest(file)
    monkeypatch.setattr(unchanged, "_program", lambda name: [f"another {name}"])
    assert unchanged.digest(file) != before
    monkeypatch.undo()
    packages = unchanged._pinned()
    assert {name.split()[0] for name in packages} > {"matplotlib", "jupyterlab", "nbgrader", "basedpyright"}
    monkeypatch.setattr(unchanged, "_pinned", lambda: [*packages, "another 1.0"])
    assert unchanged.digest(file) != before


def test_what_a_lesson_says_runs_its_own_tests_again_and_no_exercises(monkeypatch, tmp_path):
    """Exercises depend on a notebook's code."""
    lesson, path = "tests/lessons/test_lesson_03.py", ROOT / "source/03_causal_attention/03_causal_attention.ipynb"
    before = unchanged.digest(ONE), unchanged.digest(lesson)
    read = Path.read_text, Path.read_bytes
    said = read[0](path, encoding="utf-8").replace("not looking ahead", "no looking ahead")
    monkeypatch.setattr(Path, "read_text", lambda at, *_, **how: said if at == path else read[0](at, *_, **how))
    monkeypatch.setattr(Path, "read_bytes", lambda at: said.encode() if at == path else read[1](at))
    for cached in (unchanged._code, unchanged._content):
        cached.cache_clear()
    assert unchanged.digest(ONE) == before[0] and unchanged.digest(lesson) != before[1]
    for cached in (unchanged._code, unchanged._content):
        cached.cache_clear()


def test_other_versions_run_it_again(monkeypatch):
    before, versions = unchanged.digest(ONE), unchanged._versions()
    monkeypatch.setattr(unchanged, "_versions", lambda: [*versions, "torch 9.9"])
    assert unchanged.digest(ONE) != before


def test_what_runs_in_a_sandbox_belongs_to_what_starts_one():
    inside = ROOT / "autograder" / "sandbox" / "inside" / "shell.py"
    assert inside in unchanged.depends_on("tests/grading/test_styles.py: causal_mask")
    assert inside not in unchanged.depends_on(ONE)


def test_every_command_belongs_to_what_runs_one():
    command = ROOT / "autograder" / "cli" / "name_check.py"
    assert command in unchanged.depends_on("tests/mistakes/test_name_check.py")


def test_what_an_exercise_names_belongs_to_it():
    """`check_attention` tries answers to `attention`, which it imports nowhere."""
    files = unchanged.depends_on("tests/exercises/test_visible_checks.py: check_attention")
    assert ROOT / "autograder" / "exercises" / "attention" / "answers" / "einsum.py" in files


class Item:
    def __init__(self, nodeid):
        self.nodeid = nodeid


class Hook:
    def pytest_deselected(self, items):
        self.left = [item.nodeid for item in items]


class Config:
    def __init__(self):
        self.hook = Hook()


HEAD = "tests/exercises/test_exercises.py::test_x[Head-{}]"
MASK = "tests/exercises/test_exercises.py::test_x[causal_mask-{}]"


def test_whole_scopes_are_left_out():
    config, items = Config(), [Item(HEAD.format(1)), Item(MASK.format(1)), Item("tests/test_x.py::test_y")]
    unchanged.Plugin({ONE}).pytest_collection_modifyitems(config, items)
    assert config.hook.left == [MASK.format(1)]
    assert [item.nodeid for item in items] == [HEAD.format(1), "tests/test_x.py::test_y"]


class Report:
    def __init__(self, nodeid, when="call", outcome="passed"):
        self.nodeid, self.when, self.outcome = nodeid, when, outcome


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(unchanged, "RECORD", tmp_path / "unchanged.json")
    return unchanged


@pytest.mark.parametrize("outcome", ["failed", "skipped", None])
def test_a_scope_is_noted_where_all_of_its_tests_passed(recorded, outcome):
    plugin = recorded.Plugin(set())
    plugin.ids = {HEAD.format(1), HEAD.format(2), MASK.format(1), "tests/test_x.py::test_y"}
    for nodeid in (HEAD.format(1), MASK.format(1), "tests/test_x.py::test_y"):
        plugin.pytest_runtest_logreport(Report(nodeid))
    if outcome:  # or it never came: its worker died
        plugin.pytest_runtest_logreport(Report(HEAD.format(2), "call", outcome))
    plugin.note()
    assert recorded.read() == {ONE: {"digest": recorded.digest(ONE), "tests": 1}}
    assert recorded.unchanged() == {ONE}


def test_a_scope_that_fails_later_is_noted_no_more(recorded):
    recorded.write({ONE: {"digest": recorded.digest(ONE), "tests": 1}})
    plugin = recorded.Plugin(set())
    plugin.ids = {MASK.format(1)}
    plugin.pytest_runtest_logreport(Report(MASK.format(1)))
    plugin.pytest_runtest_logreport(Report(MASK.format(1), "teardown", "failed"))
    plugin.note()
    assert recorded.read() == {}


def test_what_is_not_run_keeps_its_note_and_what_is_gone_has_none(recorded):
    noted = {"digest": "0", "tests": 1}
    recorded.write({ONE: noted, "tests/exercises/test_exercises.py: Gone": noted, "tests/mistakes/test_gone.py": noted})
    recorded.Plugin(set()).note()
    assert recorded.read() == {ONE: noted}
    assert recorded.unchanged() == set()


@pytest.mark.parametrize("narrowed", [["--keyword", "causal_mask"], ["::"]])
def test_a_run_of_some_tests_notes_nothing(recorded, narrowed):
    class Session:
        class config:
            args = [argument for argument in narrowed if argument == "::"]

            def getoption(name):
                return {"record": True, "keyword": "x" if "--keyword" in narrowed else ""}[name]

    plugin = recorded.Plugin(set())
    plugin.ids = plugin.passed = {MASK.format(1)}
    plugin.pytest_sessionfinish(Session)
    assert recorded.read() == {}
