from mangling import running, write


def make(place, notebook):
    odd = "".join(map(chr, range(256))) + "\ud800\udfff"
    for cell_type in ("code", "markdown", "raw"):
        cell = {"cell_type": cell_type, "id": odd, "metadata": {"nbgrader": {"grade_id": odd[:190]}}, "source": odd}
        notebook["cells"].append(cell)
    return write(place, running(notebook))
