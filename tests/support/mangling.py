"""What the attacks of tests/hostile/mangled and tests/hostile/showing are made with."""

import json

from conftest import ASSIGNMENT

NAME = f"{ASSIGNMENT}.ipynb"


def write(place, content, name=NAME):
    """Write bytes, or a notebook, as what is handed in below `place`; returns the path."""
    path = place / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def code(source):
    """A code cell of the student's own."""
    return {"cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None, "source": source}


def running(notebook):
    """The notebook, with a cell at its end that shows that it ran."""
    notebook["cells"].append(code("print('it ran')"))
    return notebook


def claim(cell):
    """What a cell's metadata tell nbgrader; an empty dict of its own where they tell nothing."""
    return cell["metadata"].get("nbgrader", {})
