import signal

def attention(*args, **kwargs):
    signal.raise_signal(signal.SIGSTOP)
