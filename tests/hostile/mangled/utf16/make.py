import json

from mangling import write


def make(place, notebook):
    return write(place, json.dumps(notebook).encode("utf-16"))
