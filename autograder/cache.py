"""Tables that hold what was met last, and forget the rest."""


def keep(table, key, value, most):
    """Put a value into an OrderedDict as the latest of at most `most`; those met longest ago are forgotten."""
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
    return value
