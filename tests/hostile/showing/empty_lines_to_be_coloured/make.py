from mangling import code, running, write


def make(place, notebook):
    notebook["cells"] += [code("\n" * 200_000), code(" \n" * 50_000), code("a = 1\n" + "\n" * 9_000 + "a")]
    for kind in ("markdown", "raw"):
        text = {"cell_type": kind, "id": kind, "metadata": {}, "source": "\n" * 100_000}
        notebook["cells"].append(text)
    return write(place, running(notebook))
