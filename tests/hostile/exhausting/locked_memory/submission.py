import ctypes

libc = ctypes.CDLL(None, use_errno=True)
x = ctypes.create_string_buffer(2**24)
print('through: locked' if libc.mlock(x, 2**24) == 0 else 'held: refused')
