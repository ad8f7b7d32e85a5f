"""What `make test` need not run again: tests that have passed, where nothing that they depend on has changed since.

Half of the suite's time goes into tests that depend on few files: each mistake of each exercise, and what lessons say.
`--record`, as in `make everything`, runs all tests and notes in unchanged.json which *scopes* passed, each with a
digest of all that it depends on; `--changed`, as in `make test`, leaves out the scopes whose digest is still the same,
and says how many tests these are. A scope is a file of tests, or what such a file has about one exercise, one lesson or
one family of attacks.

Tests of what the machine has its share in are in no scope, and run each time: processes that are killed or wait for one
another, servers, clocks, and whether the sandbox holds. What a command says and writes is none of these, even if it is
started for that. Of the attacks, those are in a scope that try to mislead the grader, and not to get out.
"""

import ast
import functools
import hashlib
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest
from conftest import ROOT
from imports import names_imported

RECORD = ROOT / "tests" / "unchanged.json"
KIT = ROOT / "autograder"
EXERCISES = {path.parent.name for path in (KIT / "exercises").glob("*/checks.py")}
LESSONS = {path.parent.name for path in (ROOT / "source").glob("*/*.ipynb")}
MISLEADING = {"forging", "mangled", "showing"}  # families of attacks
# where what a test imports is looked for, as `pythonpath` in pyproject.toml says
PLACES = (ROOT, ROOT / "tests", ROOT / "tests" / "support")
MADE = ("source", "release", "solutions")
OF_EXERCISES = "autograder/exercises/**/*.*"
COURSE = (OF_EXERCISES, *(f"{made}/*/*.ipynb" for made in MADE))
# all that a command of the kit or of nbgrader may read, in whatever process, of this course or of a small one
WHOLE = (
    "autograder/**/*",
    "autograder_pytest.py",
    "tests/courses/**/*",
    *(f"{made}/**/*" for made in MADE),
    "pyproject.toml",
    "*.lock",
    "LICENSE",
    ".gitignore",
)
COMMANDS = (
    "tests/test_check.py",
    "tests/grading/test_gate.py",
    "tests/lms/test_bundle.py",
    "tests/lms/test_handins.py",
    "tests/lms/test_identity.py",
    "tests/lms/test_roster_and_exports.py",
    "tests/lms/test_week.py",
    "tests/nbgrader/test_colab.py",
    "tests/nbgrader/test_collecting.py",
    "tests/nbgrader/test_desk_cell.py",
    "tests/nbgrader/test_diagrams.py",
    "tests/nbgrader/test_exporting.py",
    "tests/nbgrader/test_gradebook.py",
    "tests/nbgrader/test_nbgrader.py",
    "tests/nbgrader/test_private_names.py",
    "tests/nbgrader/test_rounds_given_out.py",
    "tests/nbgrader/test_safe_markdown.py",
    "tests/nbgrader/test_silence.py",
    "tests/nbgrader/test_written_answers.py",
)
# What the tests of a file need beyond what they import; {} is what a scope is about. They depend on the versions of all
# pinned packages, too.
NEEDS = {
    "tests/test_types.py": ("autograder/**/*.py", "autograder_pytest.py", "pyproject.toml"),
    "tests/grading/test_grader.py": COURSE,
    "tests/sandbox/test_hostile.py": (*COURSE, "tests/hostile/{}/**/*"),
    "tests/exercises/test_release.py": (
        *(OF_EXERCISES, "nbgrader_config.py", "requirements.lock"),
        *(f"{made}/**/*" for made in MADE),
    ),
    "tests/lessons/test_runs.py": (*(f"{made}/{{}}/*.ipynb" for made in MADE), "storyteller/**/*.*"),
    "tests/test_demo_classes.py": (*COURSE, "autograder/demo/students/{}.py"),
    "tests/lessons/test_touched.py": ("source/0[1348]_*/*.ipynb", "solutions/02_*/*.ipynb", "release/03_*/*.ipynb"),
    "tests/test_scopes.py": (*WHOLE, "tests/*.py", "tests/*/**/*", "storyteller/**/*", "docs/*.md"),
    "tests/nbgrader/test_hostile_pages.py": (
        *(*WHOLE, "tests/hostile/*/*/expect.json"),
        *("tests/hostile/mangled/**/*", "tests/hostile/showing/**/*"),
    ),
    **dict.fromkeys(COMMANDS, WHOLE),
}
RUN_BY_NAME = ("autograder/exercises/**/*.py", "nbgrader_config.py", "tests/hostile/*/*/make.py")
PROGRAMS = {"tests/lessons/test_touched.py": "chromium", **dict.fromkeys(COMMANDS, "bwrap")}  # which are no packages
COVERED = re.compile(
    r"tests/(exercises/test_|checks/test_|mistakes/test_|lessons/test_(lesson_|all_)|grading/test_styles)\w*\.py"
)
ABOUT = {
    re.compile(r"tests/(exercises/test_(?!release)|grading/test_styles)"): EXERCISES,
    re.compile(r"tests/(lessons/test_runs|test_demo_classes)"): LESSONS,
    re.compile(r"tests/sandbox/test_hostile"): MISLEADING,
}


