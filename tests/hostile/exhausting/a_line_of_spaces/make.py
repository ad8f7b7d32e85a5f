WRONG = "print('it ran')\n\ndef softmax(x, dim):\n    return x * 0\n"


def make(place, notebook):
    path = place / "submission.py"
    path.write_text(WRONG + "print('" + " " * 90_000 + "')\n" + " " * 90_000 + "\n%time 1\n" + " " * 90_000 + "x")
    return path
