from mangling import write


def make(place, notebook):
    return write(place, b"")
