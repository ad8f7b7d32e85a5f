import os

def attention(*args, **kwargs):
    os.abort()
