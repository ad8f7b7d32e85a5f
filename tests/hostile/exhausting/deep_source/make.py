import json

WRONG = "print('it ran')\n\ndef softmax(x, dim):\n    return x * 0\n"
PARTS = {
    "x = " + "1 + " * 20_000 + "1", "x = " + "-" * 20_000 + "1", "x" + ".y" * 2_000, "x = x" + "[0]" * 20_000, "x = x" + "()" * 20_000,
    "(" * 20_000, "x = " + "not " * 20_000 + "1", "x = " + "lambda: " * 9_000 + "1", "if 0:\n  x\n" + "elif 0:\n  x\n" * 5_000,
    "x = " + "1 if 1 else " * 5_000 + "1", "[" * 20_000, "@x\n" * 9_000 + "def f(): pass", "x = " * 9_000 + "1", "x < " * 9_000 + "1",
    "\n".join(" " * depth + "if 0:" for depth in range(200)), "with " + "x as y, " * 9_000 + "z: pass", "def f(" + ", ".join(f"a{n}" for n in range(9_000)) + "): pass",
    "x = '" + "\\N{BULLET}" * 3_000 + "'", "\f" * 50_000, "# -*- coding: utf-7 -*-", "x = 0x" + "f" * 50_000, "x = " + "9" * 50_000, "\u00aa\u0301" * 20_000,
}


def make(place, notebook):
    """A notebook: each kind of code in a cell of its own, so that one which cannot be read spares the others."""
    cells = notebook["cells"]
    solution = next(c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == "softmax-solution")
    solution["source"] = WRONG
    place_of = cells.index(solution)
    for number, part in enumerate(sorted(PARTS)):
        cell = {"cell_type": "code", "id": f"deep-{number}", "metadata": {}, "outputs": [], "execution_count": None}
        cells.insert(place_of, {**cell, "source": f"def softmax(x, dim):\n    return x\n\nif 0:\n    pass\n{part}\n"})
    path = place / "01_self_attention.ipynb"
    path.write_text(json.dumps(notebook))
    return path
