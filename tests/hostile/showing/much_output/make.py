from mangling import code, running, write

CODE = """\
for number in range(10):
    print('<&\\'"' * 12_000)
"""


def make(place, notebook):
    notebook["cells"] += [code(CODE) for _ in range(20)]
    return write(place, running(notebook))
