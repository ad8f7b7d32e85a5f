from conftest import cell_of
from mangling import claim, running, write


def make(place, notebook):
    for cell in running(notebook)["cells"]:
        if claim(cell).get("grade"):
            claim(cell)["points"] = 1e300
    cell_of(notebook, "attention-solution")["source"] = "def attention(query, key, value, mask=None):\n    return value, value"
    return write(place, notebook)
