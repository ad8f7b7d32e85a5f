import time

def attention(*args, **kwargs):
    time.sleep(3600)