def scope_of(nodeid: str) -> str | None:
    """`tests/exercises/test_x.py: Head`, or the file alone; None for a test that runs each time."""
    file, _, test = nodeid.partition("::")
    if file not in NEEDS and not COVERED.fullmatch(file):
        return None
    names = next((names for pattern, names in ABOUT.items() if pattern.match(file)), set[str]())
    if about := named_in(test, names):
        return f"{file}: {about}"
    return None if names is MISLEADING else file


def exercise_of(test: str) -> str:
    """The exercise that a test's parameters name first, or ""."""
    return named_in(test, EXERCISES)


def named_in(test: str, names: set[str]) -> str:
    """The first of these names among a test's parameters, or ""."""
    return next((word for word in re.split(r"[-/\[\]]", test) if word in names), "")


# --- what a scope depends on ------------------------------------------------------------------------


def digest(scope: str) -> str:
    """Of the files that a scope depends on, and of the versions of what computes."""
    file, _, about = scope.partition(": ")
    versions = [*_versions(), *(_pinned() if file in NEEDS else ()), *_program(PROGRAMS.get(file))]
    found = hashlib.sha256(json.dumps(versions).encode())
    of_exercise = about in EXERCISES  # to which what a lesson says of it makes no difference
    for path in sorted(depends_on(scope)):
        content = _code(path) if of_exercise and path.suffix == ".ipynb" else _content(path)
        found.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return found.hexdigest()[:16]


def depends_on(scope: str) -> set[Path]:
    """The files that decide how the tests of a scope end."""
    file, _, about = scope.partition(": ")
    files = _reached(ROOT / file, *_of_fixtures(ROOT / file)) | {ROOT / "tests" / "conftest.py"}
    files.add(ROOT / "nbgrader_config.py")
    if KIT / "sandbox" / "parent.py" in files:  # which starts what it does not import
        files |= set((KIT / "sandbox").rglob("*.py"))
    if KIT / "cli" / "__init__.py" in files:  # which imports the command that is asked for, by its name
        files |= _reached(*(KIT / "cli").glob("*.py"))
    if file in NEEDS:
        needed = _matching(tuple(pattern.format(about) for pattern in NEEDS[file]))
        return files | needed | _reached(*needed & _matching(RUN_BY_NAME))
    lesson = re.search(r"test_lesson_(\d\d)", file)
    if lesson:
        return files | set(_notebooks(lesson[1])) | set((ROOT / "storyteller").rglob("*.py"))
    if about:
        return files | _of_exercise(about) | set(_notebooks(_lesson_of(about)))
    everything = (path for name in EXERCISES for path in _of_exercise(name))
    return files | {
        *everything,
        *_notebooks(""),
        *_pages_named(path for path in files if path.is_relative_to(ROOT / "tests")),
        *(ROOT / "tests" / "strangers").rglob("*.*"),
    }


