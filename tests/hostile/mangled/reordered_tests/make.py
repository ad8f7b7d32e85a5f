from mangling import claim, running, write


def make(place, notebook):
    cells = running(notebook)["cells"]
    notebook["cells"] = [c for c in reversed(cells) if claim(c).get("grade")] + [c for c in cells if not claim(c).get("grade")]
    return write(place, notebook)
