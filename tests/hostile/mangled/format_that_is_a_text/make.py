from mangling import write


def make(place, notebook):
    return write(place, {**notebook, "nbformat": "4\n\x1b[2J\ud800\u202e<script>"})
