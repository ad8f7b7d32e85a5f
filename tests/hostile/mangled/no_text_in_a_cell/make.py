from mangling import write


def make(place, notebook):
    notebook["cells"][3]["source"] = [1, 2, {"a": None}]
    return write(place, notebook)
