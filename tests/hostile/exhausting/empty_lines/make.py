def make(place, notebook):
    path = place / "submission.py"
    path.write_text("print('it ran')" + "\n" * 100_000)
    return path