@functools.cache
def _matching(patterns: tuple[str, ...]) -> frozenset[Path]:
    """The files of the repository that match one of these, without what Python compiled."""
    found = (path for pattern in patterns for path in ROOT.glob(pattern))
    return frozenset(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def _pages_named(files: Iterable[Path]) -> Iterator[Path]:
    """The pages of docs that strings in these Python files name."""
    constants = {node.value for path in files for node in ast.walk(_tree(path)) if isinstance(node, ast.Constant)}
    texts = [value for value in constants if isinstance(value, str)]
    return (page for page in (ROOT / "docs").glob("*.md") if any(page.name in text for text in texts))


def _notebooks(number: str) -> list[Path]:
    """The notebooks of the lesson of that number, or of all."""
    return [path for made in MADE for path in (ROOT / made).glob(f"{number}*/*.ipynb")]


@functools.cache
def _lesson_of(exercise: str) -> str:
    from autograder import course

    return next(name for name, one in course.assignments(ROOT).items() if exercise in {e.name for e in one.exercises})


@functools.cache
def _of_exercise(name: str) -> frozenset[Path]:
    """All in an exercise's folder and in those of the exercises that its modules name, and what these import."""
    found, waiting = set(), {name}
    files: set[Path] = set()
    while waiting := waiting - found:
        found |= waiting
        folders = [KIT / "exercises" / other for other in waiting]
        modules = [path for folder in folders for path in folder.glob("*.py")]
        files |= {path for folder in folders for path in folder.rglob("*.*") if "__pycache__" not in path.parts}
        files |= _reached(*modules)
        waiting = {node.value for path in modules for node in ast.walk(_tree(path)) if _names_an_exercise(node)}
    return frozenset(files)


def _names_an_exercise(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in EXERCISES


@functools.cache
def _of_fixtures(file: Path) -> tuple[Path, ...]:
    """The files that conftest.py imports for the fixtures which a file of tests asks for by name."""
    asked = {node.arg for node in ast.walk(_tree(file)) if isinstance(node, ast.arg)}
    conftest = ROOT / "tests" / "conftest.py"
    makes = {node.name: node for node in _tree(conftest).body if isinstance(node, ast.FunctionDef)}
    waiting, seen = asked & makes.keys(), set()
    while waiting := waiting - seen:
        seen |= waiting
        waiting = {
            node.arg for name in waiting for node in ast.walk(makes[name]) if isinstance(node, ast.arg)
        } & makes.keys()
    return tuple(path for name in seen for path in _imported(makes[name], conftest))


def _reached(*start: Path) -> set[Path]:
    """These files, and those of the repository that they import, directly or not, wherever in the file."""
    found, waiting = set(), set(start)
    while waiting := waiting - found:
        found |= waiting
        waiting = {other for path in waiting if path.name != "conftest.py" for other in _imports_of(path)}
    return found


@functools.cache
def _imports_of(path: Path) -> frozenset[Path]:
    return frozenset(_imported(_tree(path), path))


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree: ast.AST, path: Path) -> Iterator[Path]:
    for name in names_imported(ast.walk(tree), path):
        yield from _files_of(name)


@functools.cache
def _files_of(name: str) -> tuple[Path, ...]:
    """The file of a module of the repository, and those of the packages that it lies in; also of a name in a module."""
    parts = name.split(".")
    for place in PLACES:
        begun = [place.joinpath(*parts[:n]) for n in range(1, len(parts) + 1)]
        files = [path for one in begun for path in (one / "__init__.py", one.with_suffix(".py")) if path.is_file()]
        if files:
            return tuple(files)
    return ()


@functools.cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def _code(path: Path) -> str:
    """A digest of a notebook's code cells."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    code = [(cell["id"], cell["metadata"], "".join(cell["source"])) for cell in cells]
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()


@functools.cache
def _versions() -> list[str]:
    packages = [f"{name} {metadata.version(name)}" for name in ("torch", "numpy", "pytest")]
    return [*platform.python_version_tuple()[:2], platform.system(), platform.machine(), *packages]


@functools.cache
def _pinned() -> list[str]:
    """What is installed of the packages that the lock files pin."""
    locks = (ROOT / name for name in ("requirements.lock", "requirements-dev.lock", "kernels.lock"))
    names = sorted({name for lock in locks for name in re.findall(r"(?m)^([\w.-]+)==", lock.read_text("utf-8"))})
    installed = {one.name.lower().replace("_", "-"): one.version for one in metadata.distributions()}
    return [f"{name} {installed.get(name)}" for name in names]


@functools.cache
def _program(name: str | None) -> list[str]:
    """The version of a program, if a scope needs one, as it says it."""
    if not name:
        return []
    found = shutil.which(name)
    return [subprocess.run([found, "--version"], capture_output=True, text=True).stdout if found else f"no {name}"]


# --- the record -------------------------------------------------------------------------------------


def read() -> dict[str, dict]:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def write(noted: dict[str, dict]) -> None:
    """One line a scope, in order."""
    lines = (f"{json.dumps(scope)}: {json.dumps(noted[scope])}" for scope in sorted(noted))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def unchanged() -> set[str]:
    """The scopes that passed as they are now."""
    return {scope for scope, noted in read().items() if _is_there(scope) and digest(scope) == noted["digest"]}


def _is_there(scope: str) -> bool:
    file, _, about = scope.partition(": ")
    return (ROOT / file).is_file() and (not about or about in EXERCISES | LESSONS | MISLEADING)


# --- in pytest --------------------------------------------------------------------------------------


def add_options(parser) -> None:
    group = parser.getgroup("unchanged")
    group.addoption(
        "--changed", action="store_true", help="leave out tests that passed if nothing they need has changed"
    )
    group.addoption("--record", action="store_true", help="note which tests passed, in tests/unchanged.json")


@dataclass(eq=False)  # pytest 8 keeps plugins in a set
class Plugin:
    """In the process that starts the workers, and in each worker: they agree on what is left out."""

    left_out: set[str]
    ids: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["unchanged"] = sorted(self.left_out)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        left = [item for item in items if scope_of(item.nodeid) in self.left_out]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if scope_of(item.nodeid) not in self.left_out]

    def pytest_collection_finish(self, session):
        self.ids |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.ids |= set(ids)

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.failed.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self, session):
        config = session.config
        if hasattr(config, "workerinput") or not config.getoption("record"):
            return
        whole = not config.getoption("keyword") and not any("::" in argument for argument in config.args)
        if whole:
            self.note()

    def note(self):
        """Record the scopes all of whose tests passed, and take out those of which one did not."""
        scopes = {}
        for id in self.ids:
            scopes.setdefault(scope_of(id), set()).add(id)
        scopes.pop(None, None)
        good = {scope: ids for scope, ids in scopes.items() if ids <= self.passed - self.failed}
        noted = {scope: was for scope, was in read().items() if _is_there(scope) and scope not in scopes}
        write(noted | {scope: {"digest": digest(scope), "tests": len(ids)} for scope, ids in good.items()})

    def pytest_terminal_summary(self, terminalreporter):
        if self.left_out:
            tests = sum(noted["tests"] for scope, noted in read().items() if scope in self.left_out)
            terminalreporter.write_line(
                f"{tests:,} tests were not run: they have passed, and nothing that they depend on has changed since"
                " (tests/unchanged.json). `make everything` runs them, too."
            )


def configure(config) -> None:
    if hasattr(config, "workerinput"):
        left_out = set(config.workerinput.get("unchanged", ()))
    else:
        left_out = unchanged() if config.getoption("changed") else set()
    config.pluginmanager.register(Plugin(left_out))
