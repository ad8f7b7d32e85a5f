import threading

def attention(*args, **kwargs):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
