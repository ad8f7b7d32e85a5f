def attention(*args, **kwargs):
    raise RuntimeError("\x1b[2J\u202e full marks <b>")
