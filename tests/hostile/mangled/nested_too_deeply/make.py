import json

from mangling import write


def make(place, notebook):
    return write(place, json.dumps({**notebook, "metadata": "@"}).replace('"@"', "[" * 100_000 + "]" * 100_000).encode())
