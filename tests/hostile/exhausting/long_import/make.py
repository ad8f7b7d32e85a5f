WRONG = "print('it ran')\n\ndef softmax(x, dim):\n    return x * 0\n"


def make(place, notebook):
    path = place / "submission.py"
    path.write_text(WRONG + "if 0:\n    import a" + ".b" * 45_000 + "\n")
    return path
