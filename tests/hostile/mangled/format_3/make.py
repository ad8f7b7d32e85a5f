from mangling import write


def make(place, notebook):
    cells = [{"cell_type": "code", "input": "".join(c["source"]), "outputs": []} for c in notebook["cells"]]
    return write(place, {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]})
