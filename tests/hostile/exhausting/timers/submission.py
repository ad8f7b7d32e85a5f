import signal

print("set")

def attention(*args, **kwargs):
    signal.signal(signal.SIGALRM, lambda *args: None)
    signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
    while True:
        signal.pause()
