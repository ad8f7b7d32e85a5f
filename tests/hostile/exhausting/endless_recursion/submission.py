def attention(*args, **kwargs):
    return attention()
