from mangling import code, running, write

SIZE = 9_000
CODE = ["%%html\n" + "<a " * 2_900, "." * SIZE, "?`{" * 3_000, "@" * SIZE, "%%latex\n" + "$" * SIZE, ("\n" * 98 + "a") * 90]
TEXT = ["\\\\(" * 3_000, "\\\\[" * 3_000, "1. a\n" * 1_800, "[" * SIZE, "*[**a + " * 1_100, "<b x=1>" * 600 + "<p>" * 1_500]


def make(place, notebook):
    for number in range(96):
        if number % 2:
            notebook["cells"].append(code(CODE[number // 2 % len(CODE)]))
        else:
            text = {"cell_type": "markdown", "id": f"text-{number}", "metadata": {}, "source": TEXT[number // 2 % len(TEXT)]}
            notebook["cells"].append(text)
    return write(place, running(notebook))
