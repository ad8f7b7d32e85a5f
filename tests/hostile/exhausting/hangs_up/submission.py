import os
import time

def attention(*args, **kwargs):
    os.close(3)
    time.sleep(60)
