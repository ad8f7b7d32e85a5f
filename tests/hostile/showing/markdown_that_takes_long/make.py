from mangling import running, write

SIZE = 20_000
TEXTS = ["[" * SIZE, "> " * SIZE, "*a " * SIZE, "`" * SIZE, "<" * SIZE, "- " * SIZE, "$" * SIZE, "|a" * SIZE + "\n" + "|-" * SIZE]


def make(place, notebook):
    for text in TEXTS:
        notebook["cells"].append({"cell_type": "markdown", "id": f"text-{len(notebook['cells'])}", "metadata": {}, "source": text})
    return write(place, running(notebook))
