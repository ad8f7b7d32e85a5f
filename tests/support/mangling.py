"""Helpers for the make.py files of tests/hostile/mangled and tests/hostile/showing."""

import json

from conftest import ASSIGNMENT

NAME = f"{ASSIGNMENT}.ipynb"


def write(place, content, name=NAME):
    """Write bytes, or a notebook, as the submission below `place`; returns the path."""
    path = place / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def code(source):
    """A code cell of the student's own."""
    return {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None, "source": source}


def running(notebook):
    """The notebook with a last cell whose output shows that it ran."""
    notebook["cells"].append(code("print('it ran')"))
    return notebook


def claim(cell):
    """The nbgrader part of a cell's metadata; a new empty dict where there is none."""
    return cell["metadata"].get("nbgrader", {})
