"""What the kit replaces in nbgrader and nbconvert is listed, and looked at before it is replaced."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

from autograder.nbgrader import private_names

FOLDER = ROOT / "autograder" / "nbgrader"
LISTED = {**private_names.NAMES, **private_names.OF_FORMGRADER}
FRESH = "from autograder.nbgrader import private_names as p; p.require({**p.NAMES, **p.OF_FORMGRADER})"


def outside(tree):
    """The names in a module that come from nbgrader or nbconvert."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").startswith(("nbgrader", "nbconv"))
        ):
            yield from (alias.asname or alias.name for alias in node.names)


def touched():
    """What the kit assigns to, or reads although it is private: (file, dotted name), as written there."""
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        theirs = {*outside(tree), "handlers", "converter"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[0] in theirs:
                private = node.attr.startswith("_") and not node.attr.startswith("__")
                if isinstance(node.ctx, ast.Store) or private:
                    yield path.name, ast.unparse(node)


def test_all_that_is_replaced_is_listed():
    """A name that a new patch replaces fails here until it is listed with its parameters."""
    ends = {name.partition(":")[2].split(".")[-1] for name in LISTED}
    for name in LISTED:
        import_module(name.partition(":")[0])
    found = set(touched())
    assert {
        ("patches.py", "CourseDirectory.get_existing_timestamp"),
        ("swapping.py", "BaseConverter._format_dest"),
    } <= found
    own = {
        "args",
        "notebooks",
        "assignments",
        "log",
        "force",
        "content_security_policy",
    }  # attributes that are set, not replaced
    assert {name.split(".")[-1] for _, name in found} - own <= ends


def test_they_are_what_is_installed():
    """In a fresh process, where nothing is patched yet."""
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.drawn(1, "parts of nbgrader that have changed")
@pytest.mark.parametrize("change", ["del base.BaseConverter._format_dest", "base.find_all_files = lambda path: []"])
def test_an_nbgrader_that_has_changed_ends_the_program_in_one_sentence(change, tmp_path):
    """Also nbgrader's own: an error in its configuration it would log, and then grade without a sandbox."""
    (tmp_path / "source").mkdir()
    text = f"from nbgrader.converters import base\n{change}\n{(ROOT / 'nbgrader_config.py').read_text()}"
    (tmp_path / "nbgrader_config.py").write_text(text)
    command = [sys.executable, "-m", "nbgrader", "autograde", "01"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("autograder: nbgrader ") and "requirements.lock" in done.stderr


def test_nbgrader_is_bounded_above():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (r for r in map(Requirement, project["dependencies"]) if r.name == "nbgrader")
    assert not wanted.specifier.contains("0.10.0") and not wanted.specifier.contains("1.0")
