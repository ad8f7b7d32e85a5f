def attention(*args, **kwargs):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
