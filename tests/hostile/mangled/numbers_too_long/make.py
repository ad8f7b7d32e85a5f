import json

from mangling import write


def make(place, notebook):
    return write(place, json.dumps({**notebook, "nbformat_minor": "@"}).replace('"@"', "9" * 1_000_000).encode())
