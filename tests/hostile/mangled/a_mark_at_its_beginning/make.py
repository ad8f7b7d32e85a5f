import json

from mangling import running, write


def make(place, notebook):
    return write(place, b"\xef\xbb\xbf" + json.dumps(running(notebook)).encode())
