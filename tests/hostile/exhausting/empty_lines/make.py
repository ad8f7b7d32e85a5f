def make(place, notebook):
    path = place / "submission.py"
    path.write_text("print('it ran')\nx = '''" + "\n" * 900_000 + "'''\n")
    return path
