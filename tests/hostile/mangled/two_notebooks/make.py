import copy

from conftest import cell_of
from mangling import NAME, running, write


def make(place, notebook):
    wrong = copy.deepcopy(notebook)
    cell_of(wrong, "attention-solution")["source"] = "attention = None"
    write(place, wrong, NAME.replace(".ipynb", " (1).ipynb"))
    write(place, wrong, NAME.replace(".ipynb", ".IPYNB"))
    return write(place, running(notebook))
