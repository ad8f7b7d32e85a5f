from mangling import claim, running, write


def make(place, notebook):
    notebook["cells"] = [c for c in running(notebook)["cells"] if not claim(c).get("grade")]
    return write(place, notebook)
