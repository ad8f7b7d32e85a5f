"""A course of stock nbgrader: this course's notebooks, tests in the student's kernel, its own commands and settings."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HIDDEN_TESTS = re.compile(r"\n*### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", re.DOTALL)
ORIGINAL = re.compile(r"### BEGIN ORIGINAL\n.*?### END ORIGINAL", re.DOTALL)
PROGRAMS = os.path.dirname(os.path.abspath(sys.executable))
PROGRAM = os.path.join(PROGRAMS, "nbgrader")
ENVIRONMENT = {**os.environ, "PATH": PROGRAMS + os.pathsep + os.environ["PATH"]}  # nbgrader starts `alembic` from PATH
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "stock"
c.Execute.timeout = 300  # for a slow machine; 30 s if not given
"""


def visible_checks(name, source):
    """The visible check of a test cell: what its hidden tests are if nothing else is given."""
    return HIDDEN_TESTS.sub("", source).strip("\n")


def source(assignment, tests=visible_checks):
    """The source notebook of an assignment without its lesson cells, as stock nbgrader can release and grade it.

    `tests` maps the grade id of a test cell and its text to what the cell's hidden tests are to be.
    """
    path = ROOT / "source" / assignment / f"{assignment}.ipynb"
    notebook = without_lessons(json.loads(path.read_text(encoding="utf-8")))
    for cell in notebook["cells"]:
        text = ORIGINAL.sub("", "".join(cell["source"])).strip("\n")
        known = cell["metadata"].get("nbgrader", {})
        if known.get("grade") and cell["cell_type"] == "code":
            text = f"### BEGIN HIDDEN TESTS\n{tests(known['grade_id'], text)}\n### END HIDDEN TESTS"
        cell["source"] = text
    return notebook


def without_lessons(notebook):
    """The notebook without the cells that only show: they take most of the time, and this kit does not run them."""
    notebook["cells"] = [c for c in notebook["cells"] if "lesson" not in c["metadata"].get("tags", [])]
    return notebook


def write(folder, notebook):
    """Write a notebook into `folder`, named like it."""
    folder.mkdir(parents=True)
    (folder / f"{folder.name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def generate(place, assignments, tests=visible_checks):
    """A course in `place` that has generated its assignments and waits for submissions."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "nbgrader_config.py").write_text(CONFIG)
    for name in assignments:
        write(place / "source" / name, source(name, tests))
        done = nbgrader(place, "generate_assignment", name)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)


def nbgrader(place, *arguments):
    """Run a command of stock nbgrader to its end."""
    command = [PROGRAM, *arguments]
    return subprocess.run(command, cwd=place, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
