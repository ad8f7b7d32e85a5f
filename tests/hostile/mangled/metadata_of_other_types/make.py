from mangling import running, write


def make(place, notebook):
    odd = [None, 3, "text", [], {"nbgrader": []}, {"nbgrader": {"grade_id": ["attention"]}}, {"nbgrader": {"grade_id": 1}}]
    for number, cell in enumerate(running(notebook)["cells"]):
        cell["metadata"] = odd[number % len(odd)]
    return write(place, notebook)
