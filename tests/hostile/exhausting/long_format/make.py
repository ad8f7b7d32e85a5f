WRONG = "print('it ran')\n\ndef softmax(x, dim):\n    return x * 0\n"


def make(place, notebook):
    path = place / "submission.py"
    path.write_text(WRONG + "x = 0\nif 0:\n    f'" + "{x}" * 30_000 + "'\n")
    return path
