import json

TEXT = " " * 90_000 + "\n%time 1\n" + " " * 90_000 + "#"
WRONG = "print('it ran')\n\ndef softmax(x, dim):\n    return x * 0\n"


def make(place, notebook):
    """A notebook with the text in a cell of its own: a cell that runs, or is at least no reason to stop."""
    cells = notebook["cells"]
    solution = next(c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == "softmax-solution")
    solution["source"] = WRONG
    cell = {"cell_type": "code", "id": "long", "metadata": {}, "outputs": [], "execution_count": None, "source": TEXT}
    cells.insert(cells.index(solution), cell)
    path = place / "01_self_attention.ipynb"
    path.write_text(json.dumps(notebook))
    return path
