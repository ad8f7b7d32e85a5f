import signal

def attention(*args, **kwargs):
    signal.raise_signal(40)
