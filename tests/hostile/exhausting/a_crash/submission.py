import ctypes

def attention(*args, **kwargs):
    ctypes.string_at(0)
