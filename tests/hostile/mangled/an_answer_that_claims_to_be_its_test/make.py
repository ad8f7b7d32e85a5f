from conftest import cell_of
from mangling import claim, running, write


def make(place, notebook):
    cell = cell_of(running(notebook), "attention-solution")
    cell["source"] = "def attention(query, key, value, mask=None):\n    return 10"
    claim(cell)["grade_id"] = "attention"
    return write(place, notebook)
