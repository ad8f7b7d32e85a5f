from mangling import write


def make(place, notebook):
    return write(place, bytes(range(256)) * 100)
