import time

print("patient")

def attention(*args, **kwargs):
    time.sleep(0.8)
