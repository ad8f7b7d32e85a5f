def make(place, notebook):
    path = place / "submission.py"
    path.write_text("x = '" + "\N{SNAKE}" * 900_000 + "'\n", encoding="utf-8")
    return path
