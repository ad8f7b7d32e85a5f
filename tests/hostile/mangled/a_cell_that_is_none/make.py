from mangling import write


def make(place, notebook):
    notebook["cells"].insert(1, 7)
    return write(place, notebook)
