import json

from mangling import running, write


def make(place, notebook):
    return write(place, json.dumps(running(notebook)).encode("utf-16"))
