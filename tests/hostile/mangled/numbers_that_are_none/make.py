from mangling import claim, running, write


def make(place, notebook):
    for cell, number in zip(running(notebook)["cells"], [float("nan"), float("inf"), float("-inf")] * 9):
        cell["execution_count"] = number
        claim(cell)["points"] = number
    notebook["nbformat_minor"] = float("nan")
    return write(place, notebook)
