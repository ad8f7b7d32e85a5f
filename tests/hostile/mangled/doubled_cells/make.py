from mangling import running, write


def make(place, notebook):
    notebook["cells"] = [copy for cell in running(notebook)["cells"] for copy in (cell, dict(cell))]
    return write(place, notebook)
