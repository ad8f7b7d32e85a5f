from mangling import running, write


def make(place, notebook):
    for cell in running(notebook)["cells"]:
        del cell["metadata"]
    return write(place, notebook)
