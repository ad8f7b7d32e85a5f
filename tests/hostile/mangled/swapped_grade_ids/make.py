from conftest import cell_of
from mangling import claim, running, write


def make(place, notebook):
    one, other = (claim(cell_of(running(notebook), f"{name}-solution")) for name in ("attention", "SelfAttention"))
    one["grade_id"], other["grade_id"] = other["grade_id"], one["grade_id"]
    return write(place, notebook)
