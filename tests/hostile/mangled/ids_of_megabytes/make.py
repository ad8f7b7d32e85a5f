from mangling import running, write


def make(place, notebook):
    for number, cell in enumerate(running(notebook)["cells"][-2:]):
        cell["id"] = "x" * 4_000_000
        cell["metadata"] = {"nbgrader": {"grade_id": "y" * 4_000_000}}
    return write(place, notebook)
