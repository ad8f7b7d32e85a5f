def attention(*args, **kwargs):
    def again():
        return again()  # without arguments: Python 3.13.0 counts no other calls, and ends by a signal

    return again()
