import json

from mangling import write


def make(place, notebook):
    data = json.dumps(notebook).encode()
    return write(place, data[: len(data) // 2])
