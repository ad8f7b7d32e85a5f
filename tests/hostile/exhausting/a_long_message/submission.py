def attention(*args, **kwargs):
    raise RuntimeError('x' * 10**8)
