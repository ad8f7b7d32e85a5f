from mangling import NAME


def make(place, notebook):
    (place / NAME / "more").mkdir(parents=True)
    return place / NAME
